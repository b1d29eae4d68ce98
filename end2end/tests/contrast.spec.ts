/** Painted contrast in both colour schemes: at least 4.5 for text, 3 for controls and outlines. */
import { measureContrast, tooLow } from "../support/contrast.ts";
import { addStyle, expect, test, uniqueEmail } from "../support/fixtures.ts";

const MIN_TEXT_CONTRAST = 4.5;
const MIN_EDGE_CONTRAST = 3;
/** For visitors who ask for more contrast. */
const MORE_CONTRAST = 7;

/** The symbols before the terminal's lines. */
const LINE_SYMBOLS = { selector: ".terminal-lines li", property: "color", pseudo: "::before" };

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`contrast in ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`all text has a contrast of ${MIN_TEXT_CONTRAST} in ${colorScheme}, also in dimmed lines`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await landing.open();
      const dimmed = await measureContrast(page);
      expect(dimmed.length).toBeGreaterThan(100);
      expect(tooLow(MIN_TEXT_CONTRAST, dimmed)).toEqual([]);
      await landing.playTerminal();
      expect(tooLow(MIN_TEXT_CONTRAST, await measureContrast(page))).toEqual([]);
      expect(tooLow(MIN_TEXT_CONTRAST, await measureContrast(page, LINE_SYMBOLS))).toEqual([]);
    });

    test(`text on a drawing's wash has a contrast of ${MIN_TEXT_CONTRAST} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      // Contrast is lower on the wash than on the page, so test all text of the drawing on it.
      await addStyle(page, ".scene:has(.wash) { background: var(--wash); }");
      expect(
        tooLow(MIN_TEXT_CONTRAST, await measureContrast(page, { selector: ".scene text" })),
      ).toEqual([]);
    });

    test(`text and borders of the form have enough contrast in every state in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      const release = await landing.holdRequests("**/api/waitlist");
      await landing.openForm();
      const field = { selector: ".waitlist input" };
      const expectLegibleText = async () => {
        await landing.finishAnimations();
        for (const query of [field, { ...field, pseudo: "::placeholder" }, {}]) {
          expect(tooLow(MIN_TEXT_CONTRAST, await measureContrast(page, query))).toEqual([]);
        }
      };
      const lowBorders = async () =>
        tooLow(
          MIN_EDGE_CONTRAST,
          await measureContrast(page, { ...field, property: "border-top-color", on: "parent" }),
        );
      await expectLegibleText();
      expect(await lowBorders(), "idle").toEqual([]);

      await landing.submit.click();
      await expect(landing.email).toHaveAttribute("aria-invalid", "true");
      await expect(landing.toasts).toContainText("Error");
      await expectLegibleText();
      expect(await lowBorders(), "with an error").toEqual([]);

      await landing.signUp(uniqueEmail());
      await expect(landing.submit).toBeDisabled();
      await expectLegibleText();

      release();
      await expect(landing.toasts).toContainText("Success!");
      await expectLegibleText();
      expect(await lowBorders(), "after a sign-up").toEqual([]);
    });

    test(`with more contrast all text and every outcome has ${MORE_CONTRAST} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await page.emulateMedia({ contrast: "more" });
      await landing.openForm();
      const border = async () => {
        const query = { selector: ".waitlist input", property: "border-top-color" };
        return (await measureContrast(page, { ...query, on: "parent" }))[0]?.ratio ?? 0;
      };
      const right = await border();
      await landing.submit.click();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      expect(await border(), "border of a wrong field").toBeGreaterThanOrEqual(right);
      expect(tooLow(MORE_CONTRAST, await measureContrast(page))).toEqual([]);
      const toast = { selector: ".toast", property: "border-top-color" };
      expect(tooLow(MORE_CONTRAST, await measureContrast(page, toast))).toEqual([]);
      await landing.signUp(uniqueEmail());
      await expect(landing.toasts).toContainText("Success!");
      await landing.finishAnimations();
      expect(tooLow(MORE_CONTRAST, await measureContrast(page))).toEqual([]);
      expect(await border(), "border after a sign-up").toBeGreaterThanOrEqual(MORE_CONTRAST);
    });

    test(`links are underlined in the colour of controls in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      const link = page.getByRole("link", { name: "Email us" });
      await expect(link).toHaveCSS("text-decoration-thickness", "1px");
      const line = { selector: ".contact-links a", property: "text-decoration-color" };
      expect(tooLow(MIN_EDGE_CONTRAST, await measureContrast(page, line))).toEqual([]);
      await expect(link).not.toHaveCSS(
        "text-decoration-color",
        await link.evaluate((node) => getComputedStyle(node).color),
      );
    });

    test(`buttons and toasts have a contrast of ${MIN_EDGE_CONTRAST} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      const release = await landing.holdRequests("**/api/waitlist");
      await landing.openForm();
      await landing.submit.click();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      const edges = (selector: string, property: string) =>
        measureContrast(page, { selector, property, on: "parent" });
      const buttons = await edges(".button:not(.quiet)", "background-color");
      expect(buttons).toHaveLength(4);
      expect(tooLow(MIN_EDGE_CONTRAST, buttons)).toEqual([]);
      const quietButton = await edges(".button.quiet", "border-top-color");
      expect(quietButton).toHaveLength(1);
      expect(tooLow(MIN_EDGE_CONTRAST, quietButton)).toEqual([]);
      const toast = await edges(".toast", "border-top-color");
      expect(toast).toHaveLength(1);
      expect(tooLow(MIN_EDGE_CONTRAST, toast)).toEqual([]);
      const closeIcon = await measureContrast(page, {
        selector: ".toast-close svg",
        property: "stroke",
      });
      expect(closeIcon).toHaveLength(1);
      expect(tooLow(MIN_EDGE_CONTRAST, closeIcon)).toEqual([]);

      await landing.signUp(uniqueEmail());
      await expect(landing.submit).toBeDisabled();
      await landing.finishAnimations();
      expect(
        tooLow(MIN_EDGE_CONTRAST, await edges(".button:disabled", "background-color")),
      ).toEqual([]);
      release();
      await expect(landing.submit).toBeEnabled();
    });

    test(`the focus outline of every control has a contrast of ${MIN_EDGE_CONTRAST} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      for (let control = 0; control < (await landing.controls.count()); control += 1) {
        await page.keyboard.press("Tab");
        // The header's links have their outline inside, all other controls around them.
        const offset = await page
          .locator(":focus-visible")
          .evaluate((node) => Number.parseFloat(getComputedStyle(node).outlineOffset));
        const outline = await measureContrast(page, {
          selector: ":focus-visible",
          property: "outline-color",
          on: offset < 0 ? "element" : "parent",
        });
        expect(outline).toHaveLength(1);
        expect(tooLow(MIN_EDGE_CONTRAST, outline)).toEqual([]);
      }
    });

    test(`an open tooltip has a contrast of ${MIN_TEXT_CONTRAST} in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.openTooltip();
      const tooltip = await measureContrast(page, { selector: ".tooltip" });
      expect(tooltip).toHaveLength(1);
      expect(tooLow(MIN_TEXT_CONTRAST, tooltip)).toEqual([]);
    });
  });
}
