/** The message below the field shows the outcome. It stays, moves nothing and covers nothing. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

const INVALID_EMAIL = `${"a".repeat(65)}@example.com`;

test.describe("the message", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("stays after the toast has closed, and describes the field", async ({
    landing,
    page,
    site,
  }) => {
    await page.clock.install();
    const email = uniqueEmail();
    await site.signUp(email);
    await landing.openForm();
    await page.mouse.move(5, 300);
    await landing.email.fill(email);
    await landing.email.press("Enter");
    await expect(landing.toasts).toHaveCount(1);
    await page.clock.runFor(10_000);
    await expect(landing.toasts).toHaveCount(0);
    await expect(landing.message).toHaveText("Email already on waitlist");
    // The toast has announced it, so the field's description repeats it only later.
    await landing.email.press("Tab");
    await landing.email.focus();
    await expect(landing.email).toHaveAccessibleDescription("Email already on waitlist");
    await landing.email.press("End");
    await landing.email.press("x");
    await expect(landing.message).toHaveText("We'll email you when Steward is ready.");
  });

  test("moves nothing when it changes", async ({ landing, page }) => {
    for (const width of [320, 390, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      await landing.openForm();
      const before = await landing.submit.boundingBox();
      await landing.submit.click();
      await expect(landing.message).toHaveText("Please enter your email address");
      expect(await landing.submit.boundingBox(), `${width} px`).toEqual(before);
    }
  });

  test("an error focuses the field, even where a click does not focus the button", async ({
    landing,
    page,
  }) => {
    await landing.openForm();
    await landing.email.fill(INVALID_EMAIL);
    // As in Safari: a clicked button does not receive the focus.
    await page.locator("main").evaluate((main) => {
      document.querySelector(".waitlist button")?.addEventListener("click", () => main.focus());
    });
    await landing.submit.click();
    await expect(landing.message).toHaveText("Please enter a valid email address");
    await expect(landing.email).toBeFocused();
  });

  for (const [width, height] of [
    [568, 320],
    [320, 256],
    [667, 375],
  ] as const) {
    test(`an error leaves the field in view in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      const header = await boundingBox(landing.bar);
      expect(header.height).toBeLessThanOrEqual(50);
      for (const link of await landing.nav.getByRole("link").all()) {
        await link.click({ trial: true, timeout: 5_000 });
      }
      for (const block of ["start", "center", "end", "nearest"] as const) {
        await landing.email.evaluate(
          (field, block) => field.scrollIntoView({ block, behavior: "instant" }),
          block,
        );
        await landing.email.press("Enter");
        await expect(landing.toasts).toHaveCount(1);
        await landing.finishAnimations();
        await expect(landing.email).toBeFocused();
        await expect(landing.toasts).toBeInViewport({ ratio: 1 });
        const field = await boundingBox(landing.email);
        const toast = await boundingBox(landing.toasts);
        expect(field.y, `${block}: below the header`).toBeGreaterThanOrEqual(header.height);
        expect(field.y + field.height, `${block}: above the toast`).toBeLessThanOrEqual(toast.y);
        // In a narrow window the button is below the field.
        if (width > 320) {
          const button = await boundingBox(landing.submit);
          expect(button.y, `${block}: beside the field`).toBe(field.y);
        }
      }
    });
  }
});

test.describe("after an outcome", { tag: "@once" }, () => {
  test("the page is not wider than a window that becomes narrower", async ({ landing, page }) => {
    await page.setViewportSize({ width: 844, height: 390 });
    await landing.openForm();
    await landing.submit.click();
    await expect(landing.message).toHaveText("Please enter your email address");
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await landing.horizontalOverflow(), `${width} px`).toBe(0);
    }
  });

  test("the button that has the focus after a success is in view and clear of the toast", async ({
    landing,
    page,
  }) => {
    await page.setViewportSize({ width: 320, height: 256 });
    await landing.openForm();
    await landing.email.fill(uniqueEmail());
    await landing.email.press("Enter");
    await expect(landing.submit).toBeFocused();
    await landing.finishAnimations();
    const toast = await boundingBox(landing.toasts);
    const bottom = async () => {
      const button = await boundingBox(landing.submit);
      return button.y + button.height;
    };
    await expect.poll(bottom).toBeLessThanOrEqual(toast.y);
    await expect(landing.submit).toBeInViewport({ ratio: 1 });
  });

  test("there is no landmark for toasts until there is one", async ({ landing, page }) => {
    await landing.openForm();
    const region = page.getByRole("region", { name: "Notifications (F8)" });
    await expect(region).toHaveCount(0);
    await landing.submit.click();
    await expect(region).toHaveCount(1);
  });
});

test.describe("the message without JavaScript", { tag: "@no-javascript" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("an error after a success leaves no URL that says Success", async ({
    landing,
    page,
    site,
  }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    await landing.open();
    await landing.signUp(uniqueEmail());
    await expect(page).toHaveTitle("Success! — Steward");
    await landing.signUp(email);
    await expect(page).toHaveTitle("Error: Email already on waitlist — Steward");
    expect(page.url()).not.toContain("joined");
  });

  for (const [width, height] of [
    [568, 320],
    [320, 256],
  ] as const) {
    test(`an error is in view in a window of ${width} × ${height}`, async ({ landing, page }) => {
      await page.setViewportSize({ width, height });
      await landing.open();
      await landing.signUp("");
      await expect(landing.message).toHaveText("Please enter your email address");
      await expect(landing.message).toBeInViewport({ ratio: 1 });
    });
  }
});
