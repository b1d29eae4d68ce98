/** Spec §1 and §2: what the page says, and how it scrolls to a section. */
import type { Page } from "@playwright/test";
import { expect, test } from "../support/fixtures.ts";

const PROMISES = [
  /business plan/i,
  /launches your website/i,
  /runs your marketing/i,
  /texts you when sales come in/i,
  /chat assistant/i,
  /decentralized storage/i,
  /you own it/i,
  /unlimited scaling/i,
  /no platform shutdown/i,
];
const FEATURES = [
  "S3-compatible storage",
  "File explorer",
  "Built-in editor",
  "Local credentials",
  "Analytics",
  "24/7 operation",
];

test(
  "§1 the page says what the agent does, has six features, and compares it with a chat assistant",
  { tag: "@everywhere" },
  async ({ landing, page }) => {
    await landing.open();
    const text = await page.getByRole("main").innerText();
    for (const promise of PROMISES) expect(text).toMatch(promise);
    const features = landing.section("features").getByRole("heading", { level: 3 });
    await expect(features).toHaveText(FEATURES);
    const rows = landing.section("comparison").getByRole("listitem");
    await expect(rows).toHaveCount(6);
    for (const row of await rows.all()) {
      await expect(row).toContainText("A chat assistant");
      await expect(row).toContainText("Steward");
    }
  },
);

test("§2 the header is fully visible at any width", { tag: "@once" }, async ({ landing, page }) => {
  await landing.open();
  for (const width of [320, 390, 768, 1280, 1920, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    for (const link of await landing.header.getByRole("link").all()) {
      await expect.soft(link, `${width} px`).toBeInViewport({ ratio: 1 });
    }
  }
});

/** Records the positions of the page. The returned function returns how many different ones there were. */
async function countPositions(page: Page): Promise<() => Promise<number>> {
  await page.addInitScript(() => {
    const positions = new Set<number>();
    addEventListener("scroll", () => positions.add(scrollY));
    Object.assign(window, { positions });
  });
  return () =>
    page.evaluate(() => (window as unknown as { positions: Set<number> }).positions.size);
}

test(
  "§2 opening an anchor jumps, and a click after it scrolls smoothly, but not with reduced motion",
  { tag: "@once" },
  async ({ landing, page }) => {
    const positions = await countPositions(page);
    await page.goto("/#contact");
    await page.waitForLoadState("networkidle");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(1000);
    // The page jumps once, and again when the fonts have moved the section.
    expect(await positions()).toBeLessThanOrEqual(3);
    const follow = (name: string) => landing.nav.getByRole("link", { name }).click();
    // Again on a busy machine, which may draw few positions in between.
    await expect(async () => {
      const before = await positions();
      await follow("Contact");
      await follow("Features");
      await expect.poll(positions, { timeout: 5_000 }).toBeGreaterThan(before + 5);
    }).toPass({ timeout: 40_000 });

    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.scrollToTop();
    await landing.waitForIntersectionObservers();
    await follow("Contact");
    await expect(landing.section("contact")).toBeFocused();
    const position = await page.evaluate(() => scrollY);
    expect(position).toBeGreaterThan(1000);
    await landing.waitForIntersectionObservers();
    expect(await page.evaluate(() => scrollY)).toBe(position);
  },
);
