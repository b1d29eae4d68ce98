/** Nothing on the page ever jumps: not while it comes to life, not when its fonts come late. */
import type { Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";
import { shifts, watchShifts } from "../measure.ts";

const ISLANDS = ["demo-terminal", "waitlist-form", "contact-links", "toaster"];
const FONTS = ["Newsreader", "Commit Mono"];

/** Scrolls on, frame after frame, until the element's middle is in the middle of the window. */
async function scrollSlowlyTo(page: Page, selector: string): Promise<void> {
  await page.locator(selector).evaluate(async (element) => {
    const STEP = 40;
    for (;;) {
      const before = scrollY;
      const { top, height } = element.getBoundingClientRect();
      const left = top + height / 2 - innerHeight / 2;
      scrollBy({ top: Math.min(STEP, left), behavior: "instant" });
      await new Promise(requestAnimationFrame);
      if (left <= STEP || scrollY === before) return;
    }
  });
}

async function expectAlive(landing: LandingPage): Promise<void> {
  for (const island of ISLANDS) await landing.ready(island);
}

/** The fonts of all letters. */
async function paintedWith(page: Page): Promise<Set<string>> {
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
      painted.add(`${familyName}, ${isCustomFont ? "shipped" : "of the machine"}`);
    }
  }
  return painted;
}

for (const width of [390, 1280]) {
  test.describe(`shifts at ${width} px`, { tag: "@once" }, () => {
    test.use({ viewport: { width, height: 800 } });

    test(`nothing shifts while one scrolls, the islands wake and the terminal plays, at ${width} px`, async ({
      landing,
      page,
    }) => {
      await watchShifts(page);
      await landing.open();
      await scrollSlowlyTo(page, "#demo .terminal");
      await expect(landing.shownLines).toHaveCount(9);
      await scrollSlowlyTo(page, "footer");
      await expectAlive(landing);
      expect(await shifts(page)).toEqual([]);
    });

    test(`nothing shifts when a form is refused, sent, and answered by a toast, at ${width} px`, async ({
      landing,
      page,
    }) => {
      await watchShifts(page);
      const letGo = await landing.hold("**/api/waitlist");
      await landing.open();
      await scrollSlowlyTo(page, ".waitlist");
      await expectAlive(landing);
      await landing.submit.click();
      await expect(landing.toasts).toContainText("Error");
      await landing.join(freshAddress());
      await expect(landing.submit).toBeDisabled();
      letGo();
      await expect(landing.toasts).toContainText("Success!");
      await expect(landing.submit).toBeEnabled();
      await landing.toasts.getByRole("button").click();
      await expect(landing.toasts).toHaveCount(0);
      expect(await shifts(page)).toEqual([]);
    });

    test(`fonts that come late shift nothing, at ${width} px`, async ({ landing, page }) => {
      await watchShifts(page);
      const letGo = await landing.hold("**/fonts/*");
      await page.goto("/", { waitUntil: "commit" });
      await page.waitForFunction(
        () => performance.getEntriesByName("first-contentful-paint").length > 0,
      );
      const arrived = page.waitForEvent("load");
      letGo();
      await arrived;
      await page.evaluate(() => document.fonts.ready);
      const loaded = await page.evaluate(() =>
        performance.getEntriesByType("resource").filter(({ name }) => name.includes("/fonts/")),
      );
      expect(loaded).toHaveLength(width < 720 ? 1 : FONTS.length);
      await scrollSlowlyTo(page, "footer");
      expect(await shifts(page)).toEqual([]);
    });
  });
}

test.describe("fonts", { tag: "@once" }, () => {
  test("fonts that come in time are the two shipped ones, and letters come from no other", async ({
    landing,
    page,
  }) => {
    await landing.open();
    await page.reload();
    const loaded = await page.evaluate(async () => {
      const fonts = [...(await document.fonts.ready)];
      return fonts.filter(({ status }) => status === "loaded").map(({ family }) => family);
    });
    expect(loaded.map((family) => family.replaceAll('"', "")).sort()).toEqual([...FONTS].sort());

    // What the letters are really painted with. A busy machine can be late with fonts it has.
    await expect(async () => {
      await page.reload();
      expect([...(await paintedWith(page))].sort()).toEqual([
        expect.stringMatching(/^Commit ?Mono.*, shipped$/),
        expect.stringMatching(/^Newsreader.*, shipped$/),
      ]);
    }).toPass();
  });
});
