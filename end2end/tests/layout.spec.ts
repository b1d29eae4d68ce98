/** The layout fits every width, zoom and text size: nothing overflows, and no text is cut off. */
import { addStyle, expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox, hiddenWidth } from "../support/landing-page.ts";
import { findMisplacedText, longestLines, TEXT_SPACING } from "../support/text-layout.ts";

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
    for (const [spacing, css] of [
      ["its own", ""],
      ["more", TEXT_SPACING],
    ] as const) {
      test(`${name} fits every width, with ${spacing} space in its text`, async ({
        landing,
        page,
      }) => {
        await page.goto(path);
        // Now the fonts are cached: on a first visit a late font is replaced by a fallback.
        await page.reload();
        await addStyle(page, css);
        for (const width of WIDTHS) {
          await page.setViewportSize({ width, height: 800 });
          expect.soft(await landing.horizontalOverflow(), `${width} px`).toBe(0);
          expect.soft(await findMisplacedText(page), `${width} px`).toEqual([]);
          for (const link of await landing.header.getByRole("link").all()) {
            await expect.soft(link, `${width} px`).toBeInViewport({ ratio: 1 });
          }
        }
      });
    }
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

test.describe("parts", { tag: "@once" }, () => {
  for (const width of [320, 390, 640]) {
    test(`at ${width} px one row of the header stays, and the links scroll away`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      await landing.openHydrated();
      const fixed = landing.bar.getByRole("link");
      for (const link of await landing.header.getByRole("link").all()) {
        await expect(link).toBeInViewport({ ratio: 1 });
      }
      await landing.nav.getByRole("link", { name: "Contact" }).click();
      const bar = await boundingBox(landing.bar);
      expect(bar.height).toBeLessThanOrEqual(60);
      const top = async () => (await boundingBox(landing.section("contact"))).y;
      await expect.poll(top).toBeLessThan(bar.height + 4);
      await expect(fixed).toHaveText(["Steward", "Get Started"]);
      for (const link of await fixed.all()) await expect(link).toBeInViewport({ ratio: 1 });
      for (const link of await landing.nav.getByRole("link").all()) {
        await expect(link).not.toBeInViewport();
      }
    });
  }

  test("headings grow to at most twice their size, so that zooming enlarges them", async ({
    landing,
    page,
  }) => {
    await landing.open();
    for (const heading of ["h1", "h2", "#contact h2"]) {
      const sizes: number[] = [];
      for (const width of WIDTHS.filter((width) => width <= 1920)) {
        await page.setViewportSize({ width, height: 800 });
        const { fontSize } = await page
          .locator(heading)
          .first()
          .evaluate((node) => ({ fontSize: getComputedStyle(node).fontSize }));
        sizes.push(Math.round(Number.parseFloat(fontSize)));
      }
      expect(Math.max(...sizes), heading).toBeLessThanOrEqual(2 * Math.min(...sizes));
    }
  });

  test("focus changes no shape", async ({ landing, page }) => {
    await landing.openFormWithError();
    const changes = await page
      .locator("a[href], button, input, section[id], main, .toast")
      .evaluateAll((nodes) =>
        (nodes as HTMLElement[]).flatMap((node) => {
          const shape = () => JSON.stringify([getComputedStyle(node).borderRadius, node.offsetTop]);
          (document.activeElement as HTMLElement | null)?.blur();
          const before = shape();
          node.focus({ preventScroll: true, focusVisible: true } as FocusOptions);
          return shape() === before ? [] : [node.outerHTML.slice(0, 60)];
        }),
      );
    expect(changes).toEqual([]);
  });

  for (const width of [390, 768, 1280]) {
    test(`at ${width} px the text and the picture of every card have the same gap`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      await landing.open();
      const gaps = await page.locator(".card").evaluateAll((cards) =>
        cards.flatMap((card) => {
          const [text, picture] = [...card.children].map((it) => it.getBoundingClientRect());
          const isBelow = text && picture && picture.top >= text.bottom;
          return isBelow ? [Math.round(picture.top - text.bottom)] : [];
        }),
      );
      expect(gaps.length).toBeGreaterThan(2);
      expect(new Set(gaps).size, `${gaps}`).toBe(1);
    });
  }
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
  for (const [width, height] of [
    [390, 500],
    [390, 800],
    [1280, 800],
  ] as const) {
    for (const [setting, css] of [
      ["the page's font size", "html { font-size: 200%; }"],
      ["the browser's font size", ""],
    ] as const) {
      test(`with ${setting} doubled the page and a toast fit and all links work at ${width} × ${height} px`, async ({
        landing,
        page,
      }) => {
        await page.setViewportSize({ width, height });
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
        if (!css) {
          expect((await boundingBox(landing.bar)).height).toBeLessThanOrEqual(100);
          for (const link of await landing.header.getByRole("link").all()) {
            await expect(link).toBeInViewport({ ratio: 1 });
          }
        }
        await expect(landing.header.getByRole("link", { name: "Get Started" })).toBeVisible();
        for (const control of await page.locator("header, main").locator(landing.controls).all()) {
          await control.click({ trial: true, timeout: 5_000 });
        }
        await landing.scrollToForm();
        await landing.submit.click();
        await landing.keepToastOpen();
        await landing.finishAnimations();
        await expect(landing.toasts).toBeInViewport({ ratio: 1 });
        // A finger can scroll the rest of a long text into view. The button stays.
        await expect(landing.toasts).toHaveCSS("touch-action", "pan-y");
        await landing.toasts.evaluate((toast) => toast.scrollTo(0, toast.scrollHeight));
        await expect(landing.toasts.getByRole("button")).toBeInViewport({ ratio: 1 });
        await landing.scrollToTop();
        for (const link of await landing.header.locator("a:visible").all())
          await link.click({ trial: true, timeout: 5_000 });
      });
    }
  }

  test("with doubled text the icon of a toast doubles too", async ({ landing, page }) => {
    await landing.openFormWithError();
    const icon = landing.toasts.locator(".toast-close svg");
    const before = (await boundingBox(icon)).width;
    await addStyle(page, "html { font-size: 200%; }");
    expect((await boundingBox(icon)).width).toBeCloseTo(2 * before, 0);
  });
});
