/** Spec §4 and §8: each outcome is announced once, politely. */
import type { Page } from "@playwright/test";
import {
  type Announcement,
  recordAnnouncements,
  takeAnnouncements,
} from "../support/announcements.ts";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import type { LandingPage } from "../support/landing-page.ts";

/** Opens the form, waits until it has fetched the count, and discards the announcements so far. */
async function openAndRecord(page: Page, landing: LandingPage): Promise<void> {
  await page.clock.install();
  await recordAnnouncements(page);
  const counted = page.waitForResponse("**/api/waitlist/count");
  await landing.openForm();
  const { count } = (await (await counted).json()) as { count: number };
  await expect(landing.count).toHaveText(`${count} entrepreneurs already on the list`);
  await takeAnnouncements(page);
}

/** Returns all announcements until the toast has closed. */
async function announcementsUntilToastCloses(
  page: Page,
  landing: LandingPage,
): Promise<Announcement[]> {
  await expect(page.locator("[role=status]", { hasText: "Notification" })).toHaveCount(1);
  await page.mouse.move(5, 300);
  await page.clock.runFor(10_000);
  await expect(landing.toasts).toHaveCount(0);
  return takeAnnouncements(page);
}

function polite(text: string): Announcement {
  return { politeness: "polite", text };
}

test.describe("announcements", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("a sign-up is announced once, politely, and the new count is not", async ({
    landing,
    page,
    site,
  }) => {
    await openAndRecord(page, landing);
    const before = await site.count();
    await landing.signUp(uniqueEmail());
    await expect(landing.count).toHaveText(`${before + 1} entrepreneurs already on the list`);
    const announcements = await announcementsUntilToastCloses(page, landing);
    expect(announcements).toEqual([
      polite("Adding..."),
      polite(
        "Notification Success! You've been added to the waitlist. We'll notify you when Steward is ready.",
      ),
    ]);
  });

  test("a 409 is announced once, politely", async ({ landing, page, site }) => {
    const email = uniqueEmail();
    await site.signUp(email);
    await openAndRecord(page, landing);
    await landing.signUp(email);
    expect(await announcementsUntilToastCloses(page, landing)).toEqual([
      polite("Adding..."),
      polite("Notification Error Email already on waitlist"),
    ]);
  });

  test("a repeated error is announced once each time", async ({ landing, page }) => {
    await openAndRecord(page, landing);
    for (let time = 0; time < 2; time += 1) {
      await landing.submit.click();
      expect(await announcementsUntilToastCloses(page, landing)).toEqual([
        polite("Notification Error Please enter your email address"),
      ]);
    }
  });

  test("hydration and the terminal announce nothing", async ({ landing, page }) => {
    await page.clock.install();
    await recordAnnouncements(page);
    await landing.open();
    await landing.playTerminal();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await landing.waitForIslands("waitlist-form", "toaster");
    expect(await takeAnnouncements(page)).toEqual([]);
  });
});
