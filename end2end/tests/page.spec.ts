/** Spec §1 and §2: what the page says, in which order, and where its links lead. */
import { expect, freshAddress, Site, test } from "../fixtures.ts";
import { ANCHORS } from "../landing-page.ts";

test.describe("§2 landing page", { tag: "@everybody" }, () => {
  test.beforeEach(({ landing }) => landing.open());

  test("§2 sections stand in their order", async ({ page }) => {
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

  test("§1 the page says what the agent does", async ({ page }) => {
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

  test("§1 six feature cards", async ({ landing }) => {
    await expect(landing.section("features").getByRole("heading", { level: 3 })).toHaveText([
      "S3-compatible storage",
      "File explorer",
      "Built-in editor",
      "Local credentials",
      "Analytics",
      "24/7 operation",
    ]);
  });

  test("§1 compared with a chat assistant point by point", async ({ landing }) => {
    const rows = landing.section("comparison").getByRole("listitem");
    await expect(rows).toHaveCount(6);
    for (const row of await rows.all()) {
      await expect(row).toContainText("ChatGPT");
      await expect(row).toContainText("Steward");
    }
  });

  test("§2 no menu is shown and every link of the bar is in view", async ({ landing, page }) => {
    await expect(landing.nav.getByRole("link")).toHaveText([
      "Features",
      "vs ChatGPT",
      "Demo",
      "Contact",
    ]);
    for (const link of await landing.bar.getByRole("link").all())
      await expect(link).toBeInViewport();
    await expect(page.getByRole("button", { name: /menu/i })).toHaveCount(0);
    await expect(page.getByRole("menu")).toHaveCount(0);
  });

  test("§2 the bar stays at the top and covers nothing of the hero", async ({ landing, page }) => {
    const bar = await landing.bar.boundingBox();
    const title = await page.getByRole("heading", { level: 1 }).boundingBox();
    expect(title?.y).toBeGreaterThan((bar?.y ?? 0) + (bar?.height ?? 0));
    await landing.footer.scrollIntoViewIfNeeded();
    await expect(landing.bar).toBeInViewport({ ratio: 1 });
    expect(await landing.bar.boundingBox()).toEqual(bar);
  });

  for (const width of [320, 390, 768, 1280, 1920, 2560]) {
    test(`§2 nothing overflows and the bar is whole at ${width} px`, async ({ landing, page }) => {
      await page.setViewportSize({ width, height: 800 });
      expect(await landing.overflow()).toBe(0);
      for (const link of await landing.bar.getByRole("link").all()) {
        await expect(link).toBeInViewport({ ratio: 1 });
      }
    });
  }

  test("§2 footer links are placeholders and the line says 2024", async ({ landing }) => {
    await expect(landing.footer).toContainText("© 2024 Steward");
    for (const label of ["Privacy", "Terms", "Support"]) {
      const link = landing.footer.getByText(label, { exact: true });
      await expect(link).toBeVisible();
      await expect(link).not.toHaveAttribute("href");
    }
  });

  test("§2 contact has a mailto link and a social link", async ({ landing }) => {
    const contact = landing.section("contact");
    await expect(contact.getByRole("link", { name: "Email us" })).toHaveAttribute(
      "href",
      "mailto:hello@steward.example",
    );
    await expect(contact.getByRole("link", { name: "Follow the launch" })).toHaveAttribute(
      "href",
      "https://social.example/@steward",
    );
  });
});

test.describe("§2 links scroll to their section", { tag: "@everybody" }, () => {
  test.beforeEach(({ landing }) => landing.open());

  const links = [
    ["Main", "Features", "features"],
    ["Main", "vs ChatGPT", "comparison"],
    ["Main", "Demo", "demo"],
    ["Main", "Contact", "contact"],
    ["", "Get Started", "contact"],
    ["", "Launch Your AI Agent", "contact"],
    ["", "Watch Demo", "demo"],
    ["", "Start Your Agent Now", "contact"],
  ] as const;
  for (const [place, name, anchor] of links) {
    test(`§2 ${name} goes to ${anchor}, below the bar, with the focus`, async ({
      landing,
      page,
    }) => {
      const within = place ? landing.nav : page;
      await within.getByRole("link", { name, exact: true }).click();
      await expect(page).toHaveURL(`/#${anchor}`);
      await expect.poll(() => landing.distanceBelowBar(anchor)).toBeGreaterThanOrEqual(-4);
      await expect.poll(() => landing.distanceBelowBar(anchor)).toBeLessThan(40);
      await expect(landing.section(anchor)).toBeFocused();
    });
  }

  test("§2 the next Tab goes on from the section that a link led to", async ({ landing, page }) => {
    await page.getByRole("link", { name: "Get Started" }).click();
    await expect(landing.section("contact")).toBeFocused();
    await page.keyboard.press("Tab");
    await expect(landing.email).toBeFocused();
  });
});

test("§2 scrolling to a section is smooth @motion", async ({ landing, page }) => {
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
});

test("§2 under reduced motion a link jumps at once", async ({ landing, page }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await landing.open();
  await landing.nav.getByRole("link", { name: "Contact" }).click();
  await expect(landing.section("contact")).toBeFocused();
  const after = await page.evaluate(
    () =>
      new Promise<number[]>((resolve) => {
        const first = scrollY;
        requestAnimationFrame(() => requestAnimationFrame(() => resolve([first, scrollY])));
      }),
  );
  expect(after[0]).toBe(after[1]);
  expect(await landing.distanceBelowBar("contact")).toBeLessThan(40);
});

test("§2 every anchor can be opened directly @everybody", async ({ landing, page }) => {
  for (const anchor of ANCHORS) {
    // From elsewhere: within the page it would be a link's jump.
    await page.goto("about:blank");
    await page.goto(`/#${anchor}`);
    await expect.poll(() => landing.distanceBelowBar(anchor)).toBeGreaterThanOrEqual(-4);
    await expect.poll(() => landing.distanceBelowBar(anchor)).toBeLessThan(40);
  }
});

test.describe("§2 any other path", { tag: "@everybody" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  test("§2 is the not-found page, with a way home", async ({ landing, page }) => {
    const response = await page.goto("/no/such/page");
    expect(response?.status()).toBe(404);
    await expect(page).toHaveTitle("404 Page Not Found");
    await expect(page.getByText("Did you forget to add the page to the router?")).toBeVisible();
    expect(await landing.overflow()).toBe(0);
    await page.getByRole("link", { name: "Go to Home Page" }).click();
    await expect(page).toHaveURL("/");
  });

  test("§2 its bar leads to the sections of the landing page", async ({ landing, page }) => {
    await page.goto("/nothing");
    await landing.nav.getByRole("link", { name: "Demo" }).click();
    await expect(page).toHaveURL("/#demo");
    await expect(landing.section("demo")).toBeInViewport();
  });
});

test("§2 footer links are real links when their address is configured", async ({ page }) => {
  const site = await Site.start("--privacy-url", "https://steward.example/privacy");
  await page.goto(site.origin);
  await expect(page.getByRole("link", { name: "Privacy" })).toHaveAttribute(
    "href",
    "https://steward.example/privacy",
  );
  await expect(page.getByText("Terms", { exact: true })).not.toHaveAttribute("href");
  // It would miss the site.
  await page.goto("about:blank");
  await site.stop();
});

test("§3 the page itself tells the count, a moment after a sign-up", async ({ request, site }) => {
  await site.join(freshAddress());
  await expect(async () => {
    const page = await (await request.get("/")).text();
    expect(page).toContain(`${await site.count()} entrepreneurs already on the list`);
  }).toPass();
});

test("on paper every line is legible and nothing lies over it", async ({ landing, page }) => {
  await landing.open();
  await page.emulateMedia({ media: "print" });
  await expect(landing.bar).toBeHidden();
  const colours = await landing.lines.evaluateAll((lines) =>
    lines.map((line) => getComputedStyle(line).color),
  );
  expect(new Set(colours)).toEqual(new Set(["rgb(0, 0, 0)"]));
});
