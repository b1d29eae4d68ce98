/** What the page transfers: sizes, file names, requests, and which request waits for which. */
import { get } from "node:http";
import type { Page } from "@playwright/test";

/** Returns the size of a compressed response body, in bytes. */
export function transferSize(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "Accept-Encoding": "br" } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
      });
      response.on("end", () => {
        if (response.statusCode === 200) resolve(bytes);
        else reject(new Error(`${url}: ${response.statusCode}`));
      });
    }).on("error", reject);
  });
}

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

interface Initiator {
  url?: string;
  stack?: { callFrames: { url: string }[] };
}

/**
 * Records the depth of each URL path in the request chain: 0 for the page, 1 for the files that its
 * HTML names, 2 for the files that those request.
 */
export async function recordRequestDepths(page: Page): Promise<Map<string, number>> {
  const depths = new Map<string, number>();
  const depthOf = (url: string | undefined) => depths.get(new URL(url ?? page.url()).pathname) ?? 0;
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  devtools.on("Network.requestWillBeSent", ({ request, initiator, type }) => {
    const { url, stack }: Initiator = initiator;
    const initiatorUrl = stack?.callFrames[0]?.url ?? url;
    const depth = type === "Document" ? 0 : depthOf(initiatorUrl) + 1;
    const { pathname } = new URL(request.url);
    if (!depths.has(pathname)) depths.set(pathname, depth);
  });
  return depths;
}
