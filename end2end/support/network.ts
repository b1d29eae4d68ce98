/** What the page transfers: file names and requests. */
import type { Page } from "@playwright/test";

/** Returns the URLs in an attribute of a page's HTML, as the server sends it. */
export async function urlsInAttribute(
  page: Page,
  attribute: string,
  path = "/",
): Promise<string[]> {
  const html = await (await page.request.get(path)).text();
  const values = [...html.matchAll(new RegExp(`${attribute}="([^"]+)"`, "g"))];
  return [...new Set(values.flatMap(([, value = ""]) => value.split(" ")))];
}

/** Returns the URLs of the fonts that a page may load. */
export async function fontUrls(page: Page, path = "/"): Promise<string[]> {
  return (await urlsInAttribute(page, "href", path)).filter((url) => url.endsWith(".woff2"));
}

/** Returns the file name in a URL without its hash: `landing.js`, `boot.js`, `newsreader.woff2`. */
export function unhashedName(url: string): string {
  const name = new URL(url).pathname.split("/").at(-1) ?? "";
  return name.replace(/[.-][\w-]{8,}(?=\.\w+$)/, "");
}

/** Records the URL of every request from now on. */
export function recordRequests(page: Page): string[] {
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  return urls;
}
