/** Spec §4 and §9: the demo terminal. The tests that play it control the clock. */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";
import { boundingBox, type LandingPage } from "../support/landing-page.ts";

/** Scrolls until this share of the demo section is in view. */
async function showShare(page: Page, landing: LandingPage, share: number): Promise<void> {
  const section = await boundingBox(landing.section("demo"));
  const height = page.viewportSize()?.height ?? 0;
  await page.evaluate(
    (by) => scrollBy({ top: by, behavior: "instant" }),
    section.y + section.height * share - height,
  );
  await landing.waitForIntersectionObservers();
}

/** Opens the page, hydrates the terminal before it plays, and stops the clock. */
async function openStopped(page: Page, landing: LandingPage): Promise<void> {
  await page.clock.install({ time: new Date("2026-01-01T00:00:00Z") });
  await landing.open();
  // Far enough to hydrate it, even if a late font moves it down; not far enough to play it.
  await showShare(page, landing, 0.3);
  await landing.waitForIslands("demo-terminal");
  await page.clock.pauseAt(new Date("2026-01-01T01:00:00Z"));
}

// On a phone and on a desktop: whether half of the section is in view depends on the window.
test("§9 it starts when half of the section is in view, not before", async ({ landing, page }) => {
  await openStopped(page, landing);
  await showShare(page, landing, 0.45);
  await page.clock.runFor(5000);
  await expect(landing.shownLines).toHaveCount(0);

  await showShare(page, landing, 0.6);
  await page.clock.runFor(1000);
  await expect(landing.shownLines).toHaveCount(1);
});

test.describe("§4 playing", { tag: "@once" }, () => {
  test("§4 lines that are not reached yet are dimmed", async ({ landing, page }) => {
    await openStopped(page, landing);
    await showShare(page, landing, 1);
    await page.clock.runFor(1000 + 800);
    await expect(landing.shownLines).toHaveCount(2);
    await page.clock.resume();
    const text = (line: number) => landing.lines.nth(line).locator("span");
    await expect(text(0)).toHaveCSS("opacity", "1");
    await expect(text(8)).not.toHaveCSS("opacity", "1");
  });
});

test(
  "§4 with reduced motion all lines are shown, even before scripts load",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.open();
    const colours = await landing.lines.evaluateAll((lines) =>
      lines.map((line) => getComputedStyle(line).color),
    );
    expect(new Set(colours).size).toBe(1);
    await landing.section("demo").scrollIntoViewIfNeeded();
    await expect(landing.shownLines).toHaveCount(9);
  },
);

test(
  "§4 a screen reader finds the nine lines once, as text",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.waitForIslands("demo-terminal");
    await expect(landing.terminal).toMatchAriaSnapshot(`
    - list "A launch, line by line":
      - listitem: agent deploy --idea "small-batch hot sauce"
      - listitem: Business plan written
      - listitem: Logo and product photos ready
      - listitem: Website built
      - listitem: Payments connected
      - listitem: Launch campaign running
      - listitem: Customer support online
      - listitem: /SMS/
      - listitem: /Live at/
  `);
    const liveRegions = landing
      .section("demo")
      .locator("[aria-live], [role=status], [role=alert], [role=log]");
    await expect(liveRegions).toHaveCount(0);
    await expect(page.getByText("Business plan written")).toHaveCount(1);
  },
);
