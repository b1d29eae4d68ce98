/** Going back restores the page as the visitor left it, without loading it again. */
import { CHROMIUM_LAUNCH } from "../support/browser.mjs";
import { expect, test } from "../support/fixtures.ts";

test.use({
  launchOptions: {
    // The headless shell has no back/forward cache, and Playwright turns it off by default.
    ...CHROMIUM_LAUNCH,
    ignoreDefaultArgs: ["--disable-back-forward-cache"],
  },
});

test("going back restores the hydrated page", { tag: "@once" }, async ({ landing, page }) => {
  await landing.openForm();
  await landing.email.fill("ada@example.com");
  await page.evaluate(() => {
    Object.assign(window, { isFirstVisit: true });
  });
  const before = await page.evaluate(() => scrollY);
  await page.goto("/robots.txt");
  await page.goBack({ waitUntil: "commit" });
  await expect(landing.email).toHaveValue("ada@example.com");
  expect(await page.evaluate(() => "isFirstVisit" in window)).toBe(true);
  expect(await page.evaluate(() => scrollY)).toBe(before);
  await landing.email.fill("");
  await landing.submit.click();
  await expect(landing.toasts).toContainText("Please enter your email address");
});
