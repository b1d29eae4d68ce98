/** Contrast as it is painted, in both schemes: text at least 4.5, controls and their focus 3. */
import { below, contrasts } from "../colours.ts";
import { addStyle, expect, freshAddress, test } from "../fixtures.ts";

const TEXT = 4.5;
const EDGE = 3;

/** The ticks before the lines of the terminal. */
const MARKS = { selector: ".terminal-lines li", property: "color", pseudo: "::before" };

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`contrast, ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`every text has ${TEXT} in ${colorScheme}, the terminal dimmed and revealed`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await landing.open();
      const dimmed = await contrasts(page);
      expect(dimmed.length).toBeGreaterThan(100);
      expect(below(TEXT, dimmed)).toEqual([]);
      await landing.playTerminal();
      expect(below(TEXT, await contrasts(page))).toEqual([]);
      expect(below(TEXT, await contrasts(page, MARKS))).toEqual([]);
    });

    test(`text on a wash of a drawing has ${TEXT} in ${colorScheme}`, async ({ landing, page }) => {
      await landing.open();
      // As if the drawing lay on its wash: that is the harder ground.
      await addStyle(page, ".scene:has(.wash, .night) { background: var(--wash); }");
      expect(below(TEXT, await contrasts(page, { selector: ".scene text" }))).toEqual([]);
    });

    test(`the form has ${TEXT} and ${EDGE} in every state in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      const letGo = await landing.hold("**/api/waitlist");
      await landing.openForm();
      const field = { selector: ".waitlist input" };
      const check = async () => {
        await landing.stopMoving();
        expect(below(TEXT, await contrasts(page, field))).toEqual([]);
        expect(below(TEXT, await contrasts(page, { ...field, pseudo: "::placeholder" }))).toEqual(
          [],
        );
        expect(below(TEXT, await contrasts(page))).toEqual([]);
      };
      const border = async () =>
        below(
          EDGE,
          await contrasts(page, {
            ...field,
            property: "border-top-color",
            on: "surroundings",
          }),
        );
      await check();
      expect(await border(), "idle").toEqual([]);

      await landing.submit.click();
      await expect(landing.email).toHaveAttribute("aria-invalid", "true");
      await expect(landing.toasts).toContainText("Error");
      await check();
      expect(await border(), "with an error").toEqual([]);

      await landing.join(freshAddress());
      await expect(landing.submit).toBeDisabled();
      await check();

      letGo();
      await expect(landing.toasts).toContainText("Success!");
      await check();
      expect(await border(), "joined").toEqual([]);
    });

    test(`buttons and toasts stand out from the page by ${EDGE} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      const letGo = await landing.hold("**/api/waitlist");
      await landing.openForm();
      await landing.submit.click();
      await landing.keepToast();
      await landing.stopMoving();
      const edges = (selector: string, property: string) =>
        contrasts(page, { selector, property, on: "surroundings" });
      const buttons = await edges(".button:not(.quiet)", "background-color");
      expect(buttons).toHaveLength(4);
      expect(below(EDGE, buttons)).toEqual([]);
      const quiet = await edges(".button.quiet", "border-top-color");
      expect(quiet).toHaveLength(1);
      expect(below(EDGE, quiet)).toEqual([]);
      const toast = await edges(".toast", "border-top-color");
      expect(toast).toHaveLength(1);
      expect(below(EDGE, toast)).toEqual([]);
      const cross = await contrasts(page, { selector: ".toast-close svg", property: "stroke" });
      expect(cross).toHaveLength(1);
      expect(below(EDGE, cross)).toEqual([]);

      await landing.join(freshAddress());
      await expect(landing.submit).toBeDisabled();
      await landing.stopMoving();
      expect(below(EDGE, await edges(".button:disabled", "background-color"))).toEqual([]);
      letGo();
      await expect(landing.submit).toBeEnabled();
    });

    test(`the focus stands out by ${EDGE} on every control in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      for (let control = 0; control < (await landing.controls.count()); control += 1) {
        await page.keyboard.press("Tab");
        // Around the control; on those of the bar within.
        const offset = await page
          .locator(":focus-visible")
          .evaluate((node) => Number.parseFloat(getComputedStyle(node).outlineOffset));
        const found = await contrasts(page, {
          selector: ":focus-visible",
          property: "outline-color",
          on: offset < 0 ? "element" : "surroundings",
        });
        expect(found).toHaveLength(1);
        expect(below(EDGE, found)).toEqual([]);
      }
    });

    test(`an open tooltip has ${TEXT} in ${colorScheme}`, async ({ landing, page }) => {
      await landing.openForm();
      await landing.openTooltip();
      const tooltip = await contrasts(page, { selector: ".tooltip" });
      expect(tooltip).toHaveLength(1);
      expect(below(TEXT, tooltip)).toEqual([]);
    });
  });
}
