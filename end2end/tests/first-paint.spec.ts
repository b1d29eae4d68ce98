/**
 * What a visit loads before its first paint. On a slow line that is only the page. Then the visit uses the system's
 * fonts, and loads the typefaces for the next one.
 */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";
import { layoutShifts, recordLayoutShifts, scrollSlowlyTo } from "../support/layout-shifts.ts";
import { recordRequests, unhashedName } from "../support/network.ts";

const PHONE = 390;
const DESKTOP = 1280;
const CODE = ["boot.js", "host.js", "host.wasm"];
const FONTS = ["commit-mono.woff2", "newsreader.woff2"];

/** The line, as `navigator.connection` describes it to the page. */
interface Line {
  effectiveType: string;
  type?: string;
  saveData?: boolean;
}

const SLOW: Line = { effectiveType: "3g" };
const FAST: Line = { effectiveType: "4g" };

/** Makes the browser describe another line than its own. */
async function describeLine(page: Page, line: Line): Promise<void> {
  await page.addInitScript((value) => {
    Object.defineProperty(navigator, "connection", { value });
  }, line);
}

/** Returns the names of the files that were requested before the first paint, and after it. */
async function requestsAroundPaint(page: Page): Promise<{ before: string[]; after: string[] }> {
  const { before, after } = await page.evaluate(() => {
    const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
    const requests = performance.getEntriesByType("resource");
    const urls = (entries: PerformanceEntry[]) => entries.map(({ name }) => name);
    return {
      before: urls(requests.filter(({ startTime }) => startTime < paint)),
      after: urls(requests.filter(({ startTime }) => startTime >= paint)),
    };
  });
  return { before: before.map(unhashedName), after: after.map(unhashedName) };
}

/** Waits until the page has loaded fonts for the next visit. */
async function waitForFonts(page: Page, fonts: string[]): Promise<void> {
  const loaded = async () => {
    const { before, after } = await requestsAroundPaint(page);
    return [...before, ...after].filter((name) => name.endsWith(".woff2")).sort();
  };
  await expect.poll(loaded).toEqual(fonts);
}

/** Returns the fonts that the browser has painted the page's text with. */
async function paintedFonts(page: Page): Promise<string[]> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("DOM.enable");
  await devtools.send("CSS.enable");
  const { root } = await devtools.send("DOM.getDocument");
  const { nodeIds } = await devtools.send("DOM.querySelectorAll", {
    nodeId: root.nodeId,
    selector: "body *",
  });
  const painted = new Set<string>();
  for (const nodeId of nodeIds) {
    const { fonts } = await devtools.send("CSS.getPlatformFontsForNode", { nodeId });
    for (const { familyName, isCustomFont } of fonts) {
      painted.add(`${familyName}, ${isCustomFont ? "web font" : "system font"}`);
    }
  }
  return [...painted].sort();
}

/** Returns the typefaces of the site among them. */
async function paintedTypefaces(page: Page): Promise<string[]> {
  return (await paintedFonts(page)).filter((font) => font.endsWith(", web font"));
}

test.describe("the first paint", { tag: "@once" }, () => {
  for (const [name, width, line, fonts] of [
    ["a phone", PHONE, undefined, ["newsreader.woff2"]],
    ["a desktop on a slow line", DESKTOP, SLOW, FONTS],
  ] as const) {
    test(`${name} requests nothing but the page before it, and its fonts afterwards`, async ({
      landing,
      page,
    }) => {
      if (line) await describeLine(page, line);
      await page.setViewportSize({ width, height: 800 });
      await recordLayoutShifts(page);
      await landing.open();
      await waitForFonts(page, [...fonts]);
      // After the next idle moment, everything else waits until the visitor acts.
      await landing.waitForIdle();
      const { before, after } = await requestsAroundPaint(page);
      expect(before).toEqual([]);
      // The fonts are the last: the visitor waits for the islands, not for them.
      expect(after.slice(0, 3).sort()).toEqual(CODE);
      expect(after.slice(3).sort()).toEqual(fonts);
      // Linked, but browsers fetch it only to install the page.
      const manifest = page.locator("link[rel=manifest]");
      await expect(manifest).toHaveAttribute("href", /^\/site\.[0-9a-f]{8}\.webmanifest$/);
      await scrollSlowlyTo(page, "footer");
      expect(await paintedTypefaces(page)).toEqual([]);
      expect(await layoutShifts(page)).toEqual([]);
    });
  }

  test("the islands start although no paint is reported and a font stalls", async ({ page }) => {
    await page.addInitScript(() => {
      const { observe } = PerformanceObserver.prototype;
      PerformanceObserver.prototype.observe = function (options) {
        if (options?.type !== "paint") observe.call(this, options);
      };
    });
    await page.setViewportSize({ width: DESKTOP, height: 800 });
    await describeLine(page, FAST);
    await page.route("**/*.woff2", () => {});
    await page.goto("/", { waitUntil: "domcontentloaded" });
    await expect(page.locator("head script[data-wasm]")).toBeAttached({ timeout: 30_000 });
  });

  test("a phone's second visit has the typeface from the cache", async ({ landing, page }) => {
    await page.setViewportSize({ width: PHONE, height: 800 });
    await landing.open();
    await waitForFonts(page, ["newsreader.woff2"]);
    await recordLayoutShifts(page);
    // On a busy machine even a cached font can be late, and the page does without late ones.
    await expect(async () => {
      await page.goto("about:blank");
      await landing.open();
      expect(await paintedTypefaces(page)).toEqual([expect.stringMatching(/^Newsreader/)]);
    }).toPass();
    const transferred = await page.evaluate(() =>
      performance
        .getEntriesByType("resource")
        .filter(({ name }) => name.endsWith(".woff2"))
        .map((entry) => (entry as PerformanceResourceTiming).transferSize),
    );
    expect(transferred, "bytes from the network").toEqual([0]);
    expect(await layoutShifts(page)).toEqual([]);
  });

  test("a desktop's first visit is painted with both typefaces, and waits for no script", async ({
    browser,
    site,
  }) => {
    // Again on a busy machine, where a font can be late.
    await expect(async () => {
      const context = await browser.newContext({ viewport: { width: DESKTOP, height: 800 } });
      const page = await context.newPage();
      await recordLayoutShifts(page);
      await page.goto(site.origin, { waitUntil: "networkidle" });
      const { before, after } = await requestsAroundPaint(page);
      const fonts = await paintedFonts(page);
      const shifts = await layoutShifts(page);
      await context.close();
      expect(before.sort(), "neither a script nor anything that blocks the paint").toEqual(FONTS);
      expect(after.sort()).toEqual(CODE);
      expect(fonts).toEqual([
        expect.stringMatching(/^Commit ?Mono.*, web font$/),
        expect.stringMatching(/^Newsreader.*, web font$/),
      ]);
      expect(shifts).toEqual([]);
    }).toPass();
  });

  // In other engines the journeys measure the round trip.
  for (const [name, line, typefaces] of [
    ["Wi-Fi", { ...FAST, type: "wifi" }, "preloaded"],
    ["slow Wi-Fi", { ...SLOW, type: "wifi" }, "later"],
    ["a mobile line", { ...FAST, type: "cellular" }, "later"],
  ] as const) {
    test(`on a phone with ${name} the typefaces are ${typefaces}`, async ({ landing, page }) => {
      await describeLine(page, line);
      await page.setViewportSize({ width: PHONE, height: 800 });
      await landing.open();
      const { decision, links } = await page.evaluate(() => ({
        decision: document.documentElement.dataset["typefaces"] ?? "preloaded",
        links: document.querySelectorAll("link[as=font]").length,
      }));
      expect(decision).toBe(typefaces);
      expect(links).toBe(typefaces === "preloaded" ? FONTS.length : 0);
    });
  }

  test("a visitor who saves data loads no typeface", async ({ landing, page }) => {
    await describeLine(page, { ...FAST, saveData: true });
    const requests = recordRequests(page);
    await landing.open();
    await landing.scrollThroughIslands();
    await landing.waitForIslands("toaster");
    await landing.waitForIdle();
    expect(requests.filter((url) => url.endsWith(".woff2"))).toEqual([]);
  });
});

test(
  "without JavaScript the page uses the typefaces",
  { tag: "@no-javascript" },
  async ({ landing, page, viewport }) => {
    const requests = recordRequests(page);
    await landing.open();
    const isPhone = (viewport?.width ?? 0) < 720;
    const fonts = () => requests.map(unhashedName).filter((name) => name.endsWith(".woff2"));
    await expect
      .poll(() => [...new Set(fonts())].sort())
      .toEqual(isPhone ? ["newsreader.woff2"] : FONTS);
    await expect(page.locator("html")).not.toHaveAttribute("data-typefaces");
  },
);
