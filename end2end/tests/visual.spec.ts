/**
 * Screenshots of every section, in both colour schemes, on a desktop and a phone. After an intended
 * change run `make generate NAME=snapshots`, and review the changed images before you commit them.
 */
import type { Locator, Page } from "@playwright/test";
import { addStyle, expect, test } from "../support/fixtures.ts";
import type { LandingPage } from "../support/landing-page.ts";
import { fontUrls } from "../support/network.ts";

const WIDTHS = [390, 1280];

/**
 * Places letters on fractions of pixels. By default a machine's settings decide whether they are on
 * whole ones.
 */
const SAME_LETTER_POSITIONS =
  "*, ::before, ::after, ::placeholder { text-rendering: geometricPrecision !important; }";

/**
 * Opens a page and waits until it uses both of the site's fonts. Visitors get a fallback for a late
 * font, and the system's monospace font on a phone. Both differ from machine to machine.
 */
async function openWithFonts(page: Page, path: string): Promise<void> {
  await page.goto(path);
  const urls = await fontUrls(page, path);
  const fontFace = (family: string, name: string) =>
    `@font-face { font-family: ${family}; src: url("${urls.find((url) => url.includes(name))}");
      font-weight: 400 600; }`;
  const fontFaces = fontFace("Prose", "newsreader") + fontFace("Machine", "commit-mono");
  const families = ":root { --prose: Prose; --machine: Machine; }";
  await addStyle(page, fontFaces + families + SAME_LETTER_POSITIONS);
  const loaded = await page.evaluate(async () => {
    const fonts = ["1em Prose", "1em Machine"].map((font) => document.fonts.load(font));
    return (await Promise.all(fonts)).flat().map(({ status }) => status);
  });
  expect(loaded, "the site's fonts").toEqual(["loaded", "loaded"]);
}

/** Opens the landing page with all islands hydrated and all lines of the terminal shown. */
async function openSettled(page: Page, landing: LandingPage): Promise<void> {
  // The same count in every run, whatever other tests have signed up.
  await page.route("**/api/waitlist/count", (route) => route.fulfill({ json: { count: 0 } }));
  await openWithFonts(page, "/");
  await landing.section("contact").scrollIntoViewIfNeeded();
  await landing.waitForIslands();
  await expect(landing.count).toHaveText("0 entrepreneurs already on the list");
  await landing.section("demo").scrollIntoViewIfNeeded();
  await expect(landing.shownLines).toHaveCount(9);
  await page.mouse.move(0, 0);
}

/** Scrolls the form to a whole pixel, so that edges look the same in every run. */
async function scrollToForm(page: Page): Promise<void> {
  await page.evaluate(() => {
    scrollTo({ top: 0, behavior: "instant" });
    const form = document.querySelector("form")?.getBoundingClientRect().top ?? 0;
    scrollTo({ top: Math.round(form) - 320, behavior: "instant" });
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`appearance in ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: "reduce" } });

    for (const width of WIDTHS) {
      const expectScreenshot = (part: Locator, name: string) =>
        expect.soft(part).toHaveScreenshot(`${name}-${colorScheme}-${width}.png`);

      test.describe(`${width} px`, () => {
        test.use({ viewport: { width, height: 800 } });

        test(`the sections match their screenshots in ${colorScheme} at ${width} px`, async ({
          landing,
          page,
        }) => {
          await openSettled(page, landing);
          await page.evaluate(() => scrollTo(0, 0));
          await expectScreenshot(landing.header, "header");
          // It would cover parts of the sections.
          await landing.header.evaluate((header) =>
            header.style.setProperty("visibility", "hidden"),
          );
          for (const section of await page.locator("main > section").all()) {
            const name = (await section.getAttribute("class"))?.split(" ")[0] ?? "";
            await expectScreenshot(section, name);
          }
          await expectScreenshot(landing.footer, "footer");
        });

        test(`the form, toasts and a tooltip match their screenshots in ${colorScheme} at ${width} px`, async ({
          landing,
          page,
        }) => {
          let respond = () => {};
          await page.route("**/api/waitlist", (route) => {
            respond = () => void route.fulfill({ status: 201, json: {} });
          });
          await openSettled(page, landing);
          await scrollToForm(page);
          await landing.submit.click();
          await landing.keepToastOpen();
          await page.mouse.move(0, 0);
          await expectScreenshot(landing.toasts, "toast-error");
          await expectScreenshot(landing.form, "form-error");
          await landing.signUp("ada@example.com");
          await expect(landing.submit).toHaveText("Adding...");
          await expectScreenshot(landing.form, "form-busy");
          respond();
          await expect(landing.toasts).toContainText("Success!");
          await landing.keepToastOpen();
          await page.mouse.move(0, 0);
          await expect(landing.submit).toBeFocused();
          await landing.submit.blur();
          await expectScreenshot(landing.toasts, "toast-success");
          await expectScreenshot(landing.form, "form-success");
          await landing.openTooltip();
          await expectScreenshot(page.locator(".tooltip"), "tooltip");
        });
      });
    }

    test.describe("the smallest phone", () => {
      test.use({ viewport: { width: 320, height: 640 } });

      test(`a toast matches its screenshot in ${colorScheme} at 320 px`, async ({
        landing,
        page,
      }) => {
        await openSettled(page, landing);
        await scrollToForm(page);
        await landing.submit.click();
        await landing.keepToastOpen();
        await page.mouse.move(0, 0);
        await expect(landing.toasts).toHaveScreenshot(`toast-error-${colorScheme}-320.png`);
      });
    });

    test.describe("not found", () => {
      test.use({ expectedConsole: /status of 404/ });

      for (const width of [320, ...WIDTHS]) {
        test(`the not-found page matches its screenshot in ${colorScheme} at ${width} px`, async ({
          page,
        }) => {
          await page.setViewportSize({ width, height: 800 });
          await openWithFonts(page, "/nothing");
          await expect(page).toHaveScreenshot(`not-found-${colorScheme}-${width}.png`);
        });
      }
    });
  });
}
