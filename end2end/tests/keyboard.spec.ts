/** Focus scrolls every control into view, with a visible outline. The journeys go through them with Tab. */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";
import { boundingBox, type LandingPage } from "../support/landing-page.ts";

/** Returns the role and accessible name of the focused control. */
async function focusedControl(page: Page): Promise<string> {
  const snapshot = await page.locator(":focus").ariaSnapshot();
  const [role, name] = /- (\w+) "(.*?)"/.exec(snapshot)?.slice(1) ?? [];
  return `${role}: ${name}`;
}

/**
 * Waits until the focused control and its outline are fully visible: inside the window, and not
 * under the header.
 */
async function expectFocusInView(page: Page, landing: LandingPage): Promise<void> {
  const control = page.locator(":focus");
  await expect(
    async () => {
      const focus = await control.evaluate((node) => {
        const { top, bottom, left, right } = node.getBoundingClientRect();
        const style = getComputedStyle(node);
        const width = style.outlineStyle === "none" ? 0 : Number.parseFloat(style.outlineWidth);
        const outline = Math.max(0, width + Number.parseFloat(style.outlineOffset));
        const layer = node.closest(".nav-bar, .nav-end, .skip");
        const isFixed = layer !== null && getComputedStyle(layer).position === "fixed";
        const { innerHeight, innerWidth } = window;
        return { top, bottom, left, right, width, outline, isFixed, innerHeight, innerWidth };
      });
      const bar = await boundingBox(landing.bar);
      const visibleTop = focus.isFixed ? 0 : bar.y + bar.height;
      expect(focus.width, "outline width").toBeGreaterThanOrEqual(2);
      expect(focus.top - focus.outline, "top").toBeGreaterThanOrEqual(visibleTop);
      expect(focus.bottom + focus.outline, "bottom").toBeLessThanOrEqual(focus.innerHeight);
      expect(focus.left, "left").toBeGreaterThanOrEqual(0);
      expect(focus.right, "right").toBeLessThanOrEqual(focus.innerWidth);
    },
    await focusedControl(page),
  ).toPass({ timeout: 5_000 });
}

for (const width of [390, 1280]) {
  test.describe(`focus at ${width} px`, { tag: "@once" }, () => {
    test.use({ viewport: { width, height: 800 } });

    test(`focus scrolls each control into view from any scroll position at ${width} px`, async ({
      landing,
      page,
    }) => {
      await page.emulateMedia({ reducedMotion: "reduce" });
      await landing.openHydrated();
      for (const control of await page.locator("main").locator(landing.controls).all()) {
        // Half under the header, then half below the window: there the browser scrolls least.
        for (const block of ["start", "end"] as const) {
          await page.mouse.move(0, 400);
          await control.evaluate((node, block) => {
            (document.activeElement as HTMLElement | null)?.blur();
            const { top, height } = node.getBoundingClientRect();
            const header = document.querySelector(".nav-bar")?.getBoundingClientRect().bottom ?? 0;
            scrollBy(0, top + height / 2 - (block === "start" ? header : innerHeight));
          }, block);
          await control.focus();
          await expectFocusInView(page, landing);
        }
      }
    });
  });
}

test.describe("order", { tag: "@once" }, () => {
  for (const width of [320, 390, 768, 1280]) {
    test(`the header's document order is its visual order at ${width} px`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      await landing.open();
      const links = landing.header.locator("a:visible");
      const positions = await links.evaluateAll((links) =>
        links.map((link) => {
          const { top, bottom, left } = link.getBoundingClientRect();
          return { row: Math.round((top + bottom) / 2 / 10), left };
        }),
      );
      expect(positions).toHaveLength(6);
      expect(positions).toEqual(positions.toSorted((a, b) => a.row - b.row || a.left - b.left));
    });
  }
});

test.describe("toasts and tooltips", { tag: "@once" }, () => {
  test("a toast closed by keyboard returns the focus into view", async ({ landing, page }) => {
    await landing.openFormWithError();
    await page.keyboard.press("F8");
    const before = await page.evaluate(() => scrollY);
    await landing.toasts.getByRole("button").focus();
    expect(await page.evaluate(() => scrollY), "the page stays").toBe(before);
    await page.keyboard.press("Home");
    await expect.poll(() => page.evaluate(() => scrollY)).toBe(0);
    await page.keyboard.press("Escape");
    await expect(landing.email).toBeFocused();
    await expectFocusInView(page, landing);
  });

  test("§9 a tooltip opens on focus, 4 px from its link", async ({ landing, page }) => {
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
    // It is below the link or above it.
    const gap = Math.max(tooltip.y - link.y - link.height, link.y - tooltip.y - tooltip.height);
    expect(Math.round(gap)).toBe(4);
  });

  test("a tooltip opens even when Tab scrolls to its link", async ({ landing, page }) => {
    await page.setViewportSize({ width: 1280, height: 400 });
    await landing.openForm();
    await landing.waitForIslands("contact-links");
    await landing.submit.focus();
    await landing.submit.evaluate((button) =>
      button.scrollIntoView({ block: "end", behavior: "instant" }),
    );
    await landing.waitForIntersectionObservers();
    const before = await page.evaluate(() => scrollY);
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(before);
    await expect(page.getByRole("link", { name: "Email us" })).toBeFocused();
    await expect(page.getByRole("tooltip")).toHaveCount(1);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("tooltip")).toHaveCount(0);
  });
});
