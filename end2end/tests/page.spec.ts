/** Spec §1 and §2: what the page says, in which order, and where its links lead. */
import { expect, startSite, test, uniqueEmail } from "../support/fixtures.ts";
import { ANCHORS } from "../support/landing-page.ts";

test.describe("§2 landing page", { tag: "@everywhere" }, () => {
  test("§2 the sections are in order", async ({ readOnlyLanding: { page } }) => {
    const headings = await page.getByRole("heading", { level: 2 }).allTextContents();
    expect(headings).toEqual([
      "A chat assistant tells you how. Steward gets it done.",
      "Open everything it makes",
      "Built so no one can switch you off",
      "From one command to the first customer",
      "Be among the first",
    ]);
    await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
    await expect(page).toHaveTitle("Steward — the AI agent that runs your business");
  });

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

  test("§2 every link of the header is in view, and there is no menu", async ({
    readOnlyLanding,
  }) => {
    await expect(readOnlyLanding.nav.getByRole("link")).toHaveText([
      "Features",
      "vs ChatGPT",
      "Demo",
      "Contact",
    ]);
    for (const link of await readOnlyLanding.header.getByRole("link").all()) {
      await expect(link).toBeInViewport();
    }
    const { page } = readOnlyLanding;
    await expect(page.getByRole("button", { name: /menu/i })).toHaveCount(0);
    await expect(page.getByRole("menu")).toHaveCount(0);
  });

  test("§2 the footer's links are placeholders and its copyright line says 2024", async ({
    readOnlyLanding: { footer },
  }) => {
    await expect(footer).toContainText("© 2024 Steward");
    for (const label of ["Privacy", "Terms", "Support"]) {
      const link = footer.getByText(label, { exact: true });
      await expect(link).toBeVisible();
      await expect(link).not.toHaveAttribute("href");
    }
  });

  test("§2 the contact section has a mailto link and a social link", async ({
    readOnlyLanding,
  }) => {
    const contact = readOnlyLanding.section("contact");
    await expect(contact.getByRole("link", { name: "Email us" })).toHaveAttribute(
      "href",
      "mailto:hello@steward.example",
    );
    await expect(contact.getByRole("link", { name: "Follow the launch" })).toHaveAttribute(
      "href",
      "https://social.example/@steward",
    );
  });

  test("§2 the header stays at the top and does not cover the hero", async ({ landing, page }) => {
    await landing.open();
    const header = await landing.header.boundingBox();
    const title = await page.getByRole("heading", { level: 1 }).boundingBox();
    expect(title?.y).toBeGreaterThan((header?.y ?? 0) + (header?.height ?? 0));
    await landing.footer.scrollIntoViewIfNeeded();
    await expect(landing.header).toBeInViewport({ ratio: 1 });
    expect(await landing.header.boundingBox()).toEqual(header);
  });

  test("§2 nothing overflows and the header is fully visible at any width", async ({
    landing,
    page,
  }) => {
    await landing.open();
    for (const width of [320, 390, 768, 1280, 1920, 2560]) {
      await page.setViewportSize({ width, height: 800 });
      expect.soft(await landing.horizontalOverflow(), `${width} px`).toBe(0);
      for (const link of await landing.header.getByRole("link").all()) {
        await expect.soft(link, `${width} px`).toBeInViewport({ ratio: 1 });
      }
    }
  });
});

test.describe("§2 links scroll to their section", { tag: "@everywhere" }, () => {
  test.beforeEach(({ landing }) => landing.open());

  for (const [place, name, anchor] of [
    ["nav", "Features", "features"],
    ["nav", "vs ChatGPT", "comparison"],
    ["nav", "Demo", "demo"],
    ["nav", "Contact", "contact"],
    ["page", "Get Started", "contact"],
    ["page", "Launch Your AI Agent", "contact"],
    ["page", "Watch Demo", "demo"],
    ["page", "Start Your Agent Now", "contact"],
  ] as const) {
    test(`§2 ${name} scrolls to #${anchor}, below the header, and focuses it`, async ({
      landing,
      page,
    }) => {
      await landing[place].getByRole("link", { name, exact: true }).click();
      await expect(page).toHaveURL(`/#${anchor}`);
      await expect.poll(() => landing.distanceBelowHeader(anchor)).toBeGreaterThanOrEqual(-4);
      await expect.poll(() => landing.distanceBelowHeader(anchor)).toBeLessThan(40);
      await expect(landing.section(anchor)).toBeFocused();
    });
  }

  test("§2 Tab continues from the section that a link led to", async ({ landing, page }) => {
    await page.getByRole("link", { name: "Get Started" }).click();
    await expect(landing.section("contact")).toBeFocused();
    await page.keyboard.press("Tab");
    await expect(landing.email).toBeFocused();
  });
});

test("§2 scrolling to a section is smooth @motion", async ({ landing, page }) => {
  // Again on a busy machine, which may draw few positions, or none, in between.
  await expect(async () => {
    await landing.open();
    const positions = page.evaluate(
      () =>
        new Promise<number>((resolve) => {
          const seen = new Set<number>();
          addEventListener("scroll", () => seen.add(scrollY));
          addEventListener("scrollend", () => resolve(seen.size), { once: true });
        }),
    );
    await landing.nav.getByRole("link", { name: "Contact" }).click();
    expect(await positions).toBeGreaterThan(3);
  }).toPass({ timeout: 40_000 });
});

test("§2 with reduced motion a link jumps", async ({ landing, page }) => {
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

test("§2 every anchor can be opened directly @everywhere", async ({ landing, page }) => {
  for (const anchor of ANCHORS) {
    // Leave the page first, or the next address would only scroll it.
    await page.goto("about:blank");
    await page.goto(`/#${anchor}`);
    await expect.poll(() => landing.distanceBelowHeader(anchor)).toBeGreaterThanOrEqual(-4);
    await expect.poll(() => landing.distanceBelowHeader(anchor)).toBeLessThan(40);
  }
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

test.describe("§2 any other path", { tag: "@everywhere" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  test("§2 shows the not-found page with a link to the landing page", async ({ landing, page }) => {
    const response = await page.goto("/no/such/page");
    expect(response?.status()).toBe(404);
    await expect(page).toHaveTitle("404 Page Not Found");
    await expect(page.getByText("Did you forget to add the page to the router?")).toBeVisible();
    expect(await landing.horizontalOverflow()).toBe(0);
    await page.getByRole("link", { name: "Go to Home Page" }).click();
    await expect(page).toHaveURL("/");
  });

  test("§2 has a header that links to the sections of the landing page", async ({
    landing,
    page,
  }) => {
    await page.goto("/nothing");
    await landing.nav.getByRole("link", { name: "Demo" }).click();
    await expect(page).toHaveURL("/#demo");
    await expect(landing.section("demo")).toBeInViewport();
  });
});

test("§2 a footer link is a real link once its URL is configured", async ({ page }) => {
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
});

test("§3 the page contains the new count soon after a sign-up", async ({ request, site }) => {
  await site.signUp(uniqueEmail());
  await expect(async () => {
    const page = await (await request.get("/")).text();
    expect(page).toContain(`${await site.count()} entrepreneurs already on the list`);
  }).toPass();
});
