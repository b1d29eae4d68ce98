/** When a visit uses the typefaces. The engines know different things about the line. */
import { expect, test } from "./fixtures.ts";
import { Network } from "./network.ts";
import { eventually, Visitor } from "./visitor.ts";

/** Longer than a browser waits for a font with `font-display: optional`, in milliseconds. */
const SLOW_MS = 250;
/** In narrower windows the page does not take Chromium's word for a fast line. */
const WIDE = 720;

for (const line of ["slow", "fast"] as const) {
  test(
    `over a ${line} line the first visit has the right fonts, and the second one the typefaces of the cache`,
    { tag: "@core" },
    async ({ engine, settings, site, visitor: { driver } }) => {
      // Another origin than that of the other journeys, so its files are not in the cache.
      const network = await Network.start(site.origin);
      if (line === "slow") network.delay("GET /", SLOW_MS);
      const visitor = new Visitor(driver, network.origin);
      // An automated WebKit has only a cache in memory, and forgets the page.
      const hasCache = engine !== "webkit";
      const isWide = settings.width >= WIDE;
      const fonts = isWide ? 2 : 1;
      const decision = () =>
        visitor.evaluate(() => document.documentElement.dataset["typefaces"] ?? "preloaded");
      // Not their status: Firefox may drop a font that is late.
      const loadedFonts = () =>
        visitor.evaluate(() => {
          const names = performance.getEntriesByType("resource").map(({ name }) => name);
          return new Set(names.filter((name) => name.includes("/fonts/"))).size;
        });
      const fontRequests = () => network.requests.filter((request) => request.includes("/fonts/"));

      await visitor.open();
      // Chromium does not measure the line. It says that this one is fast, but not of which type it is.
      const isFast = engine === "chromium" ? isWide : line === "fast";
      expect(await decision()).toBe(isFast ? "preloaded" : "later");
      await eventually(loadedFonts).toBe(fonts);
      expect(new Set(fontRequests()).size).toBe(fonts);

      network.requests.length = 0;
      await visitor.open();
      expect(await decision()).toBe(hasCache || isFast ? "preloaded" : "later");
      await eventually(loadedFonts).toBe(fonts);
      expect(fontRequests(), "the fonts are in the cache").toEqual([]);
      await network.stop();
    },
  );
}
