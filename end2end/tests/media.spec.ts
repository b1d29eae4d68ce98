/** The page in the visitor's own colours, with more contrast, and in print. */
import { measureContrast, measureContrastWithWhite, tooLow } from "../support/contrast.ts";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { confirmingTest } from "../support/mail-server.ts";

/** The lines of the drawings. Their washes, the areas of colour behind them, are decoration. */
const DRAWN_LINES =
  ".scene :is(line, path, rect, circle):not(.wash, .caret), .network :is(path, circle)";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`forced colours in the ${colorScheme} scheme`, { tag: "@once" }, () => {
    test.use({ colorScheme, contextOptions: { forcedColors: "active" } });

    test(`controls and toasts keep their borders in forced colours in the ${colorScheme} scheme`, async ({
      landing,
      page,
    }) => {
      await landing.openFormWithError();
      for (const selector of [".button", ".waitlist input", ".toast"]) {
        const borders = await page.locator(`${selector}:visible`).evaluateAll((nodes) =>
          nodes.map((node) => {
            const { borderTopStyle, borderTopWidth } = getComputedStyle(node);
            return `${borderTopWidth} ${borderTopStyle}`;
          }),
        );
        const width = selector === ".toast" ? "2px" : "1px";
        expect(new Set(borders), selector).toEqual(new Set([`${width} solid`]));
        const colours = { selector, property: "border-top-color", on: "parent" } as const;
        expect(tooLow(3, await measureContrast(page, colours))).toEqual([]);
      }
      // Behind text, browsers paint the background of the page.
      const mark = { selector: ".toast", property: "color", pseudo: "::before" };
      expect(tooLow(7, await measureContrast(page, mark))).toEqual([]);
    });

    test(`all text is legible in forced colours in the ${colorScheme} scheme, also the terminal`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      await landing.waitForIslands("demo-terminal");
      await expect(landing.shownLines).toHaveCount(0);
      expect(tooLow(4.5, await measureContrast(page))).toEqual([]);
      await landing.playTerminal();
      expect(tooLow(4.5, await measureContrast(page))).toEqual([]);
    });

    test(`the drawings are visible in forced colours in the ${colorScheme} scheme`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      const lines = await measureContrast(page, { selector: DRAWN_LINES, property: "stroke" });
      expect(lines.length).toBeGreaterThan(30);
      expect(tooLow(3, lines)).toEqual([]);
    });

    test(`the logo is visible on its square in forced colours in the ${colorScheme} scheme`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      // The square is an SVG shape. Make it a background, which the measurement takes into account.
      await page.locator(".mark").evaluateAll((logos) => {
        for (const logo of logos as SVGElement[]) {
          const square = logo.querySelector("rect");
          if (square) logo.style.backgroundColor = getComputedStyle(square).fill;
        }
      });
      const lines = await measureContrast(page, { selector: ".mark path", property: "stroke" });
      expect(lines).toHaveLength(3);
      expect(tooLow(3, lines)).toEqual([]);
    });

    test(`every control shows its focus in forced colours in the ${colorScheme} scheme`, async ({
      landing,
      page,
    }) => {
      await landing.openHydrated();
      for (let control = 0; control < (await landing.controls.count()); control += 1) {
        await page.keyboard.press("Tab");
        const focused = page.locator(":focus-visible");
        await expect(focused).toHaveCSS("outline-style", "solid");
        await expect(focused).toHaveCSS("outline-width", "2px");
        const outline = await measureContrast(page, {
          selector: ":focus-visible",
          property: "outline-color",
          on: "parent",
        });
        expect(tooLow(3, outline)).toEqual([]);
      }
    });
  });

  test.describe(`print in the ${colorScheme} scheme`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`the page prints black on white in the ${colorScheme} scheme`, async ({
      landing,
      page,
    }) => {
      await page.clock.install();
      await landing.open();
      await landing.playTerminal();
      await page.emulateMedia({ media: "print" });
      const texts = await measureContrastWithWhite(page);
      expect(texts.length).toBeGreaterThan(80);
      expect(tooLow(7, texts)).toEqual([]);
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

    test(`the drawings print legibly in the ${colorScheme} scheme`, async ({ landing, page }) => {
      await landing.open();
      await page.emulateMedia({ media: "print" });
      const selector = ".scene :is(path, rect, circle):not(.wash, .caret)";
      const lines = await measureContrastWithWhite(page, { selector, property: "stroke" });
      expect(lines.length).toBeGreaterThan(20);
      expect(tooLow(3, lines)).toEqual([]);
    });

    test(`all lines of the terminal print in the ${colorScheme} scheme; the header, toasts and buttons do not`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.submit.click();
      await landing.keepToastOpen();
      await page.emulateMedia({ media: "print" });
      await expect(landing.header).toBeHidden();
      await expect(landing.toasts).toBeHidden();
      for (const button of await page.locator(".button").all()) await expect(button).toBeHidden();
      await expect(landing.lines).toHaveCount(9);
      for (const line of await landing.lines.all()) {
        await expect(line).toBeVisible();
        await expect(line.locator("span")).toHaveCSS("opacity", "1");
      }
    });

    test(`the page prints as a PDF in the ${colorScheme} scheme`, async ({ landing, page }) => {
      await landing.open();
      const pdf = await page.pdf({ format: "A4" });
      expect(pdf.subarray(0, 5).toString()).toBe("%PDF-");
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.length).toBeLessThan(10);
    });
  });
}

test(
  "every line of the terminal prints black, and the header does not print",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    await page.emulateMedia({ media: "print" });
    await expect(landing.header).toBeHidden();
    const colours = await landing.lines.evaluateAll((lines) =>
      lines.map((line) => getComputedStyle(line).color),
    );
    expect(new Set(colours)).toEqual(new Set(["rgb(0, 0, 0)"]));
  },
);

test("each contact link prints its address once", { tag: "@once" }, async ({ landing, page }) => {
  await landing.openForm();
  await landing.waitForIslands("contact-links");
  await page.emulateMedia({ media: "print" });
  const printed = await page.locator(".contact-links li").evaluateAll((items) =>
    items.map((item) => {
      const link = item.querySelector("a");
      const content = link ? getComputedStyle(link, "::after").content : "";
      return `${(item as HTMLElement).innerText} ${content}`.replaceAll(/\s+/g, " ");
    }),
  );
  expect(printed).toEqual([
    "Email us hello@steward.example none",
    'Follow the launch ": https://social.example/@steward"',
  ]);
});

confirmingTest(
  "no field prints, also not the one for a code",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.openForm();
    await landing.signUp(uniqueEmail());
    await expect(page.getByRole("button", { name: "Confirm" })).toBeVisible();
    await page.emulateMedia({ media: "print" });
    await expect(page.locator("input:visible, button:visible, label:visible")).toHaveCount(0);
  },
);

test("more contrast strengthens the hairlines", { tag: "@once" }, async ({ landing, page }) => {
  await landing.open();
  const lineColour = () =>
    page.locator(".footer").evaluate((footer) => getComputedStyle(footer).borderTopColor);
  const normal = await lineColour();
  await page.emulateMedia({ contrast: "more" });
  expect(await lineColour()).not.toBe(normal);
});
