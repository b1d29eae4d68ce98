/** What a visitor's network sees: the bytes of a file, and which request waits for which. */
import { get } from "node:http";
import type { Page } from "@playwright/test";

/** The bytes of an answer as they travel to a browser, without its headers. */
export function bytesOf(url: string): Promise<number> {
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

/** A file without its folder and its hash: `landing.js`, `boot.js`, `prose.woff2`. */
export function plainName(url: string): string {
  const name = new URL(url).pathname.split("/").at(-1) ?? "";
  return name.replace(/[.-][\w-]{8,}(?=\.\w+$)/, "");
}

interface Initiator {
  url?: string;
  stack?: { callFrames: { url: string }[] };
}

/** By URL path, how many requests had to be answered before this one could be sent: 0 for the page,
 * 1 for what its HTML names. */
export async function watchChain(page: Page): Promise<Map<string, number>> {
  const depths = new Map<string, number>();
  const depthOf = (url: string | undefined) => depths.get(new URL(url ?? page.url()).pathname) ?? 0;
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Network.enable");
  devtools.on("Network.requestWillBeSent", ({ request, initiator, type }) => {
    const { url, stack }: Initiator = initiator;
    const asker = stack?.callFrames[0]?.url ?? url;
    const depth = type === "Document" ? 0 : depthOf(asker) + 1;
    const { pathname } = new URL(request.url);
    if (!depths.has(pathname)) depths.set(pathname, depth);
  });
  return depths;
}
