/** The page still works after translators, password managers and extensions have modified it. */
import type { Page } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import type { LandingPage } from "../support/landing-page.ts";

const TYPED = "ada@example.com";

/** Wraps every text in `<font>` elements and replaces it, as Google Translate does. */
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

/** Modifications that third-party programs make to a page. */
const MODIFICATIONS: Record<string, (page: Page) => Promise<void>> = {
  "a translator wraps every text": translate,
  "a translator edits every text in place": (page) =>
    page.evaluate(() => {
      const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      while (walker.nextNode()) {
        const text = walker.currentNode as Text;
        if (text.data.trim()) text.data = `«${text.data}»`;
      }
    }),
  "a password manager adds an icon after the field": (page) =>
    page.evaluate(() => {
      const icon = document.createElement("div");
      icon.className = "password-manager-icon";
      document.querySelector("input[type=email]")?.after(icon);
    }),
  "a password manager adds an icon, text and a comment before the field": (page) =>
    page.evaluate(() => {
      const icon = document.createElement("span");
      icon.className = "password-manager-icon";
      document.querySelector("input[type=email]")?.before("  ", icon, document.createComment("x"));
    }),
  "a password manager wraps the field": (page) =>
    page.evaluate(() => {
      const field = document.querySelector("input[type=email]");
      const wrapper = document.createElement("span");
      field?.replaceWith(wrapper);
      if (field) wrapper.append(field);
    }),
  "an extension sets attributes and adds elements": (page) =>
    page.evaluate(() => {
      document.querySelector("input[type=email]")?.setAttribute("data-extension-id", "1");
      document.querySelector("form")?.setAttribute("data-checked", "");
      document.querySelector("[data-island]")?.setAttribute("class", "checked");
      for (const form of document.forms) form.append(document.createElement("extension-root"));
      document.querySelector(".contact-links")?.prepend(document.createElement("extension-root"));
      document.querySelector(".terminal")?.append(document.createElement("extension-root"));
    }),
};

/** The email field, whose label may be translated. */
const emailField = (page: Page) => page.locator("input[type=email]");

/** Signs up twice, with an error in between, and checks the toasts and the count. */
async function expectFormWorks(page: Page, landing: LandingPage): Promise<void> {
  const count = page.locator(".waitlist-count");
  const before = Number.parseInt((await count.innerText()).match(/\d+/)?.[0] ?? "", 10);
  await emailField(page).fill(uniqueEmail());
  await landing.submit.click();
  await expect(landing.toasts).toContainText("added to the waitlist");
  await expect(count).toContainText(String(before + 1));
  // Type and delete, or the next click counts as part of a double click.
  await emailField(page).fill("x");
  await emailField(page).fill("");
  await landing.submit.click();
  await expect(landing.toasts).toContainText("Please enter your email address");
  await translate(page);
  await landing.toasts.getByRole("button").click();
  await expect(landing.toasts).toHaveCount(0);
  await emailField(page).fill(uniqueEmail());
  await landing.submit.click();
  await expect(count).toContainText(String(before + 2));
}

test.describe("a modified page", { tag: "@once" }, () => {
  for (const [modification, modify] of Object.entries(MODIFICATIONS)) {
    test(`before hydration ${modification}: typed text and labels stay, and the form works`, async ({
      landing,
      page,
    }) => {
      const release = await landing.holdRequests("**/pkg/*");
      await landing.open();
      await modify(page);
      await landing.section("contact").scrollIntoViewIfNeeded();
      await emailField(page).focus();
      await page.keyboard.type(TYPED);
      const label = page.locator("[data-island=waitlist-form] label").first();
      const labelText = await label.innerText();
      const addedElements = page.locator(".password-manager-icon, extension-root");
      const addedCount = await addedElements.count();
      release();
      await landing.waitForIslands("waitlist-form", "toaster");
      await expect(emailField(page)).toBeFocused();
      await page.keyboard.type("!");
      await expect(emailField(page)).toHaveValue(`${TYPED}!`);
      await expect(label).toHaveText(labelText);
      await expect(addedElements).toHaveCount(addedCount);
      await expectFormWorks(page, landing);
    });

    test(`after hydration ${modification}: typed text stays, and the form works`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await emailField(page).focus();
      await page.keyboard.type(TYPED);
      await modify(page);
      await emailField(page).focus();
      await page.keyboard.type("!");
      await expect(emailField(page)).toHaveValue(`${TYPED}!`);
      await expectFormWorks(page, landing);
    });
  }

  test("a translation while the islands load changes nothing", async ({ landing, page }) => {
    const release = await landing.holdRequests("**/islands/waitlist-form-*");
    await landing.open();
    await landing.section("contact").scrollIntoViewIfNeeded();
    await emailField(page).focus();
    await page.keyboard.type("ada");
    await translate(page);
    release();
    await page.keyboard.type("@example.com");
    await landing.waitForIslands("waitlist-form", "toaster");
    await expect(emailField(page)).toHaveValue(TYPED);
    await expect(emailField(page)).toBeFocused();
    await expect(page.locator("form label").first()).toHaveText("«Email» «address»");
    await expectFormWorks(page, landing);
  });

  test("a translated terminal plays and stays translated", async ({ landing, page }) => {
    await page.clock.install();
    await landing.open();
    await translate(page);
    await landing.section("demo").scrollIntoViewIfNeeded();
    await landing.waitForIslands("demo-terminal");
    await expect(landing.shownLines).toHaveCount(0);
    await landing.playTerminal();
    await expect(landing.shownLines.first()).toContainText("«agent»");
  });

  test("in a right-to-left translation the drawings and the terminal stay left-to-right", async ({
    landing,
    page,
  }) => {
    await landing.open();
    await page.evaluate(() => {
      document.documentElement.dir = "rtl";
    });
    const directions = await page
      .locator("svg, .terminal")
      .evaluateAll((nodes) => nodes.map((node) => getComputedStyle(node).direction));
    expect(directions.length).toBeGreaterThan(8);
    expect(new Set(directions)).toEqual(new Set(["ltr"]));
    expect(await landing.horizontalOverflow()).toBe(0);
  });
});
