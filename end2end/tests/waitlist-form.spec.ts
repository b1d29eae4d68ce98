/** Spec §7 and §8: the requests of the form. */
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

const COUNT = "**/api/waitlist/count";

test.describe("requests", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("§7 the count is requested when the contact section is in view, not before", async ({
    landing,
    page,
  }) => {
    const requests: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/api/")) requests.push(request.url());
    });
    await landing.open();
    // 20 px before the section is in view.
    const section = await boundingBox(landing.section("contact"));
    const height = page.viewportSize()?.height ?? 0;
    await page.evaluate((top) => scrollTo({ top, behavior: "instant" }), section.y - height - 20);
    // Touch the form to mount it. The first touch may come before the host, and then only loads it.
    await expect(async () => {
      await landing.form.dispatchEvent("pointerover");
      const notStarted = page.locator("[data-island=waitlist-form]:not([data-started])");
      await expect(notStarted).toHaveCount(0, { timeout: 200 });
    }).toPass();
    await landing.waitForIslands("waitlist-form");
    await landing.waitForIntersectionObservers();
    expect(requests).toEqual([]);
    const response = page.waitForResponse(COUNT);
    await landing.section("contact").scrollIntoViewIfNeeded();
    expect((await response).status()).toBe(200);
    expect(requests).toHaveLength(1);
  });

  test("§8 offline a sign-up fails at once and is not queued", async ({ context, landing }) => {
    await landing.openForm();
    await context.setOffline(true);
    await landing.signUp(uniqueEmail());
    await expect(landing.toasts).toContainText("Failed to add to waitlist. Please try again.");
    await context.setOffline(false);
  });
});
