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

  test("no word moves to another line while it plays on a phone", async ({ landing, page }) => {
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
    await page.clock.runFor(1000);
    await expect(landing.shownLines).toHaveCount(1);
    expect(await widths()).toEqual(dimmed);
    await page.clock.runFor(800);
    await expect(landing.shownLines).toHaveCount(2);
    expect(await widths()).toEqual(dimmed);
  });
});

/** Windows of common devices, also low ones. */
const WINDOWS = [
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

test.describe("before the scripts", { tag: "@once" }, () => {
  test("§4 the server sends the lines dimmed, and hydration reveals none", async ({
    landing,
    page,
  }) => {
    await page.clock.install();
    const release = await landing.holdRequests("**/islands/demo-terminal-*");
    await page.goto("/#demo", { waitUntil: "commit" });
    const texts = landing.lines.locator("span");
    await expect(texts).toHaveCount(9);
    for (const text of await texts.all()) await expect(text).not.toHaveCSS("opacity", "1");
    const lines = await landing.terminal.innerHTML();
    const isSame = (before: string) =>
      landing.terminal.evaluate(
        (list, before) => list.innerHTML.replaceAll(/ data-own(="")?/g, "") === before,
        before.replaceAll(/ data-own(="")?/g, ""),
      );
    release();
    await landing.waitForIslands("demo-terminal");
    expect(await isSame(lines)).toBe(true);
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

test.describe("the button of the terminal", { tag: "@once" }, () => {
  test("holds the run, lets it continue, and replays it after the end", async ({
    landing,
    page,
  }) => {
    await openStopped(page, landing);
    await showShare(page, landing, 0.9);
    await page.clock.runFor(1000 + 800);
    const button = (name: string) => landing.section("demo").getByRole("button", { name });
    const { width, height } = await boundingBox(button("Pause the demo"));
    expect(Math.min(width, height)).toBeGreaterThanOrEqual(44);
    await button("Pause the demo").press("Enter");
    await page.clock.runFor(60_000);
    await expect(landing.shownLines).toHaveCount(2);
    await button("Play the demo").press("Space");
    await page.clock.runFor(7 * 800);
    await expect(landing.shownLines).toHaveCount(9);
    await button("Replay the demo").click();
    await expect(landing.shownLines).toHaveCount(0);
    await page.clock.runFor(1000);
    await expect(landing.shownLines).toHaveCount(1);
  });

  test("is absent with reduced motion and in print", async ({ landing, page }) => {
    const button = landing.section("demo").getByRole("button");
    await landing.open();
    await expect(button).toBeVisible();
    await page.emulateMedia({ media: "print" });
    await expect(button).toBeHidden();
    await page.emulateMedia({ media: "screen", reducedMotion: "reduce" });
    await expect(button).toBeHidden();
  });
});

test(
  "the bubble and the shop appear with the message, not before",
  { tag: "@once" },
  async ({ landing, page }) => {
    await openStopped(page, landing);
    await showShare(page, landing, 0.9);
    const message = landing.lines.nth(7).locator("span");
    const shop = page.locator(".shop");
    await page.clock.runFor(1000 + 6 * 800);
    await expect(landing.shownLines).toHaveCount(7);
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
  "§4 with reduced motion all lines are shown, even before scripts load",
  { tag: "@once" },
  async ({ landing, page }) => {
    await page.emulateMedia({ reducedMotion: "reduce" });
    await landing.open();
    for (const text of await landing.lines.locator("span").all())
      await expect(text).toHaveCSS("opacity", "1");
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
