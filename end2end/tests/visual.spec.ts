/** The look of every section, in both schemes, on a desktop and a phone. After a change that is
 * meant: `npx playwright test visual --update-snapshots`, and look at what git shows. */
import type { Locator, Page } from "@playwright/test";
import { addStyle, expect, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

const WIDTHS = [390, 1280];

/** Else the machine's settings decide whether letters stand on whole pixels. */
const SAME_EVERYWHERE =
  "*, ::before, ::after, ::placeholder { text-rendering: geometricPrecision !important; }";

/** Opens a page in both of its typefaces. A visitor does without those that come too late, and on a
 * phone the machine's voice is the phone's own: both would be another picture on another machine. */
async function openWithFonts(page: Page, path: string): Promise<void> {
  await page.goto(path);
  const links = page.locator("link[as=font]");
  const urls = await links.evaluateAll((links) =>
    (links as HTMLLinkElement[]).map(({ href }) => href),
  );
  const face = (family: string, name: string) =>
    `@font-face { font-family: ${family}; src: url("${urls.find((url) => url.includes(name))}");
      font-weight: 400 600; }`;
  const faces = face("Prose", "newsreader") + face("Machine", "commit-mono");
  const voices = ":root { --prose: Prose; --machine: Machine; }";
  await addStyle(page, faces + voices + SAME_EVERYWHERE);
  const loaded = await page.evaluate(async () => {
    const fonts = ["1em Prose", "1em Machine"].map((font) => document.fonts.load(font));
    return (await Promise.all(fonts)).flat().map(({ status }) => status);
  });
  expect(loaded, "the page is set in its own fonts").toEqual(["loaded", "loaded"]);
}

/** The landing page alive, with nothing over it. */
async function openQuiet(page: Page, landing: LandingPage): Promise<void> {
  await openWithFonts(page, "/");
  await landing.section("contact").scrollIntoViewIfNeeded();
  for (const island of ["demo-terminal", "waitlist-form", "contact-links", "toaster"]) {
    await landing.ready(island);
  }
  await expect(landing.count).toHaveText("0 entrepreneurs already on the list");
  await landing.section("demo").scrollIntoViewIfNeeded();
  await expect(landing.shownLines).toHaveCount(9);
  await page.mouse.move(0, 0);
}

/** Always to the same place, so that no edge falls between other pixels. */
async function scrollToForm(page: Page): Promise<void> {
  await page.evaluate(() => {
    scrollTo({ top: 0, behavior: "instant" });
    const form = document.querySelector("form")?.getBoundingClientRect().top ?? 0;
    scrollTo({ top: Math.round(form) - 320, behavior: "instant" });
  });
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`pictures, ${colorScheme}`, { tag: "@visual" }, () => {
    test.use({ colorScheme, contextOptions: { reducedMotion: "reduce" } });

    for (const width of WIDTHS) {
      const expectPicture = (part: Locator, name: string) =>
        expect.soft(part).toHaveScreenshot(`${name}-${colorScheme}-${width}.png`);

      test.describe(`${width} px`, () => {
        test.use({ viewport: { width, height: 800 } });

        test(`the sections look as they should in ${colorScheme} at ${width} px`, async ({
          landing,
          page,
        }) => {
          await openQuiet(page, landing);
          await page.evaluate(() => scrollTo(0, 0));
          await expectPicture(landing.bar, "bar");
          // It would lie over the others.
          await landing.bar.evaluate((bar) => bar.style.setProperty("visibility", "hidden"));
          for (const section of [
            "hero",
            "comparison",
            "features",
            "infrastructure",
            "demo",
            "contact",
          ]) {
            await expectPicture(page.locator(`section.${section}`), section);
          }
          await expectPicture(landing.footer, "footer");
        });

        test(`the toasts and a tooltip look as they should in ${colorScheme} at ${width} px`, async ({
          landing,
          page,
        }) => {
          await page.route("**/api/waitlist", (route) =>
            route.fulfill({ status: 201, contentType: "application/json", body: "{}" }),
          );
          await openQuiet(page, landing);
          await scrollToForm(page);
          await landing.submit.click();
          await landing.keepToast();
          await page.mouse.move(0, 0);
          await expectPicture(landing.toasts, "toast-error");
          await expectPicture(landing.form, "form-refused");
          await landing.join("ada@example.com");
          await expect(landing.toasts).toContainText("Success!");
          await landing.keepToast();
          await page.mouse.move(0, 0);
          await expect(landing.submit).toBeFocused();
          await landing.submit.blur();
          await expectPicture(landing.toasts, "toast-success");
          await expectPicture(landing.form, "form-joined");
          await landing.openTooltip();
          await expectPicture(page.locator(".tooltip"), "tooltip");
        });
      });
    }

    test.describe("on the smallest phone", () => {
      test.use({ viewport: { width: 320, height: 640 } });

      test(`a toast looks as it should in ${colorScheme} at 320 px`, async ({ landing, page }) => {
        await openQuiet(page, landing);
        await scrollToForm(page);
        await landing.submit.click();
        await landing.keepToast();
        await page.mouse.move(0, 0);
        await expect(landing.toasts).toHaveScreenshot(`toast-error-${colorScheme}-320.png`);
      });
    });

    test.describe("not found", () => {
      test.use({ expectedConsole: /status of 404/ });

      for (const width of [320, ...WIDTHS]) {
        test(`the not-found page looks as it should in ${colorScheme} at ${width} px`, async ({
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
