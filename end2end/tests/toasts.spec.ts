/** Spec §4 and §9: toasts and tooltips. */
import { expect, test } from "../fixtures.ts";

test("§9 one toast at a time", async ({ landing }) => {
  await landing.openForm();
  await landing.submit.click();
  await expect(landing.toasts).toHaveCount(1);
  await landing.email.focus();
  await landing.email.press("Enter");
  await landing.email.press("Enter");
  await expect(landing.toasts).toHaveCount(1);
});

test("§9 a toast shows for 5000 ms", async ({ landing, page }) => {
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

test("§9 F8 goes to the toasts, and the toast can be closed from there", async ({
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

test("§9 a swipe of 50 px to the right dismisses a toast, a shorter one does not", async ({
  landing,
  page,
}) => {
  await landing.openForm();
  await landing.submit.click();
  const swipe = async (by: number) => {
    const box = await landing.toasts.boundingBox();
    if (!box) throw new Error("there is no toast");
    await page.mouse.move(box.x + 40, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + 40 + by, box.y + box.height / 2, { steps: 6 });
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
  const announced = page.locator("[role=status][aria-live=polite]", {
    hasText: "Please enter your email address",
  });
  await expect(announced).toHaveCount(1);
  await expect(page.locator("[aria-live=assertive]")).toHaveCount(0);
});

test.describe("§9 tooltips", { tag: "@hover" }, () => {
  test("§9 a tooltip opens after 700 ms, the next one at once within 300 ms", async ({
    landing,
    page,
  }) => {
    await page.clock.install();
    await landing.open();
    const mail = page.getByRole("link", { name: "Email us" });
    const social = page.getByRole("link", { name: "Follow the launch" });
    const tooltip = page.getByRole("tooltip");
    await mail.scrollIntoViewIfNeeded();
    await landing.ready("contact-links");
    await page.mouse.move(5, 300);
    await page.clock.pauseAt(Date.now() + 3_600_000);

    await mail.hover();
    await page.clock.runFor(699);
    await expect(tooltip).toHaveCount(0);
    await page.clock.runFor(1);
    await expect(tooltip).toHaveText("Opens your email app");

    // In steps: the first move makes the way from link to tooltip, the next leaves it.
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

  test("§9 a tooltip stands 4 px from its link, and opens on focus too", async ({
    landing,
    page,
  }) => {
    await landing.open();
    const mail = page.getByRole("link", { name: "Email us" });
    await mail.scrollIntoViewIfNeeded();
    await landing.ready("contact-links");
    await landing.submit.focus();
    await page.keyboard.press("Tab");
    await expect(mail).toBeFocused();
    await expect(page.getByRole("tooltip")).toHaveCount(1);
    const link = await mail.boundingBox();
    const tip = await page.locator(".tooltip").boundingBox();
    if (!link || !tip) throw new Error("the link or its tooltip is not there");
    const gap = tip.y > link.y ? tip.y - (link.y + link.height) : link.y - (tip.y + tip.height);
    expect(Math.round(gap)).toBe(4);
  });
});
