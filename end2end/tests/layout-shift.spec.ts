/** Nothing on the page jumps: not during hydration, not in the form, not when fonts arrive late. */
import type { Page } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { ISLANDS } from "../support/islands.ts";
import { layoutShifts, recordLayoutShifts, scrollSlowlyTo } from "../support/layout-shifts.ts";

const FONTS = ["Newsreader", "Commit Mono"];

/** Returns the fonts that the browser has painted the page's text with. */
async function paintedFonts(page: Page): Promise<Set<string>> {
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
  return painted;
}

for (const width of [390, 1280]) {
  test.describe(`shifts at ${width} px`, { tag: "@once" }, () => {
    test.use({ viewport: { width, height: 800 } });

    test(`nothing shifts while the islands hydrate and the terminal plays at ${width} px`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await recordLayoutShifts(page);
      await landing.open();
      await scrollSlowlyTo(page, "#demo .terminal");
      await landing.waitForIslands("demo-terminal");
      await landing.waitForIntersectionObservers();
      for (let line = 0; line <= 9; line += 1) {
        await page.clock.runFor(800);
        // Each line is painted before the next one is shown.
        await landing.waitForIntersectionObservers();
      }
      await expect(landing.shownLines).toHaveCount(9);
      await scrollSlowlyTo(page, "footer");
      await landing.waitForIslands(...ISLANDS);
      expect(await layoutShifts(page)).toEqual([]);
    });

    test(`nothing shifts during an error, a sign-up and its toast at ${width} px`, async ({
      landing,
      page,
    }) => {
      await recordLayoutShifts(page);
      const release = await landing.holdRequests("**/api/waitlist");
      await landing.open();
      await scrollSlowlyTo(page, ".waitlist");
      await landing.waitForIslands(...ISLANDS);
      await landing.submit.click();
      await expect(landing.toasts).toContainText("Error");
      await landing.signUp(uniqueEmail());
      await expect(landing.submit).toBeDisabled();
      release();
      await expect(landing.toasts).toContainText("Success!");
      await expect(landing.submit).toBeEnabled();
      await landing.toasts.getByRole("button").click();
      await expect(landing.toasts).toHaveCount(0);
      expect(await layoutShifts(page)).toEqual([]);
    });

    test(`late fonts shift nothing at ${width} px`, async ({ landing, page }) => {
      await recordLayoutShifts(page);
      const release = await landing.holdRequests("**/fonts/*");
      await page.goto("/", { waitUntil: "commit" });
      await landing.waitForFirstPaint();
      const loaded = page.waitForEvent("load");
      release();
      await loaded;
      await page.evaluate(() => document.fonts.ready);
      const fontRequests = await page.evaluate(() =>
        performance.getEntriesByType("resource").filter(({ name }) => name.includes("/fonts/")),
      );
      expect(fontRequests).toHaveLength(width < 720 ? 1 : FONTS.length);
      await scrollSlowlyTo(page, "footer");
      expect(await layoutShifts(page)).toEqual([]);
    });
  });
}

test.describe("fonts", { tag: "@once" }, () => {
  test("all text is painted with the two fonts that the site serves", async ({ landing, page }) => {
    await landing.open();
    await page.reload();
    const loaded = await page.evaluate(async () => {
      const fonts = [...(await document.fonts.ready)];
      return fonts.filter(({ status }) => status === "loaded").map(({ family }) => family);
    });
    expect(loaded.map((family) => family.replaceAll('"', "")).sort()).toEqual([...FONTS].sort());

    // On a busy machine even cached fonts can be late, and the page does without late ones.
    await expect(async () => {
      await page.reload();
      expect([...(await paintedFonts(page))].sort()).toEqual([
        expect.stringMatching(/^Commit ?Mono.*, web font$/),
        expect.stringMatching(/^Newsreader.*, web font$/),
      ]);
    }).toPass();
  });
});
