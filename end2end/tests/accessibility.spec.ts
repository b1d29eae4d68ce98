/** axe-core finds nothing, in any state of the page. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";

async function violations(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`axe, ${colorScheme}`, () => {
    test.use({ colorScheme });

    test(`the landing page has no violation in ${colorScheme}`, async ({ landing, page }) => {
      await landing.open();
      await landing.ready("toaster");
      expect(await violations(page)).toEqual([]);
    });

    test(`the form with its toast has no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.submit.click();
      await expect(landing.toasts).toHaveCount(1);
      await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished)));
      expect(await violations(page)).toEqual([]);
    });

    test(`the success toast and an open tooltip have no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.ready("contact-links");
      await landing.join(freshAddress());
      await expect(landing.toasts).toContainText("Success!");
      await page.getByRole("link", { name: "Write to us" }).focus();
      await expect(page.getByRole("tooltip")).toHaveCount(1);
      await page.evaluate(() => Promise.all(document.getAnimations().map((a) => a.finished)));
      expect(await violations(page)).toEqual([]);
    });

    test.describe("not found", () => {
      test.use({ expectedConsole: /status of 404/ });

      test(`the not-found page has no violation in ${colorScheme}`, async ({ page }) => {
        await page.goto("/nothing");
        expect(await violations(page)).toEqual([]);
      });
    });
  });
}

test.describe("forced colours", () => {
  test("every control keeps an outline when colours are forced", async ({ landing, page }) => {
    await page.emulateMedia({ forcedColors: "active" });
    await landing.open();
    for (const control of [landing.email, landing.submit]) {
      const width = await control.evaluate((node) => getComputedStyle(node).borderTopWidth);
      expect(width).toBe("1px");
    }
  });
});

test.describe("the form posts itself", () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("the page that answers has no violation", async ({ landing, page }) => {
    await page.route("**/islands/boot-*.js", (route) => route.abort());
    await landing.open();
    await landing.join(freshAddress());
    await expect(page.getByRole("status")).toContainText("Success!");
    expect(await violations(page)).toEqual([]);
  });
});

test("the skip link is the first stop and leads to the content", async ({ landing, page }) => {
  await landing.open();
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
});
