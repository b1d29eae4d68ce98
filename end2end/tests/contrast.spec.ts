/** Contrast as painted, in every state: in both colour schemes, in forced colours, and with more contrast. */
import type { Page } from "@playwright/test";
import { type ContrastQuery, measureContrast, tooLow } from "../support/contrast.ts";
import { addStyle, expect, test, uniqueEmail } from "../support/fixtures.ts";

/** WCAG 1.4.11, for controls and the parts of a drawing that are needed to understand it. */
const EDGE = 3;
/** WCAG 1.4.3. */
const TEXT = 4.5;
/** For visitors who ask for more contrast. */
const MORE = 7;

/** Something that is painted, its minimum contrast, and in at least how many elements a visit shows it. */
interface Part extends ContrastQuery {
  minimum: number;
  count: number;
}

const FIELD = ".waitlist input";
/** The field's border. A disabled field is as faint as browsers draw it. */
const BORDER = {
  selector: `${FIELD}:enabled`,
  property: "border-top-color",
  on: "parent",
} as const;

const textParts = (minimum: number): Part[] => [
  { minimum, count: 100 },
  { selector: FIELD, minimum, count: 1 },
  { selector: FIELD, pseudo: "::placeholder", minimum, count: 1 },
  // The symbols before the terminal's lines.
  { selector: "li[data-state=shown]", property: "color", pseudo: "::before", minimum, count: 9 },
];

/** Edges of controls, and of what surrounds an outcome. */
const edgeParts = (outcome: number): Part[] => [
  { ...BORDER, minimum: outcome, count: 1 },
  { selector: ".toast", property: "border-top-color", on: "parent", minimum: outcome, count: 1 },
  { selector: ".toast-close svg", property: "stroke", minimum: EDGE, count: 1 },
];

const FILLED_PARTS: Part[] = [
  {
    selector: ".button:not(.quiet)",
    property: "background-color",
    on: "parent",
    minimum: EDGE,
    count: 4,
  },
  {
    selector: ".button.quiet",
    property: "border-top-color",
    on: "parent",
    minimum: EDGE,
    count: 1,
  },
  { selector: ".contact-links a", property: "text-decoration-color", minimum: EDGE, count: 2 },
];

/** Parts that have only lines in forced colours. The washes of drawings, areas of colour, are decoration. */
const FORCED_PARTS: Part[] = [
  { selector: ".button", property: "border-top-color", on: "parent", minimum: EDGE, count: 5 },
  // Behind text, browsers paint the background of the page.
  { selector: ".toast", property: "color", pseudo: "::before", minimum: MORE, count: 1 },
  {
    selector: ".scene :is(line, path, rect, circle):not(.wash, .caret), .network :is(path, circle)",
    property: "stroke",
    minimum: EDGE,
    count: 30,
  },
  { selector: ".mark path", property: "stroke", minimum: EDGE, count: 3 },
];

const MODES = {
  normal: { options: {}, parts: [...textParts(TEXT), ...edgeParts(EDGE), ...FILLED_PARTS] },
  forced: {
    options: { forcedColors: "active" },
    parts: [...textParts(TEXT), ...edgeParts(EDGE), ...FORCED_PARTS],
  },
  more: {
    options: { contrast: "more" },
    parts: [...textParts(MORE), ...edgeParts(MORE), ...FILLED_PARTS],
  },
} as const;

/** Measures what is too low, and keeps in `counts` how many elements each part has had. */
async function lowParts(page: Page, parts: Part[], counts: number[]): Promise<string[]> {
  const low: string[] = [];
  for (const [index, part] of parts.entries()) {
    const contrasts = await measureContrast(page, part);
    counts[index] = Math.max(counts[index] ?? 0, contrasts.length);
    low.push(...tooLow(part.minimum, contrasts));
  }
  return low;
}

for (const [mode, { options, parts }] of Object.entries(MODES)) {
  for (const colorScheme of ["light", "dark"] as const) {
    test.describe(`contrast, ${mode}, ${colorScheme}`, { tag: "@once" }, () => {
      test.use({ colorScheme, contextOptions: options });

      test(`is enough in every state (${mode}, ${colorScheme})`, async ({ landing, page }) => {
        const counts: number[] = [];
        const expectContrast = async (state: string) => {
          await landing.finishAnimations();
          expect.soft(await lowParts(page, [...parts], counts), state).toEqual([]);
        };
        const border = async () => (await measureContrast(page, BORDER))[0]?.ratio ?? 0;
        await page.clock.install();
        const release = await landing.holdRequests("**/api/waitlist");
        await landing.open();
        // Contrast is lower on the wash of a drawing than on the page, so all text of the drawing is on it.
        if (mode === "normal")
          await addStyle(page, ".scene:has(.wash) { background: var(--wash); }");
        if (mode === "forced") await addStyle(page, ".mark { background: Canvas; }");
        await expectContrast("with dimmed lines");
        await landing.playTerminal();
        await expectContrast("with all lines");
        await landing.scrollToForm();
        const right = await border();
        await landing.submit.click();
        await landing.keepToastOpen();
        await expectContrast("with an error");
        if (mode === "more") expect(await border(), "wrong field").toBeGreaterThanOrEqual(right);
        await landing.signUp(uniqueEmail());
        await expect(landing.submit).toBeDisabled();
        await expectContrast("while submitting");
        release();
        await expect(landing.toasts).toContainText("Success!");
        await landing.keepToastOpen();
        await landing.openTooltip();
        await expectContrast("with a success and a tooltip");
        for (const [index, part] of parts.entries())
          expect(counts[index], JSON.stringify(part)).toBeGreaterThanOrEqual(part.count);
      });

      test(`the focus outline of every control is visible (${mode}, ${colorScheme})`, async ({
        landing,
        page,
      }) => {
        await landing.openHydrated();
        for (let control = 0; control < (await landing.controls.count()); control += 1) {
          await page.keyboard.press("Tab");
          const focused = page.locator(":focus-visible");
          await expect(focused).toHaveCSS("outline-style", "solid");
          await expect(focused).toHaveCSS("outline-width", "2px");
          // The header's links have their outline inside, all other controls around them.
          const isInside = await focused.evaluate(
            (node) => Number.parseFloat(getComputedStyle(node).outlineOffset) < 0,
          );
          const outline = await measureContrast(page, {
            selector: ":focus-visible",
            property: "outline-color",
            on: isInside ? "element" : "parent",
          });
          expect(outline).toHaveLength(1);
          expect(tooLow(EDGE, outline)).toEqual([]);
        }
      });
    });
  }
}

test.describe("lines", { tag: "@once" }, () => {
  test("links have a thin line in the colour of controls", async ({ landing, page }) => {
    await landing.openForm();
    const link = page.getByRole("link", { name: "Email us" });
    await expect(link).toHaveCSS("text-decoration-thickness", "1px");
    const colour = await link.evaluate((node) => getComputedStyle(node).color);
    await expect(link).not.toHaveCSS("text-decoration-color", colour);
  });

  test("more contrast strengthens the hairlines", async ({ landing, page }) => {
    await landing.open();
    const colour = await landing.footer.evaluate((it) => getComputedStyle(it).borderTopColor);
    await page.emulateMedia({ contrast: "more" });
    await expect(landing.footer).not.toHaveCSS("border-top-color", colour);
  });

  test("forced colours keep the borders of controls and toasts", async ({ landing, page }) => {
    await page.emulateMedia({ forcedColors: "active" });
    await landing.openFormWithError();
    for (const [selector, width] of [
      [".button", "1px"],
      [FIELD, "1px"],
      [".toast", "2px"],
    ] as const) {
      for (const part of await page.locator(selector).filter({ visible: true }).all())
        await expect(part).toHaveCSS("border-top", new RegExp(`^${width} solid`));
    }
    await expect(landing.email).toHaveCSS("border-bottom-width", "2px");
  });
});
