/** Spec §1 and §2: what the page says, and what links do that lead to a section. */
import { expect, startSite, test, uniqueEmail } from "../support/fixtures.ts";

test.describe("§1 landing page", { tag: "@everywhere" }, () => {
  test("§1 the page says what the agent does", async ({ readOnlyLanding: { page } }) => {
    const text = await page.getByRole("main").innerText();
    for (const promise of [
      /business plan/i,
      /launches your website/i,
      /runs your marketing/i,
      /texts you when sales come in/i,
      /chat assistant/i,
      /decentralized storage/i,
      /you own it/i,
      /unlimited scaling/i,
      /no platform shutdown/i,
    ]) {
      expect(text).toMatch(promise);
    }
  });

  test("§1 there are six feature cards", async ({ readOnlyLanding }) => {
    await expect(readOnlyLanding.section("features").getByRole("heading", { level: 3 })).toHaveText(
      [
        "S3-compatible storage",
        "File explorer",
        "Built-in editor",
        "Local credentials",
        "Analytics",
        "24/7 operation",
      ],
    );
  });

  test("§1 the agent is compared with a chat assistant in six rows", async ({
    readOnlyLanding,
  }) => {
    const rows = readOnlyLanding.section("comparison").getByRole("listitem");
    await expect(rows).toHaveCount(6);
    for (const row of await rows.all()) {
      await expect(row).toContainText("ChatGPT");
      await expect(row).toContainText("Steward");
    }
  });
});

test("§2 the header is fully visible at any width", { tag: "@once" }, async ({ landing, page }) => {
  await landing.open();
  for (const width of [320, 390, 768, 1280, 1920, 2560]) {
    await page.setViewportSize({ width, height: 800 });
    for (const link of await landing.header.getByRole("link").all()) {
      await expect.soft(link, `${width} px`).toBeInViewport({ ratio: 1 });
    }
  }
});

test(
  "§2 Tab continues from the section that a link led to",
  { tag: "@everywhere" },
  async ({ landing, page }) => {
    await landing.open();
    await page.getByRole("link", { name: "Get Started" }).click();
    await expect(landing.section("contact")).toBeFocused();
    await page.keyboard.press("Tab");
    await expect(landing.email).toBeFocused();
  },
);

test("§2 with reduced motion a link jumps", { tag: "@once" }, async ({ landing, page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await landing.open();
  await landing.nav.getByRole("link", { name: "Contact" }).click();
  await expect(landing.section("contact")).toBeFocused();
  const [first, later] = await page.evaluate(
    () =>
      new Promise<[number, number]>((resolve) => {
        const first = scrollY;
        requestAnimationFrame(() => requestAnimationFrame(() => resolve([first, scrollY])));
      }),
  );
  expect(first).toBe(later);
  expect(await landing.distanceBelowHeader("contact")).toBeLessThan(40);
});

test(
  "opening an anchor jumps, and a click after it scrolls smoothly",
  { tag: "@once" },
  async ({ page }) => {
    await page.addInitScript(() => {
      const positions: number[] = [];
      addEventListener("scroll", () => positions.push(scrollY));
      Object.assign(window, { positions });
    });
    const countPositions = () =>
      page.evaluate(() => new Set((window as unknown as { positions: number[] }).positions).size);
    await page.goto("/#contact");
    await page.waitForLoadState("networkidle");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(1000);
    // The page jumps once, and again when the fonts have moved the section.
    expect(await countPositions()).toBeLessThanOrEqual(3);
    // Again on a busy machine, which may draw few positions in between.
    const nav = page.getByRole("navigation");
    await expect(async () => {
      const before = await countPositions();
      await nav.getByRole("link", { name: "Contact" }).click();
      await nav.getByRole("link", { name: "Features" }).click();
      await expect.poll(countPositions, { timeout: 5_000 }).toBeGreaterThan(before + 5);
    }).toPass({ timeout: 40_000 });
  },
);

test(
  "§2 a footer link is a real link once its URL is configured",
  { tag: "@once" },
  async ({ page }) => {
    const site = await startSite("--privacy-url", "https://steward.example/privacy");
    await page.goto(site.origin);
    await expect(page.getByRole("link", { name: "Privacy" })).toHaveAttribute(
      "href",
      "https://steward.example/privacy",
    );
    await expect(page.getByText("Terms", { exact: true })).not.toHaveAttribute("href");
    // Leave the site before it stops, or the page would log failed requests.
    await page.goto("about:blank");
    await site.stop();
  },
);

test(
  "§3 the page contains the new count soon after a sign-up",
  { tag: "@once" },
  async ({ request, site }) => {
    await site.signUp(uniqueEmail());
    await expect(async () => {
      const page = await (await request.get("/")).text();
      expect(page).toContain(`${await site.count()} entrepreneurs already on the list`);
    }).toPass();
  },
);
