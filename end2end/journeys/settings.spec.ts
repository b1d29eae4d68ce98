/** Each engine really has the settings of its project. */
import { PHONE_PIXEL_RATIO } from "./engines.ts";
import { expect, test } from "./fixtures.ts";

test(
  "the browser has the window, the media and the scripts of the project",
  { tag: ["@core", "@chromium", "@everywhere"] },
  async ({ network, settings, visitor }) => {
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
    const page = "<p>off</p><script>document.querySelector('p').textContent = 'on'</script>";
    network.respond("GET /script", 200, page, "text/html");
    await visitor.open("/script");
    expect(await visitor.text("p")).toBe(javaScript ? "on" : "off");
  },
);
