/**
 * What a visit loads before its first paint. On a slow line that is only the page. Then the visit uses the system's
 * fonts, and loads the typefaces for the next one.
 */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";
import { layoutShifts, recordLayoutShifts, scrollSlowlyTo } from "../support/layout-shifts.ts";
import { recordRequests, unhashedName } from "../support/network.ts";
import { paintedFonts } from "../support/painted-fonts.ts";

const PHONE = 390;
const DESKTOP = 1280;
const FONTS = ["commit-mono.woff2", "newsreader.woff2"];
const WEB_FONT = /, web font$/;

/** The line, as the browser describes it to the page. */
interface Line {
  /** `navigator.connection`, which only Chromium has. */
  connection?: { effectiveType: string; type?: string; saveData?: boolean };
  /** From the request for the page to the first byte of the response, in milliseconds. */
  roundTrip?: number;
}

const SLOW: Line = { connection: { effectiveType: "3g" } };
const FAST: Line = { connection: { effectiveType: "4g" } };

/** Makes the browser describe another line than its own. */
async function describeLine(page: Page, line: Line): Promise<void> {
  await page.addInitScript(({ connection, roundTrip }) => {
    Object.defineProperty(navigator, "connection", { value: connection });
    if (roundTrip === undefined) return;
    const { prototype } = PerformanceResourceTiming;
    Object.defineProperty(prototype, "requestStart", { get: () => 10 });
    Object.defineProperty(prototype, "responseStart", { get: () => 10 + roundTrip });
  }, line);
}

/** Makes the browser report no paint. */
async function hidePaints(page: Page): Promise<void> {
  await page.addInitScript(() => {
    const { observe } = PerformanceObserver.prototype;
    PerformanceObserver.prototype.observe = function (options) {
      if (options?.type !== "paint") observe.call(this, options);
    };
  });
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

test.describe("the first paint", { tag: "@once" }, () => {
  for (const [name, width, line, fonts] of [
    ["a phone", PHONE, {}, ["newsreader.woff2"]],
    ["a desktop on a slow line", DESKTOP, SLOW, FONTS],
  ] as const) {
    test(`${name} requests nothing but the page before it, and its fonts afterwards`, async ({
      landing,
      page,
    }) => {
      if ("connection" in line) await describeLine(page, line);
      await page.setViewportSize({ width, height: 800 });
      await recordLayoutShifts(page);
      await landing.open();
      await waitForFonts(page, [...fonts]);
      const { before, after } = await requestsAroundPaint(page);
      expect(before).toEqual([]);
      // The fonts are the last: the visitor waits for the islands, not for them.
      expect(after.slice(0, 3).sort()).toEqual(["boot.js", "host.js", "host.wasm"]);
      await scrollSlowlyTo(page, "footer");
      expect([...(await paintedFonts(page))].filter((font) => WEB_FONT.test(font))).toEqual([]);
      expect(await layoutShifts(page)).toEqual([]);
    });
  }

  test("the islands start although the browser does not report it", async ({ landing, page }) => {
    await hidePaints(page);
    await landing.openForm();
  });

  test("the islands start although a font stalls too", async ({ page }) => {
    await hidePaints(page);
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
      const fonts = [...(await paintedFonts(page))].filter((font) => WEB_FONT.test(font));
      expect(fonts).toEqual([expect.stringMatching(/^Newsreader/)]);
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
      await page.goto(site.origin);
      const { before } = await requestsAroundPaint(page);
      const fonts = [...(await paintedFonts(page))].sort();
      const shifts = await layoutShifts(page);
      await context.close();
      expect(before.sort(), "neither a script nor anything that blocks the paint").toEqual(FONTS);
      expect(fonts).toEqual([
        expect.stringMatching(/^Commit ?Mono.*, web font$/),
        expect.stringMatching(/^Newsreader.*, web font$/),
      ]);
      expect(shifts).toEqual([]);
    }).toPass();
  });

  const connection = { effectiveType: "4g" };
  for (const [name, width, line, typefaces] of [
    ["a phone on Wi-Fi", PHONE, { connection: { ...connection, type: "wifi" } }, "preloaded"],
    ["a phone on slow Wi-Fi", PHONE, { connection: { ...SLOW.connection, type: "wifi" } }, "later"],
    [
      "a phone on a mobile line",
      PHONE,
      { connection: { ...connection, type: "cellular" } },
      "later",
    ],
    ["a desktop", DESKTOP, { connection }, "preloaded"],
    ["a desktop on a slow line", DESKTOP, SLOW, "later"],
    [
      "a desktop that saves data",
      DESKTOP,
      { connection: { ...connection, saveData: true } },
      "never",
    ],
    ["a phone of another engine with a short round trip", PHONE, { roundTrip: 30 }, "preloaded"],
    ["a phone of another engine with a long round trip", PHONE, { roundTrip: 200 }, "later"],
    ["a desktop of another engine with a long round trip", DESKTOP, { roundTrip: 200 }, "later"],
  ] as [string, number, Line, string][]) {
    test(`${name}: the typefaces are ${typefaces}`, async ({ landing, page }) => {
      await describeLine(page, line);
      await page.setViewportSize({ width, height: 800 });
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
    await describeLine(page, { connection: { ...connection, saveData: true } });
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
