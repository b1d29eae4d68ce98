/** What visitors do that is not in the specification: their keyboards, windows, links and settings. */
import { addStyle, expect, freshAddress, test } from "../fixtures.ts";

test.describe("keyboards", { tag: "@once" }, () => {
  test("F8 without a toast does nothing and draws nothing", async ({ landing, page }) => {
    await landing.openForm();
    await landing.email.focus();
    await page.keyboard.press("F8");
    await expect(landing.email).toBeFocused();
  });

  for (const [how, keys] of [
    ["Escape", ["Tab", "Escape"]],
    ["its button", ["Tab", "Tab", "Enter"]],
  ] as const) {
    test(`after a toast was closed by ${how} the focus is where it was`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.submit.click();
      await expect(landing.email).toBeFocused();
      await page.keyboard.press("F8");
      for (const key of keys) await page.keyboard.press(key);
      await expect(landing.toasts).toHaveCount(0);
      await expect(landing.email).toBeFocused();
    });
  }

  test("a tooltip is there also when Tab has scrolled to its link", async ({ landing, page }) => {
    await page.setViewportSize({ width: 1280, height: 400 });
    await landing.openForm();
    await landing.ready("contact-links");
    await landing.submit.focus();
    await landing.submit.evaluate((button) =>
      button.scrollIntoView({ block: "end", behavior: "instant" }),
    );
    await landing.observersTold();
    const before = await page.evaluate(() => scrollY);
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(before);
    await expect(page.getByRole("link", { name: "Email us" })).toBeFocused();
    await expect(page.getByRole("tooltip")).toHaveCount(1);
    await page.keyboard.press("Escape");
    await expect(page.getByRole("tooltip")).toHaveCount(0);
  });

  for (const width of [320, 390, 768, 1280]) {
    test(`the order in the document is the order of the eye at ${width} px`, async ({
      landing,
      page,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      await landing.open();
      const controls = landing.bar.locator("a:visible");
      const places = await controls.evaluateAll((all) =>
        all.map((one) => {
          const { top, bottom, left } = one.getBoundingClientRect();
          return { row: Math.round((top + bottom) / 2 / 10), left };
        }),
      );
      expect(places).toHaveLength(6);
      const sorted = places.toSorted((a, b) => a.row - b.row || a.left - b.left);
      expect(places).toEqual(sorted);
    });
  }
});

test.describe("links", { tag: "@once" }, () => {
  test("the address of a section is jumped to, and a click scrolls smoothly", async ({ page }) => {
    await page.addInitScript(() => {
      const places: number[] = [];
      addEventListener("scroll", () => places.push(scrollY));
      Object.assign(window, { places });
    });
    const places = () => page.evaluate(() => (window as unknown as { places: number[] }).places);
    await page.goto("/#contact");
    await page.waitForLoadState("networkidle");
    await expect.poll(() => page.evaluate(() => scrollY)).toBeGreaterThan(1000);
    // The second place is where it stands once the fonts are there.
    expect(new Set(await places()).size, "no way to it").toBeLessThanOrEqual(3);
    await page.getByRole("navigation").getByRole("link", { name: "Features" }).click();
    await expect.poll(async () => new Set(await places()).size).toBeGreaterThan(5);
  });
});

test.describe("words", { tag: "@once" }, () => {
  const LONG = "Donaudampfschifffahrtselektrizitätenhaupt";

  test("of forty letters widen neither the page nor a toast", async ({ landing, page }) => {
    await page.setViewportSize({ width: 320, height: 800 });
    await landing.openForm();
    await landing.submit.click();
    await landing.keepToast();
    await page.evaluate((long) => {
      for (const node of document.querySelectorAll(
        "h1 span, h2, h3, p, .toast-text, .toast-title, label, b",
      )) {
        if (node.childElementCount === 0) node.textContent = long;
      }
    }, LONG);
    expect(await landing.overflow()).toBe(0);
    const over = await landing.toasts.evaluate((toast) => toast.scrollWidth - toast.clientWidth);
    expect(over).toBeLessThanOrEqual(0);
  });
});

test.describe("settings", { tag: "@once" }, () => {
  test("more contrast strengthens the hairlines", async ({ landing, page }) => {
    await landing.open();
    const line = () =>
      page.locator(".footer").evaluate((footer) => getComputedStyle(footer).borderTopColor);
    const usual = await line();
    await page.emulateMedia({ contrast: "more" });
    expect(await line()).not.toBe(usual);
  });

  test("a wide screen is used: larger letters and a wider frame", async ({ landing, page }) => {
    await landing.open();
    const widths: number[] = [];
    for (const width of [1920, 2560, 3840]) {
      await page.setViewportSize({ width, height: 1080 });
      const table = await page.locator(".comparison-table").boundingBox();
      widths.push((table?.width ?? 0) / width);
      expect(await landing.overflow()).toBe(0);
    }
    for (const share of widths) expect(share).toBeGreaterThan(0.62);
  });

  test("letters that are twice as large fit into the contact sheet", async ({ landing, page }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await landing.open();
    await addStyle(page, "html { font-size: 200%; }");
    expect(await landing.overflow()).toBe(0);
    await landing.email.fill(freshAddress());
  });
});
