/** The HTML as sent is valid, and the JSON-LD follows schema.org. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";

const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));

for (const [name, path, email, status, text] of [
  ["the landing page", "/", undefined, 200, "Launch Your AI Agent"],
  ["the not-found page", "/nothing", undefined, 404, "404 Page Not Found"],
  ["the page after a success", "/", uniqueEmail(), 200, "You've been added to the waitlist."],
  ["the page after an error", "/", '"><b>no address', 400, "Please enter a valid email address"],
] as const) {
  test(`${name} is valid HTML`, { tag: "@once" }, async ({ request }) => {
    const response = await (email ? request.post(path, { form: { email } }) : request.get(path));
    expect(response.status()).toBe(status);
    const html = await response.text();
    expect(html).toContain(text);
    expect(await htmlErrors(html)).toEqual([]);
  });
}

test(
  "the structured data has the types of schema.org",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    const script = page.locator('script[type="application/ld+json"]');
    const graph = JSON.parse((await script.textContent()) ?? "") as { "@graph": object[] };
    const [first, ...others] = graph["@graph"];
    const check = (change: object) =>
      `(${JSON.stringify({ ...graph, "@graph": [{ ...first, ...change }, ...others] })}) satisfies Graph;`;
    // The last two are wrong on purpose: TypeScript complains if one of them has no error.
    const source = [
      'import type { Graph } from "schema-dts";',
      check({}),
      "// @ts-expect-error",
      check({ inventedProperty: "yes" }),
      "// @ts-expect-error",
      check({ url: 42 }),
    ];
    // In this directory TypeScript finds the types.
    const cache = join(MODULES, ".cache");
    await mkdir(cache, { recursive: true });
    const directory = await mkdtemp(join(cache, "json-ld-"));
    await writeFile(join(directory, "graph.ts"), source.join("\n"));
    const options =
      "--noEmit --ignoreConfig --strict --module nodenext --types node --pretty false";
    const tsc = promisify(execFile)(
      join(MODULES, ".bin", "tsc"),
      [...options.split(" "), "graph.ts"],
      { cwd: directory },
    );
    const errors = await tsc.then(
      () => "none",
      ({ stdout, message }: Error & { stdout: string }) => stdout || message,
    );
    await rm(directory, { recursive: true });
    expect(errors).toBe("none");
  },
);
