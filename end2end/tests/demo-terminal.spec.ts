/** Spec §4 and §9: the demo terminal. The clock is the test's own. */
import type { Page } from "@playwright/test";
import { expect, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

/** Scrolls until the given share of the demo section is in view. */
async function show(page: Page, landing: LandingPage, share: number): Promise<void> {
  const section = await landing.section("demo").boundingBox();
  const height = page.viewportSize()?.height ?? 0;
  if (!section) throw new Error("there is no demo section");
  await page.evaluate(
    (by) => scrollBy({ top: by, behavior: "instant" }),
    section.y + section.height * share - height,
  );
  await landing.observersTold();
}

/** Opens the page, brings the terminal to life before it plays, and stops the clock. */
async function openStopped(page: Page, landing: LandingPage): Promise<void> {
  await page.clock.install({ time: new Date("2026-01-01T00:00:00Z") });
  await landing.open();
  // Near enough to start, also when a typeface that comes late moves it down.
  await show(page, landing, 0.3);
  await landing.ready("demo-terminal");
  await page.clock.pauseAt(new Date("2026-01-01T01:00:00Z"));
}

test("§4 the nine lines: command, six checks, the SMS with $29.99, the live site", async ({
  landing,
}) => {
  await landing.open();
  await expect(landing.lines).toHaveCount(9);
  const kinds = await landing.lines.evaluateAll((lines) =>
    lines.map((line) => line.getAttribute("data-kind")),
  );
  expect(kinds).toEqual(["command", ...Array(6).fill("check"), "sms", "result"]);
  await expect(landing.lines.nth(0)).toContainText("deploy");
  await expect(landing.lines.nth(7)).toContainText(/SMS.*first customer.*\$29\.99/i);
  await expect(landing.lines.nth(8)).toContainText(/live at https:/i);
});

test.describe("§4 §9 playing", { tag: "@motion" }, () => {
  test("§9 half in view → 1000 ms → a line every 800 ms, then it stops", async ({
    landing,
    page,
  }) => {
    await openStopped(page, landing);
    await show(page, landing, 0.45);
    await page.clock.runFor(5000);
    await expect(landing.shownLines).toHaveCount(0);

    await show(page, landing, 0.6);
    await page.clock.runFor(999);
    await expect(landing.shownLines).toHaveCount(0);
    await page.clock.runFor(1);
    await expect(landing.shownLines).toHaveCount(1);
    for (let line = 2; line <= 9; line += 1) {
      await page.clock.runFor(799);
      await expect(landing.shownLines).toHaveCount(line - 1);
      await page.clock.runFor(1);
      await expect(landing.shownLines).toHaveCount(line);
    }
    await page.clock.runFor(60_000);
    await expect(landing.shownLines).toHaveCount(9);
  });

  test("§4 lines not yet reached are dimmed, and still legible", async ({ landing, page }) => {
    await openStopped(page, landing);
    await show(page, landing, 1);
    await page.clock.runFor(1000 + 800);
    await expect(landing.shownLines).toHaveCount(2);
    await page.clock.resume();
    const text = (line: number) => landing.lines.nth(line).locator("span");
    await expect(text(0)).toHaveCSS("opacity", "1");
    await expect(text(8)).not.toHaveCSS("opacity", "1");
  });

  test("§4 leaving midway never starts a second run", async ({ landing, page }) => {
    await openStopped(page, landing);
    await show(page, landing, 0.6);
    await page.clock.runFor(1000 + 800);
    await expect(landing.shownLines).toHaveCount(2);
    await show(page, landing, 0.1);
    await page.clock.runFor(800);
    await show(page, landing, 0.6);
    await page.clock.runFor(800);
    await expect(landing.shownLines).toHaveCount(4);
    // Had a second run begun, there would be one line again, or lines in between.
    await page.clock.runFor(200);
    await expect(landing.shownLines).toHaveCount(4);
    await page.clock.runFor(5 * 800);
    await expect(landing.shownLines).toHaveCount(9);
    await page.clock.runFor(60_000);
    await expect(landing.shownLines).toHaveCount(9);
  });

  test("§4 coming back after the end plays again", async ({ landing, page }) => {
    await openStopped(page, landing);
    await show(page, landing, 0.6);
    await page.clock.runFor(1000 + 8 * 800);
    await expect(landing.shownLines).toHaveCount(9);
    await show(page, landing, 0.1);
    await show(page, landing, 0.6);
    await page.clock.runFor(1000);
    await expect(landing.shownLines).toHaveCount(1);
    await page.clock.runFor(8 * 800);
    await expect(landing.shownLines).toHaveCount(9);
  });
});

test("§4 under reduced motion all lines stand revealed, also before any script", async ({
  landing,
  page,
}) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await landing.open();
  const colours = await landing.lines.evaluateAll((lines) =>
    lines.map((line) => getComputedStyle(line).color),
  );
  expect(new Set(colours).size).toBe(1);
  await landing.section("demo").scrollIntoViewIfNeeded();
  await expect(landing.shownLines).toHaveCount(9);
});

test("§4 a screen reader gets the nine lines once, as text", async ({ landing, page }) => {
  await landing.open();
  await landing.section("demo").scrollIntoViewIfNeeded();
  await landing.ready("demo-terminal");
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
  const live = landing
    .section("demo")
    .locator("[aria-live], [role=status], [role=alert], [role=log]");
  await expect(live).toHaveCount(0);
  await expect(page.getByText("Business plan written")).toHaveCount(1);
});
