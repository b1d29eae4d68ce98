/** axe-core finds no violation at any width in either colour scheme. Landmarks are complete. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, test, uniqueEmail } from "../support/fixtures.ts";

const WIDTHS = [320, 390, 768, 1280, 1920];

async function violations(page: Page): Promise<string[]> {
  // axe is larger than 500 kB, so each page gets it only once.
  const hasAxe = await page.evaluate(() => "axe" in window);
  const { violations } = await new AxeBuilder({ page, ...(hasAxe && { axeSource: "void axe" }) })
    // The page has no frames, so axe need not open a second page to merge their results.
    .setLegacyMode()
    // Only violations are used, so axe need not describe the elements that pass.
    .options({ resultTypes: ["violations"] })
    .analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** Returns the violations at each width. `prepare` restores what a resize has closed. */
async function violationsAtAllWidths(page: Page, prepare = async () => {}): Promise<string[]> {
  const found: string[] = [];
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 800 });
    await prepare();
    found.push(...(await violations(page)).map((violation) => `${width} px: ${violation}`));
  }
  return found;
}

for (const colorScheme of ["light", "dark"] as const) {
  test.describe(`axe in ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`the landing page has no violation in ${colorScheme}`, async ({ landing, page }) => {
      await page.clock.install();
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      await landing.waitForIslands("demo-terminal");
      await expect(landing.shownLines).toHaveCount(0);
      expect(await violationsAtAllWidths(page), "with dimmed lines").toEqual([]);
      await landing.playTerminal();
      expect(await violationsAtAllWidths(page), "with all lines shown").toEqual([]);
    });

    test(`the form with an error toast has no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openFormWithError();
      expect(await violationsAtAllWidths(page)).toEqual([]);
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
      const found = await violationsAtAllWidths(page, async () => {
        await landing.openTooltip();
        await landing.finishAnimations();
      });
      expect(found).toEqual([]);
      await expect(landing.toasts).toHaveCount(1);
    });

    test.describe("not found", () => {
      test.use({ expectedConsole: /status of 404/ });

      test(`the not-found page has no violation in ${colorScheme}`, async ({ page }) => {
        await page.goto("/nothing");
        expect(await violationsAtAllWidths(page)).toEqual([]);
      });
    });
  });
}

test.describe("the form without its scripts", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("the page after a sign-up has no violation", async ({ landing, page }) => {
    await page.route("**/islands/boot-*.js", (route) => route.abort());
    await landing.open();
    await landing.signUp(uniqueEmail());
    await expect(landing.message).toContainText("You've been added to the waitlist.");
    expect(await violationsAtAllWidths(page)).toEqual([]);
  });
});

test.describe("structure", { tag: "@once" }, () => {
  test.use({ expectedConsole: /status of 404/ });

  for (const [name, path] of [
    ["the landing page", "/"],
    ["the not-found page", "/nothing"],
  ] as const) {
    test(`${name} has one h1 first, skips no level, and has each landmark once and named sections`, async ({
      page,
    }) => {
      await page.goto(path);
      const levels = await page.getByRole("heading").evaluateAll((nodes) => {
        return nodes.map((node) => Number(node.tagName.slice(1)));
      });
      expect(levels[0]).toBe(1);
      expect(levels.filter((level) => level === 1)).toHaveLength(1);
      levels.forEach((level, index) => {
        expect(level, `heading ${index + 1}`).toBeLessThanOrEqual((levels[index - 1] ?? 0) + 1);
      });
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
