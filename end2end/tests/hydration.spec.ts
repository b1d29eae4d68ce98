/** Hydration keeps the focus, the caret and the text that the visitor has typed before it. */
import { expect, test } from "../support/fixtures.ts";
import { layoutShifts, recordLayoutShifts } from "../support/layout-shifts.ts";

test.describe("hydration", { tag: "@once" }, () => {
  test("hydration keeps typed text, the focus and the caret", async ({ landing, page }) => {
    await recordLayoutShifts(page);
    // No island is hydrated while the host is held back.
    const release = await landing.holdRequests("**/pkg/*.wasm");
    await landing.open();
    await landing.email.pressSequentially("earlyexample.com");
    for (const _ of "example.com") await page.keyboard.press("ArrowLeft");
    release();
    await landing.waitForIslands("waitlist-form");
    await expect(landing.email).toBeFocused();
    await page.keyboard.type("@");
    await expect(landing.email).toHaveValue("early@example.com");
    expect(await layoutShifts(page)).toEqual([]);
  });

  test("hydration keeps the focus on a link", async ({ landing, page }) => {
    const release = await landing.holdRequests("**/islands/contact-links-*");
    await landing.open();
    const link = page.getByRole("link", { name: "Email us" });
    await link.focus();
    release();
    await landing.waitForIslands("contact-links");
    await expect(link).toBeFocused();
  });

  test("hydration keeps the focus in the field when the page opens at the form", async ({
    landing,
    page,
  }) => {
    const releases = [
      await landing.holdRequests("**/islands/*"),
      await landing.holdRequests("**/pkg/*"),
    ];
    await page.goto("/#contact", { waitUntil: "commit" });
    await expect(landing.email).toBeInViewport();
    await landing.email.click();
    await page.keyboard.type("ann@");
    for (const release of releases) release();
    await landing.waitForIslands("waitlist-form");
    await page.keyboard.type("example.com");
    await expect(landing.email).toHaveValue("ann@example.com");
  });
});
