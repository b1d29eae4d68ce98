/** The page as translators and password managers leave it, before and after React takes over. */
import type { Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";
import type { LandingPage } from "../landing-page.ts";

const TYPED = "ada@example.com";

/** Puts every text into `<font>` elements, in another language: as Google Translate does. */
const translate = (page: Page) =>
  page.evaluate(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const texts: Text[] = [];
    while (walker.nextNode()) texts.push(walker.currentNode as Text);
    for (const text of texts) {
      if (!text.data.trim() || text.parentElement?.closest("font")) continue;
      const [outer, inner] = [document.createElement("font"), document.createElement("font")];
      outer.append(inner);
      text.replaceWith(outer);
      inner.append(text);
      text.data = text.data.replaceAll(/\p{L}+/gu, (word) => `«${word}»`);
    }
    document.documentElement.className = "translated-ltr";
    document.documentElement.lang = "de";
  });

/** What others do to a page: by name, what is done in the page. */
const MEDDLERS: Record<string, (page: Page) => Promise<void>> = {
  "a translator wraps every text": translate,
  "a translator edits every text in place": (page) =>
    page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode as Text;
        if (text.data.trim()) text.data = `«${text.data}»`;
      }
    }),
  "a password manager puts an icon after the field": (page) =>
    page.evaluate(() => {
      const icon = document.createElement("div");
      icon.className = "icon-of-a-password-manager";
      document.querySelector("input[type=email]")?.after(icon);
    }),
  "a password manager puts an icon before the field, and text around it": (page) =>
    page.evaluate(() => {
      const icon = document.createElement("span");
      icon.className = "icon-of-a-password-manager";
      document.querySelector("input[type=email]")?.before("  ", icon, document.createComment("x"));
    }),
  "a password manager wraps the field": (page) =>
    page.evaluate(() => {
      const field = document.querySelector("input[type=email]");
      const wrapper = document.createElement("span");
      field?.replaceWith(wrapper);
      if (field) wrapper.append(field);
    }),
  "an extension changes attributes and ends the form with its own": (page) =>
    page.evaluate(() => {
      document.querySelector("input[type=email]")?.setAttribute("data-extension-id", "1");
      document.querySelector("form")?.setAttribute("data-checked", "");
      document.querySelector("[data-island]")?.setAttribute("class", "checked");
      for (const form of document.forms) form.append(document.createElement("extension-root"));
      document.querySelector(".contact-links")?.prepend(document.createElement("extension-root"));
      document.querySelector(".terminal")?.append(document.createElement("extension-root"));
    }),
};

/** The email field, whatever its label reads by now. */
const field = (page: Page) => page.locator("input[type=email]");

/** Types, signs up, and sees the count and the toast: nothing throws, as the fixture sees. */
async function expectItWorks(page: Page, landing: LandingPage): Promise<void> {
  const before = Number.parseInt(
    (await page.locator(".waitlist-count").innerText()).match(/\d+/)?.[0] ?? "",
    10,
  );
  await field(page).fill(freshAddress());
  await landing.submit.click();
  await expect(landing.toasts).toContainText("added to the waitlist");
  await expect(page.locator(".waitlist-count")).toContainText(String(before + 1));
  // Typed and deleted: without that, it would be the second click of two.
  await field(page).fill("x");
  await field(page).fill("");
  await landing.submit.click();
  await expect(landing.toasts).toContainText("Please enter your email address");
  await translate(page);
  await landing.toasts.getByRole("button").click();
  await expect(landing.toasts).toHaveCount(0);
  await field(page).fill(freshAddress());
  await landing.submit.click();
  await expect(page.locator(".waitlist-count")).toContainText(String(before + 2));
}

test.describe("a page that others have changed", { tag: "@once" }, () => {
  for (const [what, meddle] of Object.entries(MEDDLERS)) {
    test(`${what} before hydration: what is typed stays, and so do the words`, async ({
      landing,
      page,
    }) => {
      const letGo = await landing.hold("**/pkg/*");
      await landing.open();
      await meddle(page);
      await landing.section("contact").scrollIntoViewIfNeeded();
      await field(page).focus();
      await page.keyboard.type(TYPED);
      const island = page.locator("[data-island=waitlist-form]");
      const words = await island.locator("label").first().innerText();
      const icons = await page.locator(".icon-of-a-password-manager, extension-root").count();
      letGo();
      await landing.ready("waitlist-form");
      await landing.ready("toaster");
      await expect(field(page)).toBeFocused();
      await page.keyboard.type("!");
      await expect(field(page)).toHaveValue(`${TYPED}!`);
      await expect(island.locator("label").first()).toHaveText(words);
      await expect(page.locator(".icon-of-a-password-manager, extension-root")).toHaveCount(icons);
      await expectItWorks(page, landing);
    });

    test(`${what} after hydration, and everything works`, async ({ landing, page }) => {
      await landing.openForm();
      await field(page).focus();
      await page.keyboard.type(TYPED);
      await meddle(page);
      await field(page).focus();
      await page.keyboard.type("!");
      await expect(field(page)).toHaveValue(`${TYPED}!`);
      await expectItWorks(page, landing);
    });
  }

  test("a translator that works while the islands load changes nothing", async ({
    landing,
    page,
  }) => {
    const letGo = await landing.hold("**/islands/waitlist-form-*");
    await landing.open();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await field(page).focus();
    await page.keyboard.type("ada");
    await translate(page);
    letGo();
    await page.keyboard.type("@example.com");
    await landing.ready("waitlist-form");
    await landing.ready("toaster");
    await expect(field(page)).toHaveValue(TYPED);
    await expect(field(page)).toBeFocused();
    await expect(page.locator("form label").first()).toHaveText("«Email» «address»");
    await expectItWorks(page, landing);
  });

  test("a translated terminal plays, and stays translated", async ({ landing, page }) => {
    await page.clock.install();
    await landing.open();
    await translate(page);
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.ready("demo-terminal");
    await page.locator(".terminal").evaluate((node) => node.scrollIntoView({ block: "center" }));
    await landing.observersTold();
    const shown = page.locator(".terminal-lines [data-state=shown]");
    await expect(shown).toHaveCount(0);
    await page.clock.runFor(1000 + 9 * 800);
    await expect(shown).toHaveCount(9);
    await expect(shown.first()).toContainText("«agent»");
  });

  test("turned to right-to-left, the drawings and the terminal keep their direction", async ({
    landing,
    page,
  }) => {
    await landing.open();
    await page.evaluate(() => {
      document.documentElement.dir = "rtl";
    });
    const drawings = page.locator("svg, .terminal");
    const directions = await drawings.evaluateAll((all) =>
      all.map((one) => getComputedStyle(one).direction),
    );
    expect(directions.length).toBeGreaterThan(8);
    expect(new Set(directions)).toEqual(new Set(["ltr"]));
    expect(await landing.overflow()).toBe(0);
  });

  test("a rebuilt island keeps the typed text and the focus", async ({ browser, site }) => {
    // Not the fixture's page: the console reports the rebuild.
    const page = await browser.newPage({ baseURL: site.origin });
    const said: string[] = [];
    page.on("console", (line) => said.push(line.text()));
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    await page.route("**/pkg/*", async (route) => {
      await held;
      await route.continue();
    });
    await page.goto("/");
    await page.locator(".waitlist button").evaluate((button) => button.remove());
    await field(page).focus();
    await page.keyboard.type(TYPED);
    letGo();
    await expect(page.locator(".waitlist button")).toHaveCount(1);
    await expect(field(page)).toHaveValue(TYPED);
    await expect(field(page)).toBeFocused();
    await page.keyboard.press("End");
    await page.keyboard.type("!");
    await expect(field(page)).toHaveValue(`${TYPED}!`);
    expect(said).toEqual([expect.stringMatching(/island waitlist-form was rebuilt/)]);
    await page.close();
  });
});

test(
  "a longer label of a button stays in it and in the window",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    const starts = page.locator(".nav-start, .hero .button");
    await starts.evaluateAll((buttons) => {
      for (const button of buttons) button.textContent = "Jetzt ganz kostenlos loslegen!";
    });
    for (const width of [320, 390, 768, 1280]) {
      await page.setViewportSize({ width, height: 800 });
      expect(await landing.overflow(), `${width} px`).toBe(0);
      const name = await landing.bar.getByRole("link", { name: "Steward" }).boundingBox();
      const start = await page.locator(".nav-start").filter({ visible: true }).boundingBox();
      if (!name || !start) throw new Error("the name or the button is not there");
      expect(name.x + name.width, `${width} px`).toBeLessThan(start.x);
      expect(start.y, `${width} px`).toBeGreaterThan(0);
      for (const start of await starts.filter({ visible: true }).all()) {
        const hidden = await start.evaluate((it) => [
          it.scrollWidth - it.clientWidth,
          it.scrollHeight - it.clientHeight,
        ]);
        expect(hidden, `${width} px`).toEqual([0, 0]);
      }
    }
  },
);
