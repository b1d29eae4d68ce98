/** Each engine really has the settings of its project. */
import { PHONE_PIXEL_RATIO } from "./engines.ts";
import { expect, test } from "./fixtures.ts";

test(
  "the browser has the window, the media and the scripts of the project",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ settings, visitor }) => {
    const matches = (query: string) =>
      visitor.evaluate((query) => matchMedia(query).matches, query);
    await visitor.open();
    const { width, height, isPhone, colorScheme, reducedMotion, javaScript } = settings;
    expect(await visitor.evaluate(() => [innerWidth, innerHeight])).toEqual([width, height]);
    // Scroll bars take no room.
    expect(await visitor.evaluate(() => document.documentElement.clientWidth)).toBe(width);
    expect(await visitor.evaluate(() => devicePixelRatio)).toBe(isPhone ? PHONE_PIXEL_RATIO : 1);
    expect(await matches(`(prefers-color-scheme: ${colorScheme})`)).toBe(true);
    expect(await matches("(prefers-reduced-motion: reduce)")).toBe(reducedMotion);
    expect(await matches("(pointer: coarse)")).toBe(isPhone);
    expect(await matches("(hover: hover)")).toBe(!isPhone);
    // The script in the head decides at once whether the visit preloads the fonts.
    const decision = "html[data-typefaces], head > link[as=font]";
    expect((await visitor.attributes(decision, "class")).length > 0).toBe(javaScript);
  },
);
