/** Spec §3, §4 and §8 by ear: a result and a new count are each said once, politely. */
import type { Page } from "@playwright/test";
import { type Announcement, heard, listen } from "../announcements.ts";
import { expect, freshAddress, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

/** Opens the form and waits until the count has been asked for; from here on one listens. */
async function openAndListen(page: Page, landing: LandingPage): Promise<void> {
  await page.clock.install();
  await listen(page);
  const counted = page.waitForResponse("**/api/waitlist/count");
  await landing.openForm();
  const { count } = (await (await counted).json()) as { count: number };
  await expect(landing.count).toHaveText(`${count} entrepreneurs already on the list`);
  await heard(page);
}

/** Everything that is said until the toast has come and gone. */
async function heardToTheEnd(page: Page, landing: LandingPage): Promise<Announcement[]> {
  await expect(page.locator("[role=status]", { hasText: "Notification" })).toHaveCount(1);
  await page.mouse.move(5, 300);
  await page.clock.runFor(10_000);
  await expect(landing.toasts).toHaveCount(0);
  return heard(page);
}

function politely(text: string): Announcement {
  return { politeness: "polite", text };
}

test.describe("announcements", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("a sign-up is answered once and the new count is said once, politely", async ({
    landing,
    page,
    site,
  }) => {
    await openAndListen(page, landing);
    const before = await site.count();
    await landing.join(freshAddress());
    await expect(landing.count).toHaveText(`${before + 1} entrepreneurs already on the list`);
    const said = await heardToTheEnd(page, landing);
    expect(said.toSorted((a, b) => a.text.localeCompare(b.text))).toEqual([
      politely(`${before + 1} entrepreneurs already on the list`),
      politely("Adding..."),
      politely(
        "Notification Success! You've been added to the waitlist. We'll notify you when Steward is ready.",
      ),
    ]);
  });

  test("409: the error is said once, politely, and no count", async ({ landing, page, site }) => {
    const email = freshAddress();
    await site.join(email);
    await openAndListen(page, landing);
    await landing.join(email);
    expect(await heardToTheEnd(page, landing)).toEqual([
      politely("Adding..."),
      politely("Notification Error Email already on waitlist"),
    ]);
  });

  test("400: the error is said once, politely, and no count", async ({ landing, page }) => {
    await openAndListen(page, landing);
    await landing.join(`${"a".repeat(65)}@example.com`);
    expect(await heardToTheEnd(page, landing)).toEqual([
      politely("Adding..."),
      politely("Notification Error Please enter a valid email address"),
    ]);
  });

  test("an empty field: the error is said once, politely, and no count", async ({
    landing,
    page,
  }) => {
    await openAndListen(page, landing);
    await landing.submit.click();
    expect(await heardToTheEnd(page, landing)).toEqual([
      politely("Notification Error Please enter your email address"),
    ]);
  });

  test("the same error again is said again, each time once", async ({ landing, page }) => {
    await openAndListen(page, landing);
    for (let time = 0; time < 2; time += 1) {
      await landing.submit.click();
      expect(await heardToTheEnd(page, landing)).toEqual([
        politely("Notification Error Please enter your email address"),
      ]);
    }
  });

  test("the terminal and the page coming to life say nothing", async ({ landing, page }) => {
    await page.clock.install();
    await listen(page);
    await landing.open();
    await landing.playTerminal();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.ready("waitlist-form");
    await landing.ready("toaster");
    // The count in the page may be a second old; the new one may be said.
    const said = (await heard(page)).filter(({ text }) => !/entrepreneurs/.test(text));
    expect(said).toEqual([]);
  });
});
