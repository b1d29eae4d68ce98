/** axe-core finds no violation at any width in either colour scheme. Landmarks are complete. */
import { violations } from "../support/axe.ts";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`axe in ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme, expectedConsole: /status of 404/ });

    test(`the landing page has no violation in ${colorScheme}`, async ({ landing, page }) => {
      await page.clock.install();
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      await landing.waitForIslands("demo-terminal");
      await expect(landing.shownLines).toHaveCount(0);
      expect(await violations(page, {}), "with dimmed lines").toEqual([]);
      await landing.playTerminal();
      expect(await violations(page, {}), "with all lines shown").toEqual([]);
    });

    test(`the form with an error toast has no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openFormWithError();
      expect(await violations(page, {})).toEqual([]);
      await expect(landing.toasts).toContainText("Error");
    });

    test(`a success toast and an open tooltip have no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.signUp(uniqueEmail());
      await expect(landing.toasts).toContainText("Success!");
      await landing.keepToastOpen();
      const found = await violations(page, {
        // A resize has closed it.
        prepare: async () => {
          await landing.openTooltip();
          await landing.finishAnimations();
        },
      });
      expect(found).toEqual([]);
      await expect(landing.toasts).toHaveCount(1);
    });

    test(`the not-found page has no violation in ${colorScheme}`, async ({ page }) => {
      await page.goto("/nothing");
      expect(await violations(page, {})).toEqual([]);
    });
  });
}

test.describe("structure", { tag: "@once" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  for (const [name, path] of [
    ["the landing page", "/"],
    ["the not-found page", "/nothing"],
  ] as const) {
    test(`${name} has each landmark once and named sections`, async ({ page }) => {
      await page.goto(path);
      for (const landmark of ["banner", "navigation", "main", "contentinfo"] as const) {
        await expect(page.getByRole(landmark)).toHaveCount(1);
      }
      const sections = page.getByRole("main").locator("section");
      await expect(sections).not.toHaveCount(0);
      for (const section of await sections.all()) {
        const heading = section.locator("h1, h2").first();
        await expect(section).toHaveRole("region");
        await expect(section).toHaveAccessibleName(((await heading.textContent()) ?? "").trim());
      }
    });
  }
});
