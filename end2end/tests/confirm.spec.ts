/** Confirming an address: the step for the code, and the page of the link. */
import type { Locator, Page } from "@playwright/test";
import { addStyle, expect, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox, hiddenWidth } from "../support/landing-page.ts";
import { CONFIRM_LINK, confirmingTest as test } from "../support/mail-server.ts";
import { setFontSize, TEXT_SPACING } from "../support/text-layout.ts";

const heading = (page: Page) => page.getByRole("heading", { level: 1 });
const codeField = (page: Page) => page.getByLabel("Code from the message");

test.describe("the step for the code", { tag: "@once" }, () => {
  test.use({ expectedConsole: /status of 400/ });

  for (const [width, height] of [
    [320, 256],
    [360, 640],
    [375, 667],
    [640, 360],
    [844, 390],
  ] as const) {
    for (const size of [16, 32]) {
      test(`is in view, and has the focus in a window of ${width} × ${height} with a font of ${size} px`, async ({
        landing,
        page,
      }) => {
        await page.setViewportSize({ width, height });
        await setFontSize(page, size);
        await landing.openForm();
        const email = uniqueEmail();
        await landing.email.fill(email);
        await landing.email.press("Enter");
        await expect(codeField(page)).toBeFocused();
        await expect(codeField(page)).toHaveAccessibleDescription(
          new RegExp(`^Check your inbox: we sent a code to ${email}.`),
        );
        await landing.keepToastOpen();
        await landing.finishAnimations();
        await landing.expectClearOfToast(codeField(page));
        // A window of 1280 × 1024 pixels at 400 %, with a doubled font, has no room for more.
        const hasRoom = height / size >= 11;
        const label = page.getByText("Code from the message");
        if (hasRoom) await landing.expectUncovered(label);
        if (size === 16) await landing.expectUncovered(page.locator(".waitlist-lead"));
        expect(await landing.horizontalOverflow()).toBe(0);
        await codeField(page).fill("12345");
        await codeField(page).press("Enter");
        await expect(landing.message).toHaveText("Please enter only the six digits of the code");
        await landing.keepToastOpen();
        await landing.finishAnimations();
        await expect(landing.toasts).toBeInViewport({ ratio: 1 });
        await landing.expectClearOfToast(codeField(page));
        if (hasRoom) await landing.expectUncovered(label);
        if (size === 16) await expect(landing.message).toBeInViewport({ ratio: 0.3 });
        // A button below the field does not separate it from its message.
        const button = await boundingBox(landing.submit);
        if (button.y > (await boundingBox(codeField(page))).y)
          expect((await boundingBox(landing.message)).y).toBeLessThan(button.y);
        // A smooth scroll that is under way could end elsewhere.
        await page.emulateMedia({ reducedMotion: "reduce" });
        for (const control of [
          page.getByRole("link", { name: "Use another address" }),
          landing.submit,
        ]) {
          await page.getByRole("link", { name: "Email us" }).focus();
          await page.evaluate(() => scrollTo({ top: document.body.scrollHeight }));
          await tabTo(page, "Shift+Tab", control);
          await landing.expectClearOfToast(control);
        }
        // The first step takes less height, so the form may end above the window. A double click does not lead there.
        await page.waitForTimeout(1000);
        await page.getByRole("link", { name: "Use another address" }).press("Enter");
        await expect(landing.email).toBeFocused();
        await expect(landing.email).toBeInViewport({ ratio: 1 });
      });
    }
  }

  test("is in view although the visitor came there by Tab a moment ago", async ({
    landing,
    page,
  }) => {
    await page.setViewportSize({ width: 360, height: 640 });
    await landing.openHydrated();
    await landing.bar.getByRole("link", { name: "Get Started" }).focus();
    await tabTo(page, "Tab", landing.email);
    await page.keyboard.insertText(uniqueEmail());
    await page.keyboard.press("Enter");
    await expect(codeField(page)).toBeFocused();
    await landing.expectClearOfToast(codeField(page));
  });

  test("leaves the link in view to which the visitor has moved on", async ({ landing, page }) => {
    await page.setViewportSize({ width: 320, height: 256 });
    const release = await landing.holdRequests("**/api/waitlist");
    await landing.openForm();
    await landing.email.fill(uniqueEmail());
    await landing.email.evaluate((node) => node.scrollIntoView({ block: "end" }));
    await landing.email.press("Enter");
    // While the form is sent, the outline of the button shows the focus.
    await expect(landing.submit).toBeInViewport({ ratio: 1 });
    await tabTo(page, "Tab", page.getByRole("link", { name: "Email us" }));
    release();
    await expect(codeField(page)).toBeVisible();
    await landing.expectClearOfToast(page.getByRole("link", { name: "Email us" }));
  });

  for (const [setting, css] of [
    ["more space in the text", TEXT_SPACING],
    ["doubled text", "html { font-size: 200%; }"],
  ] as const) {
    test(`shows the whole code and the whole title of a toast at 320 px with ${setting}`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width: 320, height: 640 });
      await landing.openForm();
      await addStyle(page, css);
      await landing.email.fill(uniqueEmail());
      await landing.email.press("Enter");
      await expect(codeField(page)).toBeFocused();
      expect(await linesOf(page.locator(".toast-title"))).toBe(1);
      await codeField(page).fill("888888");
      expect(await hiddenWidth(codeField(page))).toBe(0);
      await codeField(page).press("Enter");
      await expect(landing.toasts).toContainText("Error");
      // With doubled text, only its beginning has room between the toast and the edge.
      await expect(landing.message).toBeInViewport({ ratio: 0.2 });
      expect(await linesOf(page.locator(".toast-title"))).toBe(1);
      expect(await linesOf(landing.bar.getByRole("link", { name: "Get Started" }))).toBeLessThan(3);
    });
  }
});

/** Presses a key until a control has the focus. */
async function tabTo(page: Page, key: "Tab" | "Shift+Tab", control: Locator) {
  const hasFocus = () => control.evaluate((node) => node === document.activeElement);
  while (!(await hasFocus())) await page.keyboard.press(key);
}

/** Returns the number of lines of a text. */
function linesOf(element: Locator): Promise<number> {
  return element.evaluate((node) => {
    const range = document.createRange();
    range.selectNodeContents(node);
    return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  });
}

test.describe("the step for the code, without JavaScript", { tag: "@once" }, () => {
  test.use({ javaScriptEnabled: false, expectedConsole: /status of 4\d\d/ });

  test("leads to another address", async ({ landing, page }) => {
    await page.goto("/");
    await landing.email.fill(uniqueEmail());
    await landing.email.press("Enter");
    await expect(codeField(page)).toBeVisible();
    await page.getByRole("link", { name: "Use another address" }).click();
    await expect(landing.email).toBeInViewport();
    await expect(codeField(page)).toHaveCount(0);
    await expect(page).toHaveURL("/?email#waitlist");
  });
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(`with JavaScript ${javaScriptEnabled}`, { tag: "@once" }, () => {
    test.use({ javaScriptEnabled, expectedConsole: /status of 4\d\d/ });

    test(`somebody whose code is locked learns how to get a new one, with JavaScript ${javaScriptEnabled}`, async ({
      landing,
      page,
    }) => {
      await (javaScriptEnabled ? landing.openForm() : landing.open());
      const email = uniqueEmail();
      const join = async () => {
        await landing.email.fill(email);
        await landing.email.press("Enter");
        await expect(landing.message).toHaveText(/For a new code, join again in an hour/);
      };
      await join();
      for (const code of [1, 2, 3, 4, 5]) {
        await codeField(page).fill(`00000${code}`);
        await codeField(page).press("Enter");
        await expect(landing.message).toHaveText(code < 5 ? /wrong/ : /^Too many wrong codes/);
      }
      await page.getByRole("link", { name: "Use another address" }).click();
      await join();
      await expect(page.locator(".waitlist-lead")).toHaveText(`${email} is already on the \
waitlist. If you have not confirmed it, enter the code that we sent.`);
      await expect(landing.form).toHaveAttribute("data-outcome", "");
    });
  });
}

test.describe("the link's page", { tag: "@once" }, () => {
  test("confirms only by its button, and has another way out", async ({ page, site, mail }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    const path = await mail.receive(email, CONFIRM_LINK);
    await page.goto(path, { waitUntil: "networkidle" });
    await page.mouse.move(200, 200, { steps: 5 });
    await page.mouse.wheel(0, 10);
    for (const key of ["Shift", "Escape", "x", "Tab"]) await page.keyboard.press(key);
    await expect(page.getByText(`${email[0]}…@`)).toBeVisible();
    await page.getByRole("link", { name: "I did not sign up" }).click();
    await expect(heading(page)).toHaveText("Leave the waitlist?");
    await page.goBack();
    await page.getByRole("button", { name: "Confirm" }).click();
    await expect(heading(page)).toHaveText("Your address is confirmed");
    await expect(page.getByText(`${email[0]}…@`)).toBeVisible();
    await expect(page.getByRole("link", { name: "I did not sign up" })).toBeVisible();
    await page.goto(path);
    await expect(heading(page)).toHaveText("Your address is already confirmed");
  });
});
