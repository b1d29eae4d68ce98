/** The page in print. */
import { measureContrast, tooLow } from "../support/contrast.ts";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";
import { boundingBox } from "../support/landing-page.ts";
import { confirmingTest } from "../support/mail-server.ts";

const DRAWN_LINES = ".scene :is(path, rect, circle):not(.wash, .caret)";

for (const colorScheme of ["light", "dark"] as const) {
  test(
    `the page prints black on white with all lines of the terminal, and without controls, in the ${colorScheme} scheme`,
    { tag: "@once" },
    async ({ landing, page }) => {
      await page.emulateMedia({ colorScheme });
      await landing.openForm();
      await page.emulateMedia({ media: "print" });
      const backgrounds = await page
        .locator("html, body, body *")
        .evaluateAll((nodes) =>
          nodes
            .filter((node) => node.checkVisibility() && node.closest("svg") === null)
            .map((node) => getComputedStyle(node).backgroundColor),
        );
      const white = new Set(["rgba(0, 0, 0, 0)", "rgb(255, 255, 255)"]);
      expect([...new Set(backgrounds)].filter((background) => !white.has(background))).toEqual([]);
      const texts = await measureContrast(page);
      expect(texts.length).toBeGreaterThan(80);
      expect(tooLow(7, texts)).toEqual([]);
      const lines = await measureContrast(page, { selector: DRAWN_LINES, property: "stroke" });
      expect(lines.length).toBeGreaterThan(20);
      expect(tooLow(3, lines)).toEqual([]);
      await expect(landing.header).toBeHidden();
      for (const button of await page.locator(".button").all()) await expect(button).toBeHidden();
      await expect(landing.lines).toHaveCount(9);
      for (const text of await landing.lines.locator("span").all()) {
        await expect(text).toBeVisible();
        await expect(text).toHaveCSS("opacity", "1");
      }
      const pdf = await page.pdf({ format: "A4" });
      const pages = pdf.toString("latin1").match(/\/Type\s*\/Page\b/g) ?? [];
      expect(pages.length).toBeGreaterThan(1);
      expect(pages.length).toBeLessThan(10);
    },
  );
}

test(
  "the contact prints without the space that fills a window",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.open();
    await page.emulateMedia({ media: "print" });
    const contact = await boundingBox(landing.section("contact"));
    const sheet = await boundingBox(page.locator(".sheet"));
    const links = await boundingBox(page.locator(".contact-links"));
    expect(sheet.y - contact.y).toBeLessThan(40);
    expect(contact.y + contact.height - links.y - links.height).toBeLessThan(40);
    const texts = await boundingBox(page.locator(".sheet > div").first());
    expect(sheet.height - texts.height).toBeLessThan(130);
  },
);

test("each contact link prints its address once", { tag: "@once" }, async ({ landing, page }) => {
  await landing.openForm();
  await landing.waitForIslands("contact-links");
  await page.emulateMedia({ media: "print" });
  const printed = await page.locator(".contact-links li").evaluateAll((items) =>
    items.map((item) => {
      const link = item.querySelector("a");
      const content = link ? getComputedStyle(link, "::after").content : "";
      return `${(item as HTMLElement).innerText} ${content}`.replaceAll(/\s+/g, " ");
    }),
  );
  expect(printed).toEqual([
    "Email us hello@steward.example none",
    'Follow the launch ": https://social.example/@steward"',
  ]);
});

confirmingTest(
  "no toast and no field print, also not the one for a code",
  { tag: "@once" },
  async ({ landing, page }) => {
    await landing.openForm();
    await landing.signUp(uniqueEmail());
    await expect(page.getByRole("button", { name: "Confirm" })).toBeVisible();
    await landing.keepToastOpen();
    await page.emulateMedia({ media: "print" });
    await expect(landing.toasts).toBeHidden();
    await expect(page.locator("input:visible, button:visible, label:visible")).toHaveCount(0);
  },
);
