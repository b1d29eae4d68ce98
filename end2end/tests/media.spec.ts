/** The page in the reader's own colours, and on paper. */
import { below, type Contrast, contrasts, contrastsWithWhite } from "../colours.ts";
import { expect, test } from "../fixtures.ts";

/** What is drawn by its lines; the washes behind them carry nothing. */
const LINES =
  ".scene :is(line, path, rect, circle):not(.wash, .night, .caret), .network :is(path, circle)";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`forced colours, ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme, contextOptions: { forcedColors: "active" } });

    test(`controls and toasts keep their borders in forced colours, ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openRefusal();
      for (const selector of [".button", ".waitlist input", ".toast"]) {
        const borders = await page.locator(`${selector}:visible`).evaluateAll((nodes) =>
          nodes.map((node) => {
            const { borderTopStyle, borderTopWidth } = getComputedStyle(node);
            return `${borderTopWidth} ${borderTopStyle}`;
          }),
        );
        const width = selector === ".toast" ? "2px" : "1px";
        expect(new Set(borders), selector).toEqual(new Set([`${width} solid`]));
        const property = "border-top-color";
        const on = "surroundings";
        expect(below(3, await contrasts(page, { selector, property, on }))).toEqual([]);
      }
    });

    test(`every text is legible in forced colours, ${colorScheme}, the terminal too`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      await landing.ready("demo-terminal");
      await expect(landing.shownLines).toHaveCount(0);
      expect(below(4.5, await contrasts(page))).toEqual([]);
      await landing.playTerminal();
      expect(below(4.5, await contrasts(page))).toEqual([]);
    });

    test(`the drawings stand out from the page in forced colours, ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      const drawn = await contrasts(page, { selector: LINES, property: "stroke" });
      expect(drawn.length).toBeGreaterThan(30);
      expect(below(3, drawn)).toEqual([]);
    });

    test(`the mark stands out from its square in forced colours, ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      // Its square is a shape, not a background; here it becomes one.
      await page.locator(".mark").evaluateAll((marks) => {
        for (const mark of marks as SVGElement[]) {
          const square = mark.querySelector("rect");
          if (square) mark.style.backgroundColor = getComputedStyle(square).fill;
        }
      });
      const marks = await contrasts(page, { selector: ".mark path", property: "stroke" });
      expect(marks).toHaveLength(3);
      expect(below(3, marks)).toEqual([]);
    });

    test(`the focus is seen on every control in forced colours, ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openAlive();
      for (let control = 0; control < (await landing.controls.count()); control += 1) {
        await page.keyboard.press("Tab");
        const focused = page.locator(":focus-visible");
        await expect(focused).toHaveCSS("outline-style", "solid");
        await expect(focused).toHaveCSS("outline-width", "2px");
        const ring = { selector: ":focus-visible", property: "outline-color" };
        expect(below(3, await contrasts(page, { ...ring, on: "surroundings" }))).toEqual([]);
      }
    });
  });

  test.describe(`on paper, from ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`the page prints as ink on white, from ${colorScheme}`, async ({ landing, page }) => {
      await page.clock.install();
      await landing.open();
      await landing.playTerminal();
      await page.emulateMedia({ media: "print" });
      const texts = await contrastsWithWhite(page);
      expect(texts.length).toBeGreaterThan(80);
      const isDrawn = ({ what }: Contrast) => what.startsWith("text.");
      expect(
        below(
          7,
          texts.filter((text) => !isDrawn(text)),
        ),
      ).toEqual([]);
      expect(below(4.5, texts.filter(isDrawn))).toEqual([]);
      const backgrounds = await page
        .locator("html, body, body *")
        .evaluateAll((nodes) =>
          nodes
            .filter((node) => node.checkVisibility() && node.closest("svg") === null)
            .map((node) => getComputedStyle(node).backgroundColor),
        );
      const white = new Set(["rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"]);
      expect([...new Set(backgrounds)].filter((background) => !white.has(background))).toEqual([]);
    });

    test(`drawings are seen on paper, from ${colorScheme}`, async ({ landing, page }) => {
      await landing.open();
      await page.emulateMedia({ media: "print" });
      const selector = ".scene :is(path, rect, circle):not(.wash, .night, .caret)";
      const drawn = await contrastsWithWhite(page, { selector, property: "stroke" });
      expect(drawn.length).toBeGreaterThan(30);
      expect(below(3, drawn)).toEqual([]);
    });

    test(`nothing that floats or is clicked prints, and all lines do, from ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.submit.click();
      await landing.keepToast();
      await page.emulateMedia({ media: "print" });
      await expect(landing.bar).toBeHidden();
      await expect(landing.toasts).toBeHidden();
      for (const button of await page.locator(".button").all()) await expect(button).toBeHidden();
      await expect(landing.lines).toHaveCount(9);
      for (const line of await landing.lines.all()) {
        await expect(line).toBeVisible();
        await expect(line.locator("span")).toHaveCSS("opacity", "1");
      }
    });

    test(`the page makes a PDF, from ${colorScheme}`, async ({ landing, page }) => {
      await landing.open();
      const pdf = await page.pdf({ format: "A4" });
      expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.length).toBeLessThan(10);
    });
  });
}
