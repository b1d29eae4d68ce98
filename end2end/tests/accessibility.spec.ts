/** axe-core finds nothing, in any state of the page, at any width, in either scheme; and what a
 * screen reader steps through is in order. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";
import { expect, freshAddress, test } from "../fixtures.ts";

const WIDTHS = [320, 390, 768, 1280, 1920];

async function violations(page: Page): Promise<string[]> {
  // The page has no frames: what is called legacy needs no second page to gather them on.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze();
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
}

/** The violations at each width; `prepare` brings about what a change of width undoes. */
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
  test.describe(`axe, ${colorScheme}`, { tag: "@once" }, () => {
    test.use({ colorScheme });

    test(`the landing page has no violation in ${colorScheme}`, async ({ landing, page }) => {
      await page.clock.install();
      await landing.open();
      await landing.section("demo").scrollIntoViewIfNeeded();
      await landing.ready("demo-terminal");
      await expect(landing.shownLines).toHaveCount(0);
      expect(await violationsAtAllWidths(page), "with dimmed lines").toEqual([]);
      await landing.playTerminal();
      expect(await violationsAtAllWidths(page), "with all lines revealed").toEqual([]);
    });

    test(`the form with its toast has no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openRefusal();
      expect(await violationsAtAllWidths(page)).toEqual([]);
      await expect(landing.toasts).toContainText("Error");
    });

    test(`the success toast and an open tooltip have no violation in ${colorScheme}`, async ({
      landing,
      page,
    }) => {
      await landing.openForm();
      await landing.join(freshAddress());
      await expect(landing.toasts).toContainText("Success!");
      await landing.keepToast();
      const found = await violationsAtAllWidths(page, async () => {
        await landing.openTooltip();
        await landing.stopMoving();
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

test.describe("the form posts itself", { tag: "@once" }, () => {
  test.use({ expectedConsole: /Failed to load resource/ });

  test("the page that answers has no violation", async ({ landing, page }) => {
    await page.route("**/islands/boot-*.js", (route) => route.abort());
    await landing.open();
    await landing.join(freshAddress());
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
    test(`the headings of ${name} begin with its only h1 and leave out no level`, async ({
      page,
    }) => {
      await page.goto(path);
      const headings = await page.getByRole("heading").evaluateAll((nodes) => {
        return nodes.map((node) => Number(node.tagName.slice(1)));
      });
      expect(headings[0]).toBe(1);
      expect(headings.filter((level) => level === 1)).toHaveLength(1);
      headings.forEach((level, index) => {
        expect(level, `heading ${index + 1}`).toBeLessThanOrEqual((headings[index - 1] ?? 0) + 1);
      });
    });

    test(`${name} has each landmark once, and each of its sections is named by its heading`, async ({
      page,
    }) => {
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

  test("the landing page has its six sections and the region of its toasts", async ({
    landing,
    page,
  }) => {
    await landing.openAlive();
    await expect(page.getByRole("region")).toHaveCount(7);
    await expect(landing.toastRegion).toHaveCount(1);
  });
});
