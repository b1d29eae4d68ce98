/** A toast covers neither the field that it is about nor the visitor's place on the page. */
import { expect, freshAddress, test } from "../fixtures.ts";

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
      // As low as the window goes while the button can still be clicked.
      await landing.submit.evaluate((button) => {
        const bar = document.querySelector(".nav")?.getBoundingClientRect().bottom ?? 0;
        scrollBy({ top: button.getBoundingClientRect().top - bar - 90, behavior: "instant" });
      });
      await landing.submit.click();
      await landing.keepToast();
      await landing.stopMoving();
      await expect(landing.email).toBeFocused();
      await expect
        .poll(async () => {
          const [field, toast] = [
            await landing.email.boundingBox(),
            await landing.toasts.boundingBox(),
          ];
          if (!field || !toast) return "nothing there";
          const isBeside = toast.x > field.x + field.width || toast.x + toast.width < field.x;
          const isClear = toast.y + toast.height <= field.y || toast.y >= field.y + field.height;
          return isBeside || isClear
            ? "clear"
            : `${toast.y} to ${toast.y + toast.height}, ${field.y}`;
        })
        .toBe("clear");
      await expect(landing.email).toBeInViewport({ ratio: 1 });
    });
  }

  for (const height of [500, 800]) {
    test(`is whole with letters of twice the size, ${height} px high`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width: 390, height });
      const devtools = await page.context().newCDPSession(page);
      const fontSizes = { standard: 32, fixed: 26 };
      await devtools.send("Page.setFontSizes", { fontSizes });
      await landing.openForm();
      const bar = await landing.bar.boundingBox();
      expect(bar?.height).toBeLessThanOrEqual(100);
      await landing.submit.click();
      await landing.keepToast();
      await landing.stopMoving();
      await expect(landing.toasts).toBeInViewport({ ratio: 1 });
    });
  }

  test("gives the focus back to where Tab came from", async ({ landing, page }) => {
    await landing.openAlive();
    await landing.openRefusal();
    const link = page.getByRole("link", { name: "Follow the launch" });
    await landing.email.press("F8");
    await landing.email.focus();
    await link.focus();
    // The footer's links lead nowhere and take no focus: the toasts are next.
    for (let stop = 0; stop < 3; stop += 1) {
      await page.keyboard.press("Tab");
      const isClose = await page.evaluate(() => document.activeElement?.ariaLabel === "Close");
      if (isClose) break;
    }
    await page.keyboard.press("Enter");
    await expect(landing.toasts).toHaveCount(0);
    await expect(link).toBeFocused();
  });

  test("gives the focus back when it is closed by a click", async ({ landing, page }) => {
    await landing.openRefusal();
    await expect(landing.email).toBeFocused();
    await page.getByRole("button", { name: "Close" }).click();
    await expect(landing.toasts).toHaveCount(0);
    await expect(landing.email).toBeFocused();
  });
});

test("a double click joins once, and says so", { tag: "@once" }, async ({ landing, page }) => {
  await landing.openForm();
  await landing.email.fill(freshAddress());
  await landing.submit.dblclick({ delay: 30 });
  await expect(landing.message).toContainText("You've been added to the waitlist.");
  await page.waitForTimeout(1000);
  await expect(landing.message).toContainText("You've been added to the waitlist.");
  await expect(landing.toasts).toContainText("Success!");
});

test(
  "a click in a low window brings the field into view",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.setViewportSize({ width: 320, height: 256 });
    await landing.openForm();
    await landing.submit.scrollIntoViewIfNeeded();
    await landing.submit.click();
    await expect(landing.email).toBeFocused();
    await expect(landing.email).toBeInViewport({ ratio: 1 });
  },
);
