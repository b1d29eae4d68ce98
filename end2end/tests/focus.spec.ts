/** The page by keyboard: every control in its order, in view, and seen to have the focus. */
import type { Page } from "@playwright/test";
import { expect, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

const LINKS = ["link: Features", "link: vs ChatGPT", "link: Demo", "link: Contact"];

/** The controls in the order in which one reads them: in a narrow bar the links stand below. */
const controlsAt = (width: number) => [
  "link: Skip to content",
  "link: Steward",
  ...(width < 768 ? ["link: Get Started", ...LINKS] : [...LINKS, "link: Get Started"]),
  "link: Launch Your AI Agent",
  "link: Watch Demo",
  "link: Start Your Agent Now",
  "textbox: Email address",
  "button: Join the Waitlist",
  "link: Email us",
  "link: Follow the launch",
];

/** The role and the name that the focused control has for a screen reader. */
async function focused(page: Page): Promise<string> {
  const control = page.locator(":focus");
  const [role, name] = /- (\w+) "(.*?)"/.exec(await control.ariaSnapshot())?.slice(1) ?? [];
  return `${role}: ${name}`;
}

/** Waits until the focused control lies still, whole in the window, and no part of it or of its
 * outline under the bar; and sees that it has an outline. */
async function expectInView(page: Page, landing: LandingPage): Promise<void> {
  const control = page.locator(":focus");
  await expect(
    async () => {
      const seen = await control.evaluate((node) => {
        const { top, bottom, left, right } = node.getBoundingClientRect();
        const style = getComputedStyle(node);
        const width = style.outlineStyle === "none" ? 0 : Number.parseFloat(style.outlineWidth);
        const ring = Math.max(0, width + Number.parseFloat(style.outlineOffset));
        const isFixed = node.closest("header, .skip") !== null;
        const { innerHeight, innerWidth } = window;
        return { top, bottom, left, right, width, ring, isFixed, innerHeight, innerWidth };
      });
      const bar = await landing.bar.boundingBox();
      const lowest = seen.isFixed ? 0 : (bar?.y ?? 0) + (bar?.height ?? 0);
      expect(seen.width, "the outline's width").toBeGreaterThanOrEqual(2);
      expect(seen.top - seen.ring, "above").toBeGreaterThanOrEqual(lowest);
      expect(seen.bottom + seen.ring, "below").toBeLessThanOrEqual(seen.innerHeight);
      expect(seen.left, "left").toBeGreaterThanOrEqual(0);
      expect(seen.right, "right").toBeLessThanOrEqual(seen.innerWidth);
    },
    await focused(page),
  ).toPass({ timeout: 5_000 });
}

for (const width of [390, 1280]) {
  const controls = controlsAt(width);

  test.describe(`Tab at ${width} px`, { tag: "@once" }, () => {
    test.use({ viewport: { width, height: 800 } });

    test(`Tab leads through all controls in their order, in view, at ${width} px`, async ({
      landing,
      page,
    }) => {
      await landing.openAlive();
      await expect(landing.controls).toHaveCount(controls.length);
      for (const control of controls) {
        await page.keyboard.press("Tab");
        expect(await focused(page)).toBe(control);
        await expectInView(page, landing);
      }
      await page.keyboard.press("Tab");
      await expect(landing.controls.and(page.locator(":focus"))).toHaveCount(0);
    });

    test(`Shift+Tab leads back through all controls, in view, at ${width} px`, async ({
      landing,
      page,
    }) => {
      await landing.openAlive();
      await page.getByRole("link", { name: "Follow the launch" }).focus();
      for (const control of controls.slice(0, -1).reverse()) {
        await page.keyboard.press("Shift+Tab");
        expect(await focused(page)).toBe(control);
        await expectInView(page, landing);
      }
    });

    test(`each control comes in view from wherever the page is scrolled to, at ${width} px`, async ({
      landing,
      page,
    }) => {
      await page.emulateMedia({ reducedMotion: "reduce" });
      await landing.openAlive();
      for (const control of await page.locator("main").locator(landing.controls).all()) {
        // Half under the bar, and half below the window: there the browser moves least.
        for (const block of ["start", "end"] as const) {
          await page.mouse.move(0, 400);
          await control.evaluate((node, block) => {
            (document.activeElement as HTMLElement | null)?.blur();
            const { top, height } = node.getBoundingClientRect();
            const bar = document.querySelector("header")?.getBoundingClientRect().bottom ?? 0;
            scrollBy(0, top + height / 2 - (block === "start" ? bar : innerHeight));
          }, block);
          await control.focus();
          await page.keyboard.press("Shift");
          await expectInView(page, landing);
        }
      }
    });
  });
}

test("the skip link is the first stop and leads to the content", async ({ landing, page }) => {
  await landing.open();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
});
