/** Spec §4 and §9: toasts and tooltips. */
import { expect, test } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";

test("§9 at most one toast is visible", async ({ landing }) => {
  await landing.openForm();
  await landing.submit.click();
  await expect(landing.toasts).toHaveCount(1);
  await landing.email.focus();
  await landing.email.press("Enter");
  await landing.email.press("Enter");
  await expect(landing.toasts).toHaveCount(1);
});

test("§9 a toast is visible for 5000 ms", async ({ landing, page }) => {
  await page.clock.install();
  await landing.openForm();
  await page.mouse.move(5, 300);
  await page.clock.pauseAt(Date.now() + 3_600_000);
  await landing.submit.focus();
  await page.keyboard.press("Enter");
  await expect(landing.toasts).toHaveCount(1);
  await page.clock.runFor(4900);
  await expect(landing.toasts).toHaveAttribute("data-state", "open");
  await page.clock.runFor(200);
  await expect(landing.toasts).toHaveCount(0);
});

test("§9 F8 focuses the toasts, and the keyboard closes one from there", async ({
  landing,
  page,
}) => {
  await landing.openForm();
  await landing.submit.click();
  await expect(landing.toasts).toHaveCount(1);
  await page.keyboard.press("F8");
  await expect(landing.toastRegion.getByRole("list")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(landing.toasts).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(landing.toasts.getByRole("button", { name: "Close" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(landing.toasts).toHaveCount(0);
});

test("§9 a swipe of 70 px to the right closes a toast, one of 40 px does not", async ({
  landing,
  page,
}) => {
  await landing.openForm();
  await landing.submit.click();
  const swipe = async (distance: number) => {
    const toast = await boundingBox(landing.toasts);
    await page.mouse.move(toast.x + 40, toast.y + toast.height / 2);
    await page.mouse.down();
    await page.mouse.move(toast.x + 40 + distance, toast.y + toast.height / 2, { steps: 6 });
    await page.mouse.up();
  };
  await swipe(40);
  await expect(landing.toasts).toHaveAttribute("data-state", "open");
  await expect(landing.toasts).toHaveCount(1);
  await swipe(70);
  await expect(landing.toasts).toHaveCount(0);
});

test("§4 a toast is announced once, politely", async ({ landing, page }) => {
  await landing.openForm();
  await landing.submit.click();
  const announcement = page.locator("[role=status][aria-live=polite]", {
    hasText: "Please enter your email address",
  });
  await expect(announcement).toHaveCount(1);
  await expect(page.locator("[aria-live=assertive]")).toHaveCount(0);
});

test.describe("§9 tooltips", { tag: "@hover" }, () => {
  test("§9 a tooltip opens after 700 ms, or at once within 300 ms of the previous one", async ({
    landing,
    page,
  }) => {
    await page.clock.install();
    await landing.open();
    const mail = page.getByRole("link", { name: "Email us" });
    const social = page.getByRole("link", { name: "Follow the launch" });
    const tooltip = page.getByRole("tooltip");
    await mail.scrollIntoViewIfNeeded();
    await landing.waitForIslands("contact-links");
    await page.mouse.move(5, 300);
    await page.clock.pauseAt(Date.now() + 3_600_000);

    await mail.hover();
    await page.clock.runFor(699);
    await expect(tooltip).toHaveCount(0);
    await page.clock.runFor(1);
    await expect(tooltip).toHaveText("Opens your email app");

    // In steps: Radix first sees the pointer on its way to the tooltip, then outside that path.
    await page.mouse.move(5, 300, { steps: 3 });
    await page.clock.runFor(200);
    await expect(tooltip).toHaveCount(0);
    await social.hover();
    await page.clock.runFor(20);
    await expect(tooltip).toHaveText("Opens our social profile");

    await page.mouse.move(5, 300, { steps: 3 });
    await expect(tooltip).toHaveCount(0);
    await page.clock.runFor(400);
    await mail.hover();
    await page.clock.runFor(20);
    await expect(tooltip).toHaveCount(0);
  });

  test("§9 a tooltip also opens on focus, 4 px from its link", async ({ landing, page }) => {
    await landing.open();
    const mail = page.getByRole("link", { name: "Email us" });
    await mail.scrollIntoViewIfNeeded();
    await landing.waitForIslands("contact-links");
    await landing.submit.focus();
    await page.keyboard.press("Tab");
    await expect(mail).toBeFocused();
    await expect(page.getByRole("tooltip")).toHaveCount(1);
    const link = await boundingBox(mail);
    const tooltip = await boundingBox(page.locator(".tooltip"));
    const gap =
      tooltip.y > link.y
        ? tooltip.y - (link.y + link.height)
        : link.y - (tooltip.y + tooltip.height);
    expect(Math.round(gap)).toBe(4);
  });
});
