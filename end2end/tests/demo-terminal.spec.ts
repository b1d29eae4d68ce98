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

test(
  "no word moves to another line while it plays on a phone",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.setViewportSize({ width: 390, height: 844 });
    await openStopped(page, landing);
    await showShare(page, landing, 0.6);
    const widths = () =>
      landing.lines
        .locator("span")
        .evaluateAll((texts) =>
          texts.map((text) => [...text.getClientRects()].map(({ width }) => Math.round(width))),
        );
    const dimmed = await widths();
    await page.clock.runFor(1050);
    await expect(landing.shownLines).toHaveCount(1);
    expect(await widths()).toEqual(dimmed);
    await page.clock.runFor(800);
    await expect(landing.shownLines).toHaveCount(2);
    expect(await widths()).toEqual(dimmed);
  },
);

/** Windows of common devices, also low ones. */
const WINDOWS = [
  [320, 568],
  [844, 390],
  [360, 640],
  [390, 844],
  [768, 1024],
  [1280, 720],
  [1280, 800],
  [1366, 650],
  [1440, 789],
  [1536, 730],
  [1920, 1080],
] as const;

test.describe("in the window", { tag: "@once" }, () => {
  for (const [width, height] of WINDOWS) {
    test(`"Watch Demo" shows all lines and the button at ${width} × ${height} px`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height });
      await page.emulateMedia({ reducedMotion: "reduce" });
      await landing.open();
      await page.getByRole("link", { name: "Watch Demo" }).click();
      const header = await boundingBox(landing.bar);
      const top = async () => (await boundingBox(landing.section("demo"))).y;
      await expect.poll(top).toBeLessThan(header.height + 4);
      const title = await boundingBox(landing.section("demo").getByRole("heading"));
      expect(title.y).toBeGreaterThan(header.y + header.height);
      const button = await boundingBox(page.getByRole("link", { name: "Start Your Agent Now" }));
      expect(button.y + button.height).toBeLessThanOrEqual(height);
      const last = await boundingBox(landing.lines.last());
      expect(last.y + last.height).toBeLessThan(button.y);
    });
  }

  test("the button below the terminal is as large as the first one of the page", async ({
    landing,
    page,
  }) => {
    await landing.open();
    const look = (name: string) =>
      page.getByRole("link", { name }).evaluate((button) => {
        const { blockSize, fontSize, paddingInlineStart } = getComputedStyle(button);
        return { blockSize, fontSize, paddingInlineStart };
      });
    expect(await look("Start Your Agent Now")).toEqual(await look("Launch Your AI Agent"));
  });
});

test(
  "§4 without JavaScript all lines and the shop are shown, and no button",
  { tag: "@no-javascript" },
  async ({ landing, page }) => {
    await landing.open();
    await expect(landing.lines).toHaveCount(9);
    for (const text of await landing.lines.locator("span").all())
      await expect(text).toHaveCSS("opacity", "1");
    await expect(landing.section("demo").getByRole("button")).toHaveCount(0);
    const isWide = (page.viewportSize()?.width ?? 0) >= 1280;
    await expect(page.locator(".shop")).toBeVisible({ visible: isWide });
  },
);

test(
  "§4 lines that are not reached are dimmed, and the bubble and the shop appear with the message",
  { tag: "@once" },
  async ({ landing, page }) => {
    await openStopped(page, landing);
    await showShare(page, landing, 0.9);
    const message = landing.lines.nth(7).locator("span");
    const shop = page.locator(".shop");
    await landing.revealLines(7);
    await expect(landing.shownLines).toHaveCount(7);
    await expect(landing.lines.nth(6).locator("span")).toHaveCSS("opacity", "1");
    await expect(message).not.toHaveCSS("opacity", "1");
    await expect(message).toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
    await expect(shop).toBeHidden();
    const place = await boundingBox(landing.terminal);
    await page.clock.runFor(800);
    await expect(landing.shownLines).toHaveCount(8);
    await expect(message).not.toHaveCSS("background-color", "rgba(0, 0, 0, 0)");
    await expect(shop).toBeVisible();
    expect(await boundingBox(landing.terminal)).toEqual(place);
  },
);

test(
  "§4 in the visitor's own colours a message that is not reached has no bubble either",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.emulateMedia({ forcedColors: "active" });
    await openStopped(page, landing);
    await showShare(page, landing, 0.9);
    const message = landing.lines.nth(7).locator("span");
    await landing.revealLines(7);
    await expect(message).toHaveCSS("border-color", "rgba(0, 0, 0, 0)");
    await page.clock.runFor(800);
    await expect(landing.shownLines).toHaveCount(8);
    await expect(message).not.toHaveCSS("border-color", "rgba(0, 0, 0, 0)");
  },
);

test(
  "§4 with reduced motion all lines are shown, even before scripts load, and no button",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.open();
    for (const text of await landing.lines.locator("span").all())
      await expect(text).toHaveCSS("opacity", "1");
    await expect(landing.section("demo").getByRole("button")).toHaveCount(0);
    await landing.section("demo").scrollIntoViewIfNeeded();
    await expect(landing.shownLines).toHaveCount(9);
  },
);
