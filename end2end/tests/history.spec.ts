/** Back and forward: the page comes back as it was left, without loading again. */
import { expect, test } from "../fixtures.ts";

// Playwright's default is a browser that keeps no page for the way back.
test.use({
  launchOptions: [
    async ({ launchOptions }, use) => {
      const ignoreDefaultArgs = ["--disable-back-forward-cache"];
      await use({ ...launchOptions, ignoreDefaultArgs });
    },
    { scope: "worker" },
  ],
});

test(
  "the way back leads to the living page as it was left",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.openForm();
    await landing.email.fill("ada@example.com");
    await page.evaluate(() => {
      Object.assign(window, { sinceTheFirstVisit: true });
    });
    const before = await page.evaluate(() => scrollY);
    await page.goto("/robots.txt");
    await page.goBack({ waitUntil: "commit" });
    await expect(landing.email).toHaveValue("ada@example.com");
    expect(await page.evaluate(() => "sinceTheFirstVisit" in window)).toBe(true);
    expect(await page.evaluate(() => scrollY)).toBe(before);
    await landing.email.fill("");
    await landing.submit.click();
    await expect(landing.toasts).toContainText("Please enter your email address");
  },
);
