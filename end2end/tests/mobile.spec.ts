/** The page on phones: targets are large enough for a finger, and text keeps clear of the notch. */
import { expect, test } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

/** The minimum side of a touch target, in CSS pixels. */
const MIN_TARGET = 44;

test.describe("touch targets", { tag: "@once" }, () => {
  for (const width of [320, 390]) {
    test.describe(`${width} px`, () => {
      test.use({ viewport: { width, height: 800 }, hasTouch: true, isMobile: true });

      test(`every control is at least ${MIN_TARGET} px in both directions at ${width} px`, async ({
        landing,
        page,
      }) => {
        await landing.openFormWithError();
        await page.getByRole("link", { name: "Skip to content" }).focus();
        const targets = await landing.controls.evaluateAll((controls) =>
          controls.map((control) => {
            const { width, height } = control.getBoundingClientRect();
            return { name: control.textContent || control.outerHTML, width, height };
          }),
        );
        expect(targets.length).toBeGreaterThanOrEqual(16);
        const tooSmall = targets.filter(
          ({ width, height }) => Math.min(width, height) < MIN_TARGET,
        );
        expect(tooSmall).toEqual([]);
      });
    });
  }
});

test.describe("safe area", { tag: "@once" }, () => {
  const HEIGHT = 390;
  /** A phone on its side: a notch on either side, and the home indicator at the bottom. */
  const INSETS = { left: 44, right: 44, bottom: 34, top: 0 };
  test.use({ viewport: { width: 844, height: HEIGHT } });

  test("text and toasts stay inside the safe area", async ({ landing, page }) => {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send("Emulation.setSafeAreaInsetsOverride", { insets: INSETS });
    await landing.openForm();
    await landing.submit.click();
    await landing.keepToastOpen();
    await landing.finishAnimations();
    const outside = await page.evaluate(({ left, right }) => {
      const range = document.createRange();
      return [...document.querySelectorAll("body *")]
        .filter((node) => node.checkVisibility() && node.tagName !== "svg")
        .filter((node) => getComputedStyle(node).clipPath === "none")
        .filter((node) => getComputedStyle(node).clip === "auto")
        .filter((node) => [...node.childNodes].some(({ nodeType }) => nodeType === Node.TEXT_NODE))
        .filter((node) => {
          range.selectNodeContents(node);
          const box = range.getBoundingClientRect();
          return box.width > 0 && (box.left < left || box.right > innerWidth - right);
        })
        .map((node) => node.textContent);
    }, INSETS);
    expect(outside).toEqual([]);
    const toast = await boundingBox(landing.toasts);
    expect(toast.y + toast.height).toBeLessThanOrEqual(HEIGHT - INSETS.bottom);
    await landing.footer.evaluate((footer) => footer.scrollIntoView({ behavior: "instant" }));
    const lowest = await landing.footer
      .locator("p, a")
      .evaluateAll((nodes) => Math.max(...nodes.map((n) => n.getBoundingClientRect().bottom)));
    // The page's height may be a fraction of a pixel more than it can scroll.
    expect(Math.floor(lowest)).toBeLessThanOrEqual(HEIGHT - INSETS.bottom);
  });
});
