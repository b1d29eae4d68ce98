/** What a visit transfers: each part of the page stays within its budget, in compressed bytes. */
import type { APIRequestContext, Page } from "@playwright/test";
import budgets from "../budgets.json" with { type: "json" };
import { expect, test } from "../support/fixtures.ts";
import { fontUrls, urlsInAttribute } from "../support/network.ts";

/** Returns the size of a compressed response body, in bytes. */
async function transferSize(request: APIRequestContext, url: string): Promise<number> {
  const response = await request.get(url, { headers: { "Accept-Encoding": "br" } });
  return Number(response.headers()["content-length"]);
}

test.describe("budgets", { tag: "@once" }, () => {
  const findUrls: Record<keyof typeof budgets, (page: Page) => Promise<string[]>> = {
    page: async () => ["/"],
    boot: (page) => urlsInAttribute(page, "src"),
    host: async (page) => [
      ...(await urlsInAttribute(page, "data-host")),
      ...(await urlsInAttribute(page, "data-wasm")),
    ],
    islands: (page) => urlsInAttribute(page, "data-modules"),
    fonts: (page) => fontUrls(page),
  };

  for (const [key, { name, bytes }] of Object.entries(budgets)) {
    test(`${name}: at most ${bytes} bytes`, async ({ page, request }) => {
      const urls = await findUrls[key as keyof typeof budgets](page);
      expect(urls, "URLs in the page").not.toEqual([]);
      const sizes = await Promise.all(urls.map((url) => transferSize(request, url)));
      const sum = sizes.reduce((sum, size) => sum + size, 0);
      console.log(`${name}: ${sum} of ${bytes} bytes`);
      expect(sum).toBeLessThanOrEqual(bytes);
    });
  }

  test("the not-found page fits the budget of the landing page", async ({ request }) => {
    expect(await transferSize(request, "/nothing")).toBeLessThanOrEqual(budgets.page.bytes);
  });
});
