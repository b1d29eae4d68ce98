/** The page holds at every width, zoomed, with large letters, under a finger and beside a notch. */
import { addStyle, expect, freshAddress, test } from "../fixtures.ts";
import { longestLines, misplacedTexts } from "../measure.ts";

const WIDTHS = [
  320, 360, 390, 480, 600, 639, 640, 767, 768, 900, 1023, 1024, 1280, 1440, 1920, 2560,
];
/** Characters that are still read without losing the next line. */
const MEASURE = 75;
const RUNNING_TEXT = "main :is(p, figcaption, .hero-steps span):not(.terminal *)";
/** The least side of what a finger can hit, in CSS pixels. */
const TARGET = 44;

test.describe("widths", { tag: "@once" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  for (const [name, path] of [
    ["the landing page", "/"],
    ["the not-found page", "/nothing"],
  ] as const) {
    test(`${name} neither scrolls sideways nor cuts off a text at any width`, async ({
      landing,
      page,
    }) => {
      await page.goto(path);
      await page.reload();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 800 });
        expect.soft(await landing.overflow(), `${width} px`).toBe(0);
        expect.soft(await misplacedTexts(page), `${width} px`).toEqual([]);
      }
    });

    test(`the headings on ${name} are balanced`, async ({ page }) => {
      await page.goto(path);
      const headings = page.getByRole("main").getByRole("heading");
      await expect(headings).not.toHaveCount(0);
      for (const heading of await headings.all()) {
        await expect(heading).toHaveCSS("text-wrap-style", "balance");
      }
    });
  }

  test(`running text has at most ${MEASURE} characters a line`, async ({ landing, page }) => {
    await landing.open();
    await page.reload();
    for (const width of WIDTHS.filter((width) => width >= 480)) {
      await page.setViewportSize({ width, height: 800 });
      const lines = await longestLines(page, RUNNING_TEXT);
      expect(lines.length).toBeGreaterThan(25);
      const tooLong = lines.filter(({ characters }) => characters > MEASURE);
      expect.soft(tooLong, `${width} px`).toEqual([]);
    }
  });

  test("the longest toast is whole at every width", async ({ landing, page }) => {
    await landing.openForm();
    await landing.join(freshAddress());
    await expect(landing.toasts).toContainText("Success!");
    await landing.keepToast();
    await landing.stopMoving();
    for (const width of WIDTHS) {
      await page.setViewportSize({ width, height: 800 });
      await expect(landing.toasts).toBeInViewport({ ratio: 1 });
      const over = await landing.toasts.evaluate((toast) => toast.scrollWidth - toast.clientWidth);
      expect(over, `${width} px`).toBe(0);
    }
    await expect(landing.toasts).toHaveCount(1);
  });
});

for (const [zoom, viewport, deviceScaleFactor] of [
  ["200 %", { width: 640, height: 400 }, 2],
  ["400 %", { width: 320, height: 256 }, 4],
] as const) {
  test.describe(`zoom of ${zoom}`, { tag: "@once" }, () => {
    test.use({ viewport, deviceScaleFactor });

    test(`at ${zoom} the page flows into one column that needs no scrolling sideways`, async ({
      landing,
      page,
    }) => {
      await landing.open();
      expect(await landing.overflow()).toBe(0);
      expect(await misplacedTexts(page)).toEqual([]);
      const firstLine = await page
        .getByRole("heading", { level: 1 })
        .locator("span")
        .first()
        .evaluate((span) => {
          const range = document.createRange();
          range.selectNodeContents(span);
          return range.getClientRects()[0]?.bottom;
        });
      expect(firstLine).toBeLessThanOrEqual(viewport.height);
    });

    test(`at ${zoom} every control can be reached and nothing covers it`, async ({
      landing,
      page,
    }) => {
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

test.describe("large letters", { tag: "@once" }, () => {
  for (const width of [390, 1280]) {
    for (const [what, enlarge] of [
      ["the page's own size doubled", "html { font-size: 200%; }"],
      ["the browser's size doubled", ""],
    ] as const) {
      test(`with ${what} the page holds, and all links are reached, at ${width} px`, async ({
        landing,
        page,
      }) => {
        await page.setViewportSize({ width, height: 800 });
        if (!enlarge) {
          const devtools = await page.context().newCDPSession(page);
          const fontSizes = { standard: 32, fixed: 26 };
          await devtools.send("Page.setFontSizes", { fontSizes });
        }
        await landing.open();
        if (enlarge) await addStyle(page, enlarge);
        await expect(page.locator("html")).toHaveCSS("font-size", "32px");
        expect(await landing.overflow()).toBe(0);
        const links = landing.nav.getByRole("link");
        await expect(links).toHaveCount(4);
        for (const control of await page.locator("header, main").locator(landing.controls).all()) {
          await control.click({ trial: true, timeout: 5_000 });
        }
      });
    }
  }
});

test.describe("fingers", { tag: "@once" }, () => {
  for (const width of [320, 390]) {
    test.describe(`${width} px`, () => {
      test.use({ viewport: { width, height: 800 }, hasTouch: true, isMobile: true });

      test(`every link, button and field can be hit with a finger at ${width} px`, async ({
        landing,
        page,
      }) => {
        await landing.openRefusal();
        await page.getByRole("link", { name: "Skip to content" }).focus();
        const targets = await landing.controls.evaluateAll((controls) =>
          controls.map((control) => {
            const { width, height } = control.getBoundingClientRect();
            return { name: control.textContent || control.outerHTML, width, height };
          }),
        );
        expect(targets).toHaveLength(15);
        const small = targets.filter(({ width, height }) => Math.min(width, height) < TARGET);
        expect(small).toEqual([]);
      });
    });
  }
});

test.describe("a notch", { tag: "@once" }, () => {
  const LEFT = 44;
  const RIGHT = 44;
  const BOTTOM = 34;
  test.use({ viewport: { width: 844, height: 390 } });

  test("beside a notch and above a home bar every text stays in the safe area", async ({
    landing,
    page,
  }) => {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setSafeAreaInsetsOverride", {
      insets: { left: LEFT, right: RIGHT, bottom: BOTTOM, top: 0 },
    });
    await landing.openForm();
    await landing.submit.click();
    await landing.keepToast();
    await landing.stopMoving();
    const outside = await page.evaluate(
      ([left, right]) => {
        const range = document.createRange();
        return [...document.querySelectorAll("body *")]
          .filter((node) => node.checkVisibility() && node.tagName !== "svg")
          .filter((node) => getComputedStyle(node).clipPath === "none")
          .filter((node) => getComputedStyle(node).clip === "auto")
          .filter((node) => [...node.childNodes].some(({ nodeType }) => nodeType === 3))
          .filter((node) => {
            range.selectNodeContents(node);
            const box = range.getBoundingClientRect();
            return box.width > 0 && (box.left < left || box.right > innerWidth - right);
          })
          .map((node) => node.textContent);
      },
      [LEFT, RIGHT] as const,
    );
    expect(outside).toEqual([]);
    const toast = await landing.toasts.boundingBox();
    expect((toast?.y ?? 0) + (toast?.height ?? 0)).toBeLessThanOrEqual(390 - BOTTOM);
    await landing.footer.evaluate((footer) => footer.scrollIntoView({ behavior: "instant" }));
    const lowest = await landing.footer
      .locator("p, a")
      .evaluateAll((nodes) => Math.max(...nodes.map((n) => n.getBoundingClientRect().bottom)));
    // The end of a page that is not a whole number of pixels high.
    expect(Math.floor(lowest)).toBeLessThanOrEqual(390 - BOTTOM);
  });
});

test("the promise stands in two lines on every wide window @once", async ({ landing, page }) => {
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
