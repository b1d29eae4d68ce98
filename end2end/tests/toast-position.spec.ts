/** A toast does not cover the field it is about, fits the window, and returns the focus. */
import { expect, test } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

test.describe("the toast", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  for (const [width, height] of [
    [320, 480],
    [320, 568],
    [360, 640],
    [375, 667],
    [390, 700],
    [540, 600],
    [640, 450],
    [768, 500],
    [844, 420],
    [1280, 600],
  ] as const) {
    test(`does not cover the field in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      // Scroll down as far as the button can still be clicked.
      await landing.submit.evaluate((button) => {
        const header = document.querySelector(".nav-bar")?.getBoundingClientRect().bottom ?? 0;
        scrollBy({ top: button.getBoundingClientRect().top - header - 90, behavior: "instant" });
      });
      await landing.submit.click();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      await expect(landing.email).toBeFocused();
      await expect
        .poll(async () => {
          const field = await boundingBox(landing.email);
          const toast = await boundingBox(landing.toasts);
          const isBeside = toast.x > field.x + field.width || toast.x + toast.width < field.x;
          const isAboveOrBelow =
            toast.y + toast.height <= field.y || toast.y >= field.y + field.height;
          return isBeside || isAboveOrBelow
            ? "clear"
            : `toast from ${toast.y} to ${toast.y + toast.height}, field at ${field.y}`;
        })
        .toBe("clear");
      await expect(landing.email).toBeInViewport({ ratio: 1 });
    });
  }

  for (const height of [500, 800]) {
    test(`fits a window of ${height} px height with doubled text`, async ({ landing, page }) => {
      await page.setViewportSize({ width: 390, height });
      const devtools = await page.context().newCDPSession(page);
      const fontSizes = { standard: 32, fixed: 26 };
      await devtools.send("Page.setFontSizes", { fontSizes });
      await landing.openForm();
      const header = await boundingBox(landing.bar);
      expect(header.height).toBeLessThanOrEqual(100);
      await landing.submit.click();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      await expect(landing.toasts).toBeInViewport({ ratio: 1 });
    });
  }

  test("is near the form on wide windows", async ({ landing, page }) => {
    for (const [width, height] of [
      [1280, 800],
      [1920, 1080],
    ] as const) {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      const contact = landing.section("contact");
      await contact.evaluate((section) => section.scrollIntoView({ behavior: "instant" }));
      await landing.submit.click();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      const field = await boundingBox(landing.email);
      const toast = await boundingBox(landing.toasts);
      const gap = field.y - (toast.y + toast.height);
      expect(gap, `${width} px`).toBeGreaterThanOrEqual(0);
      expect(gap, `${width} px`).toBeLessThan(250);
    }
  });

  test("returns the focus to the control that Tab came from", async ({ landing, page }) => {
    await landing.openFormWithError();
    await landing.waitForIslands("contact-links");
    const link = page.getByRole("link", { name: "Follow the launch" });
    await landing.email.press("F8");
    await landing.email.focus();
    await link.focus();
    // The footer has no focusable links, so the toast region comes next.
    for (let stop = 0; stop < 3; stop += 1) {
      await page.keyboard.press("Tab");
      const isClose = await page.evaluate(() => document.activeElement?.ariaLabel === "Close");
      if (isClose) break;
    }
    await page.keyboard.press("Enter");
    await expect(landing.toasts).toHaveCount(0);
    await expect(link).toBeFocused();
  });

  test("returns the focus when a click closes it", async ({ landing, page }) => {
    await landing.openFormWithError();
    await expect(landing.email).toBeFocused();
    await page.getByRole("button", { name: "Close" }).click();
    await expect(landing.toasts).toHaveCount(0);
    await expect(landing.email).toBeFocused();
  });
});
