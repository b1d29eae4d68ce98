/** The HTML as sent is valid, references resolve, and the JSON-LD follows schema.org. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { APIResponse } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { htmlErrors } from "../support/html.ts";

const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));

/** Returns each validation error with the HTML around it. */
async function validationErrors(response: APIResponse): Promise<string[]> {
  return htmlErrors(await response.text());
}

test.describe("HTML", { tag: "@once" }, () => {
  for (const [name, path, status] of [
    ["the landing page", "/", 200],
    ["the not-found page", "/nothing", 404],
  ] as const) {
    test(`${name} is valid HTML`, async ({ request }) => {
      const response = await request.get(path);
      expect(response.status()).toBe(status);
      expect(await validationErrors(response)).toEqual([]);
    });
  }

  for (const [outcome, status, email] of [
    ["a success", 200, uniqueEmail],
    ["an error", 400, () => '"><b>no address'],
  ] as const) {
    test(`the page after ${outcome} is valid HTML`, async ({ request }) => {
      const response = await request.post("/", { form: { email: email() } });
      expect(response.status()).toBe(status);
      expect(await response.text()).toContain('class="waitlist-message"');
      expect(await validationErrors(response)).toEqual([]);
    });
  }

  test("each id of the hydrated page is unique, and each reference has a target", async ({
    landing,
    page,
  }) => {
    await landing.openForm();
    await landing.waitForIslands("contact-links");
    await landing.openTooltip();
    const { duplicate, dangling } = await page.evaluate(() => {
      const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
      const references = [...document.querySelectorAll("*")].flatMap((node) =>
        ["for", "aria-labelledby", "aria-describedby", "aria-controls"].flatMap(
          (name) => node.getAttribute(name)?.split(/\s+/) ?? [],
        ),
      );
      return {
        duplicate: ids.filter((id, index) => ids.indexOf(id) !== index),
        dangling: references.filter((id) => !ids.includes(id)),
      };
    });
    expect(duplicate).toEqual([]);
    expect(dangling).toEqual([]);
  });
});

test.describe("JSON-LD", { tag: "@once" }, () => {
  /** Type-checks values as graphs of schema.org. Returns TypeScript's errors for each of them. */
  async function typeErrors(graphs: Record<string, unknown>): Promise<Record<string, string>> {
    const cache = join(MODULES, ".cache");
    await mkdir(cache, { recursive: true });
    const directory = await mkdtemp(join(cache, "json-ld-"));
    const files = Object.keys(graphs).map((name) => `${name}.ts`);
    for (const [name, graph] of Object.entries(graphs)) {
      const source = [
        'import type { Graph } from "schema-dts";',
        `export const graph: Graph = ${JSON.stringify(graph)};`,
      ];
      await writeFile(join(directory, `${name}.ts`), source.join("\n"));
    }
    const options = ["--noEmit", "--ignoreConfig", "--strict", "--module", "nodenext"];
    const output = ["--types", "", "--pretty", "false"];
    const tsc = promisify(execFile)(
      join(MODULES, ".bin", "tsc"),
      [...options, ...output, ...files],
      { cwd: directory },
    );
    const { stdout } = await tsc.catch((error: { stdout: string }) => error);
    await rm(directory, { recursive: true });
    // Each error begins with its file name, and may go on for several lines.
    const errors = stdout.split(/^(?=\S)/m);
    return Object.fromEntries(
      Object.keys(graphs).map((name) => [
        name,
        errors.filter((error) => error.startsWith(`${name}.ts`)).join(""),
      ]),
    );
  }

  interface Graph {
    "@graph": { "@type": string }[];
  }

  test("the structured data has the types of schema.org", async ({ landing, page }) => {
    await landing.open();
    const script = page.locator('script[type="application/ld+json"]');
    await expect(script).toHaveCount(1);
    const graph = JSON.parse((await script.textContent()) ?? "") as Graph;
    const types = graph["@graph"].map((node) => node["@type"]);
    expect(types).toContain("Organization");
    expect(types).toContain("WebSite");

    // The other two graphs are wrong on purpose, and show that the check finds such errors.
    const [first, ...others] = graph["@graph"];
    const errors = await typeErrors({
      page: graph,
      invented: { ...graph, "@graph": [{ ...first, inventedProperty: "yes" }, ...others] },
      mistyped: { ...graph, "@graph": [{ ...first, url: 42 }, ...others] },
    });
    expect(errors["page"]).toBe("");
    expect(errors["invented"]).toContain("inventedProperty");
    expect(errors["mistyped"]).toContain("error TS");
  });
});
