/** Nothing on the page jumps: not during hydration, not in the form, not when fonts arrive late. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { layoutShifts, recordLayoutShifts, scrollSlowlyTo } from "../support/layout-shifts.ts";

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
      await landing.waitForIslands();
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
      await landing.waitForIslands();
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
      const requested = page.waitForRequest("**/fonts/*");
      await page.goto("/", { waitUntil: "commit" });
      await page.waitForFunction(
        () => performance.getEntriesByName("first-contentful-paint").length > 0,
      );
      await requested;
      release();
      const loadedFonts = () =>
        page.evaluate(
          () =>
            performance.getEntriesByType("resource").filter(({ name }) => name.includes("/fonts/"))
              .length,
        );
      await expect.poll(loadedFonts).toBe(width < 720 ? 1 : 2);
      await page.evaluate(() => document.fonts.ready);
      await scrollSlowlyTo(page, "footer");
      expect(await layoutShifts(page)).toEqual([]);
    });
  });
}
