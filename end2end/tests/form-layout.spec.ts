/** Where the form, its message and the toast are. An outcome moves nothing, and covers nothing that it is about. */
import { addStyle, expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox, hiddenWidth } from "../support/landing-page.ts";
import { setFontSize } from "../support/text-layout.ts";

/** Windows of common devices, also enlarged ones and those above a phone's keyboard. */
const WINDOWS = [
  [320, 256],
  [320, 480],
  [320, 568],
  [360, 640],
  [375, 667],
  [390, 700],
  [540, 600],
  [568, 320],
  [640, 450],
  [667, 375],
  [768, 500],
  [844, 420],
  [1280, 600],
] as const;

test.describe("an error", { tag: "@once" }, () => {
  for (const [width, height] of WINDOWS) {
    test(`leaves the field and its label in view and clear of the toast in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      for (const control of [landing.email, landing.submit]) {
        for (const block of ["start", "center", "end", "nearest"] as const) {
          await control.evaluate((node, block) => {
            (node as HTMLElement).focus({ preventScroll: true });
            node.scrollIntoView({ block, behavior: "instant" });
          }, block);
          await page.keyboard.press("Enter");
          await landing.keepToastOpen();
          await landing.finishAnimations();
          await expect(landing.email).toBeFocused();
          await expect(landing.toasts).toBeInViewport({ ratio: 1 });
          await landing.expectClearOfToast(landing.email);
          await landing.expectClearOfToast(landing.message);
          await landing.expectUncovered(page.getByText("Email address", { exact: true }));
        }
      }
    });
  }

  for (const [width, height] of WINDOWS.filter(([, height]) => height < 400)) {
    test(`is seen with the header and the button in a window of ${width} × ${height}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await landing.openForm();
      expect((await boundingBox(landing.bar)).height).toBeLessThanOrEqual(50);
      for (const link of await landing.nav.getByRole("link").all()) {
        await link.click({ trial: true, timeout: 5_000 });
      }
      const [field, button] = [await boundingBox(landing.email), await boundingBox(landing.submit)];
      // In a narrow window the button is below the field.
      if (width > 320) expect(button.y).toBe(field.y);
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

  test("leaves the page as wide as a window that becomes narrower", async ({ landing, page }) => {
    await page.setViewportSize({ width: 844, height: 390 });
    await landing.openForm();
    await landing.submit.click();
    await expect(landing.message).toHaveText("Please enter your email address");
    for (const width of [390, 320]) {
      await page.setViewportSize({ width, height: 844 });
      expect(await landing.horizontalOverflow(), `${width} px`).toBe(0);
    }
  });
});

for (const width of [320, 390, 768, 1280]) {
  test(
    `the field and the button keep their places and sizes in every state at ${width} px`,
    { tag: "@once" },
    async ({ landing, page }) => {
      await page.setViewportSize({ width, height: 800 });
      const release = await landing.holdRequests("**/api/waitlist");
      await landing.openForm();
      const boxes = () =>
        landing.form.evaluate((form) => {
          const { left, top } = form.getBoundingClientRect();
          return [...form.querySelectorAll("input[type=email], button")].map((control) => {
            const box = control.getBoundingClientRect();
            return [box.left - left, box.top - top, box.width, box.height];
          });
        });
      const idle = await boxes();
      expect(idle).toHaveLength(2);
      await landing.submit.click();
      await expect(landing.message).toHaveText("Please enter your email address");
      expect(await boxes(), "with an error").toEqual(idle);
      await landing.signUp(uniqueEmail());
      await expect(landing.submit).toHaveText("Adding...");
      expect(await boxes(), "while submitting").toEqual(idle);
      release();
      await expect(landing.submit).toHaveText("Join the Waitlist");
      expect(await boxes(), "after a success").toEqual(idle);
    },
  );
}

for (const [width, height, size] of [
  [320, 256, 16],
  [320, 256, 32],
  [640, 360, 32],
  [844, 390, 32],
  [360, 640, 32],
  [390, 844, 32],
] as const) {
  test(
    `the focused control and the message of a success are clear of the whole toast at ${width} × ${height} with a font of ${size} px`,
    { tag: "@once" },
    async ({ landing, page }) => {
      await page.setViewportSize({ width, height });
      await setFontSize(page, size);
      await landing.openForm();
      await landing.email.fill(uniqueEmail());
      await landing.email.press("Enter");
      await expect(landing.submit).toBeFocused();
      await landing.keepToastOpen();
      await landing.finishAnimations();
      await landing.expectClearOfToast(landing.submit);
      // A lower window has no room for it.
      if (height >= 390) await landing.expectClearOfToast(landing.message);
      const hidden = await landing.toasts.evaluate((it) => it.scrollHeight - it.clientHeight);
      expect(hidden, "pixels of the toast's text").toBeLessThanOrEqual(0);
      await addStyle(page, ".waitlist-count { overflow-wrap: normal; }");
      expect(await hiddenWidth(landing.count), "no word is broken").toBe(0);
      await page.keyboard.press("Shift+Tab");
      await landing.expectClearOfToast(landing.email);
      await landing.expectUncovered(page.getByText("Email address", { exact: true }));
      await page.getByRole("link", { name: "Skip to content" }).focus();
      await page.locator(".skip:focus").click({ trial: true, timeout: 5_000 });
    },
  );
}

test.describe("without JavaScript", { tag: "@no-javascript" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

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
