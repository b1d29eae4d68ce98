/** The HTML as it is delivered: valid, and what it says to search engines is of schema.org. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { APIResponse } from "@playwright/test";
import { HtmlValidate } from "html-validate";
import { expect, freshAddress, test } from "../fixtures.ts";

const MODULES = fileURLToPath(new URL("../node_modules", import.meta.url));

const validator = new HtmlValidate({
  root: true,
  extends: ["html-validate:recommended", "html-validate:standard"],
  rules: {
    // The islands' markup is React's, which closes `<input/>`. HTML allows both.
    "void-style": "off",
    // It writes `hidden=""`.
    "attribute-empty-style": "off",
    // And writes `autoComplete`. HTML knows no case.
    "attr-case": ["error", { style: ["lowercase", "camelcase"] }],
  },
});

/** What is wrong with an answer's HTML. */
async function faults(answer: APIResponse): Promise<string[]> {
  const html = await answer.text();
  const { results } = await validator.validateString(html);
  return results.flatMap(({ messages }) =>
    messages.map(({ ruleId, message, offset }) => {
      return `${ruleId}: ${message}: ${html.slice(offset - 40, offset + 60)}`;
    }),
  );
}

test.describe("HTML", { tag: "@once" }, () => {
  for (const [name, path, status] of [
    ["the landing page", "/", 200],
    ["the not-found page", "/nothing", 404],
  ] as const) {
    test(`${name} is valid`, async ({ request }) => {
      const answer = await request.get(path);
      expect(answer.status()).toBe(status);
      expect(await faults(answer)).toEqual([]);
    });
  }

  for (const [name, status, email] of [
    ["takes a sign-up", 200, freshAddress],
    ["refuses an address", 400, () => '"><b>no address'],
  ] as const) {
    test(`the page that ${name} is valid`, async ({ request }) => {
      const answer = await request.post("/", { form: { email: email() } });
      expect(answer.status()).toBe(status);
      expect(await answer.text()).toContain('class="waitlist-message"');
      expect(await faults(answer)).toEqual([]);
    });
  }

  test("each id of the living page is used once, and each reference leads to one", async ({
    landing,
    page,
  }) => {
    await landing.openForm();
    await landing.ready("contact-links");
    await landing.openTooltip();
    const { twice, dangling } = await page.evaluate(() => {
      const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
      const references = [...document.querySelectorAll("*")].flatMap((node) =>
        ["for", "aria-labelledby", "aria-describedby", "aria-controls"].flatMap(
          (name) => node.getAttribute(name)?.split(/\s+/) ?? [],
        ),
      );
      return {
        twice: ids.filter((id, index) => ids.indexOf(id) !== index),
        dangling: references.filter((id) => !ids.includes(id)),
      };
    });
    expect(twice).toEqual([]);
    expect(dangling).toEqual([]);
  });
});

test.describe("JSON-LD", { tag: "@once" }, () => {
  /** What TypeScript says of a value that is to be a graph of schema.org. */
  async function typeErrors(graph: unknown): Promise<string> {
    const cache = join(MODULES, ".cache");
    await mkdir(cache, { recursive: true });
    const folder = await mkdtemp(join(cache, "json-ld-"));
    const source = [
      'import type { Graph } from "schema-dts";',
      `export const graph: Graph = ${JSON.stringify(graph)};`,
    ];
    try {
      await writeFile(join(folder, "graph.ts"), source.join("\n"));
      const options = ["--noEmit", "--ignoreConfig", "--strict", "--module", "nodenext"];
      const plainly = ["--types", "", "--pretty", "false"];
      const tsc = join(MODULES, ".bin", "tsc");
      await promisify(execFile)(tsc, [...options, ...plainly, "graph.ts"], { cwd: folder });
      return "";
    } catch (error) {
      return (error as { stdout: string }).stdout;
    } finally {
      await rm(folder, { recursive: true });
    }
  }

  interface Graph {
    "@graph": { "@type": string }[];
  }

  test("what the page says to search engines has the types of schema.org", async ({
    landing,
    page,
  }) => {
    await landing.open();
    const said = page.locator('script[type="application/ld+json"]');
    await expect(said).toHaveCount(1);
    const graph = JSON.parse((await said.textContent()) ?? "") as Graph;
    const types = graph["@graph"].map((node) => node["@type"]);
    expect(types).toContain("Organization");
    expect(types).toContain("WebSite");
    expect(await typeErrors(graph)).toBe("");
    // And the check tells what is not of schema.org.
    const [first, ...others] = graph["@graph"];
    const invented = { ...graph, "@graph": [{ ...first, inventedProperty: "yes" }, ...others] };
    expect(await typeErrors(invented)).toContain("inventedProperty");
    const mistyped = { ...graph, "@graph": [{ ...first, url: 42 }, ...others] };
    expect(await typeErrors(mistyped)).toContain("error TS");
  });
});
