/** When a visit uses the typefaces. The engines know different things about the line. */
import { expect, startSite, test } from "./fixtures.ts";
import { eventually, Visitor } from "./visitor.ts";

/** How late a slow line is. It includes the time until the browser sends its request, in milliseconds. */
const SLOW_MS = 800;
/** In narrower windows the page does not take Chromium's word for a fast line. */
const WIDE = 720;

for (const line of ["slow", "fast"] as const) {
  test(
    `over a ${line} line the first visit has the right fonts, and the second one the typefaces of the cache`,
    { tag: "@core" },
    async ({ engine, settings, visitor: { driver } }) => {
      // Another origin than that of the other journeys, so its files are not in the cache.
      const site = await startSite();
      const visitor = new Visitor(driver, site.origin);
      // An automated WebKit has only a cache in memory, and forgets the page.
      const hasCache = engine !== "webkit";
      const isWide = settings.width >= WIDE;
      const visit = async () => {
        if (line === "slow") {
          site.pause();
          setTimeout(() => site.resume(), SLOW_MS);
        }
        await visitor.open();
      };
      const decision = () =>
        visitor.evaluate(() => document.documentElement.dataset["typefaces"] ?? "preloaded");
      // Not their status: Firefox may drop a font that is late.
      const fonts = (isTransferred: boolean) =>
        visitor.evaluate((isTransferred) => {
          const files = performance.getEntriesByType("resource") as PerformanceResourceTiming[];
          const fonts = files.filter(({ name }) => name.includes("/fonts/"));
          const ours = fonts.filter(({ transferSize }) => transferSize > 0 === isTransferred);
          return new Set(ours.map(({ name }) => name)).size;
        }, isTransferred);

      await visit();
      // Chromium does not measure the line. It says that this one is fast, but not of which type it is.
      const isFast = engine === "chromium" ? isWide : line === "fast";
      expect(await decision()).toBe(isFast ? "preloaded" : "later");
      await eventually(() => fonts(true)).toBe(isWide ? 2 : 1);

      await visit();
      expect(await decision()).toBe(hasCache || isFast ? "preloaded" : "later");
      await eventually(() => fonts(false), { message: "fonts of the cache" }).toBe(isWide ? 2 : 1);
      expect(await fonts(true)).toBe(0);
      await site.stop();
    },
  );
}
