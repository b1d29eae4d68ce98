/** The layout fits every width, zoom and text size: nothing overflows, and no text is cut off. */
import { addStyle, expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox, hiddenWidth } from "../support/landing-page.ts";
import { findMisplacedText, longestLines } from "../support/text-layout.ts";

const WIDTHS = [
  320, 360, 390, 480, 600, 639, 640, 767, 768, 900, 1023, 1024, 1280, 1440, 1920, 2560,
];
/** In longer lines readers lose the start of the next one. */
const MAX_CHARACTERS_PER_LINE = 75;
const RUNNING_TEXT = "main :is(p, figcaption, .hero-steps span):not(.terminal *)";

test.describe("widths", { tag: "@once" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  for (const [name, path] of [
    ["the landing page", "/"],
    ["the not-found page", "/nothing"],
  ] as const) {
    test(`${name} neither overflows nor cuts off text at any width`, async ({ landing, page }) => {
      await page.goto(path);
      // Now the fonts are cached: on a first visit a late font is replaced by a fallback.
      await page.reload();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        expect.soft(await landing.horizontalOverflow(), `${width} px`).toBe(0);
        expect.soft(await findMisplacedText(page), `${width} px`).toEqual([]);
      }
    });

    test(`the headings of ${name} are balanced`, async ({ page }) => {
      await page.goto(path);
      const headings = page.getByRole("main").getByRole("heading");
      await expect(headings).not.toHaveCount(0);
      for (const heading of await headings.all()) {
        await expect(heading).toHaveCSS("text-wrap-style", "balance");
      }
    });
  }

  test(`running text has at most ${MAX_CHARACTERS_PER_LINE} characters per line`, async ({
    landing,
    page,
  }) => {
    await landing.open();
    // Now the fonts are cached: on a first visit a late font is replaced by a fallback.
    await page.reload();
    for (const width of WIDTHS.filter((width) => width >= 480)) {
      await page.setViewportSize({ width, height: 800 });
      const lines = await longestLines(page, RUNNING_TEXT);
      expect(lines.length).toBeGreaterThan(25);
      const tooLong = lines.filter(({ characters }) => characters > MAX_CHARACTERS_PER_LINE);
      expect.soft(tooLong, `${width} px`).toEqual([]);
    }
  });

  test("the longest toast fits at every width", async ({ landing, page }) => {
    await landing.openForm();
    await landing.signUp(uniqueEmail());
    await expect(landing.toasts).toContainText("Success!");
    await landing.keepToastOpen();
    await landing.finishAnimations();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await expect(landing.toasts).toBeInViewport({ ratio: 1 });
      expect(await hiddenWidth(landing.toasts), `${width} px`).toBe(0);
    }
    await expect(landing.toasts).toHaveCount(1);
  });
});

test.describe("wide windows", { tag: "@once" }, () => {
  test("each sentence of the title is one line on wide windows", async ({ landing, page }) => {
    await landing.open();
    for (const width of [768, 1024, 1280, 1440, 1600, 1920, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      const lines = await page.getByRole("heading", { level: 1 }).evaluate((title) =>
        [...title.querySelectorAll("span")].map((sentence) => {
          const range = document.createRange();
          for (const text of sentence.childNodes) range.selectNode(text);
          return range.getClientRects().length;
        }),
      );
      expect(lines, `${width} px`).toEqual([1, 1]);
    }
  });

  test("the comparison table grows with wide windows, and nothing overflows", async ({
    landing,
    page,
  }) => {
    await landing.open();
    for (const width of [1920, 2560, 3840]) {
      await page.setViewportSize({ width, height: 1080 });
      const table = await boundingBox(page.locator(".comparison-table"));
      expect(await landing.horizontalOverflow()).toBe(0);
      expect(table.width / width, `${width} px`).toBeGreaterThan(0.62);
    }
  });
});

test.describe("long words", { tag: "@once" }, () => {
  test("a very long word widens neither the page nor a toast", async ({ landing, page }) => {
    await page.setViewportSize({ width: 320, height: 800 });
    await landing.openForm();
    await landing.submit.click();
    await landing.keepToastOpen();
    await page.evaluate((word) => {
      for (const node of document.querySelectorAll(
        "h1 span, h2, h3, p, .toast-text, .toast-title, label, b",
      )) {
        if (node.childElementCount === 0) node.textContent = word;
      }
    }, "Donaudampfschifffahrtselektrizitätenhaupt");
    expect(await landing.horizontalOverflow()).toBe(0);
    expect(await hiddenWidth(landing.toasts)).toBeLessThanOrEqual(0);
  });

  test("a longer label fits its button and the window", async ({ landing, page }) => {
    await landing.open();
    const buttons = page.locator(".nav-start, .hero .button");
    await buttons.evaluateAll((buttons) => {
      for (const button of buttons) button.textContent = "Jetzt ganz kostenlos loslegen!";
    });
    for (const width of [320, 390, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await landing.horizontalOverflow(), `${width} px`).toBe(0);
      const brand = await boundingBox(landing.header.getByRole("link", { name: "Steward" }));
      const start = await boundingBox(page.locator(".nav-start").filter({ visible: true }));
      expect(brand.x + brand.width, `${width} px`).toBeLessThan(start.x);
      expect(start.y, `${width} px`).toBeGreaterThan(0);
      for (const button of await buttons.filter({ visible: true }).all()) {
        const hidden = await button.evaluate((node) => [
          node.scrollWidth - node.clientWidth,
          node.scrollHeight - node.clientHeight,
        ]);
        expect(hidden, `${width} px`).toEqual([0, 0]);
      }
    }
  });
});

for (const [zoom, viewport, deviceScaleFactor] of [
  ["200 %", { width: 640, height: 400 }, 2],
  ["400 %", { width: 320, height: 256 }, 4],
] as const) {
  test.describe(`zoom of ${zoom}`, { tag: "@once" }, () => {
    test.use({ viewport, deviceScaleFactor });

    test(`at ${zoom} no text is cut off, the page does not scroll sideways, and the title starts in view`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      expect(await landing.horizontalOverflow()).toBe(0);
      expect(await findMisplacedText(page)).toEqual([]);
      const firstLineBottom = await page
        .getByRole("heading", { level: 1 })
        .locator("span")
        .first()
        .evaluate((span) => {
          const range = document.createRange();
          range.selectNodeContents(span);
          return range.getClientRects()[0]?.bottom;
        });
      expect(firstLineBottom).toBeLessThanOrEqual(viewport.height);
    });

    test(`at ${zoom} nothing covers a control`, async ({ landing, page }) => {
      await landing.openForm();
      const skip = page.getByRole("link", { name: "Skip to content" });
      for (const control of await landing.controls.all()) {
        if (await control.evaluate((node) => node.matches(".skip"))) continue;
        await control.click({ trial: true, timeout: 5_000 });
      }
      await skip.focus();
      await skip.click({ trial: true, timeout: 5_000 });
      await landing.submit.click();
      await expect(landing.toasts).toBeInViewport({ ratio: 1 });
      await landing.toasts.getByRole("button").click({ trial: true, timeout: 5_000 });
    });
  });
}

test.describe("large text", { tag: "@once" }, () => {
  for (const width of [390, 1280]) {
    for (const [setting, css] of [
      ["the page's font size", "html { font-size: 200%; }"],
      ["the browser's font size", ""],
    ] as const) {
      test(`with ${setting} doubled the page fits and all links work at ${width} px`, async ({
        landing,
        page,
      }) => {
        await page.setViewportSize({ width, height: 800 });
        if (!css) {
          const devtools = await page.context().newCDPSession(page);
          const fontSizes = { standard: 32, fixed: 26 };
          await devtools.send("Page.setFontSizes", { fontSizes });
        }
        await landing.open();
        if (css) await addStyle(page, css);
        await expect(page.locator("html")).toHaveCSS("font-size", "32px");
        expect(await landing.horizontalOverflow()).toBe(0);
        await expect(landing.nav.getByRole("link")).toHaveCount(4);
        for (const control of await page.locator("header, main").locator(landing.controls).all()) {
          await control.click({ trial: true, timeout: 5_000 });
        }
      });
    }
  }
});
