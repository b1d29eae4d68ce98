/** Checks a page with axe-core. */
import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";

/** Returns the violations at each width, and whether the page scrolls sideways there. */
export async function violations(
  page: Page,
  {
    widths = [320, 390, 768, 1280, 1920],
    disabledRules = [] as string[],
    prepare = async () => {},
  },
): Promise<string[]> {
  const found: string[] = [];
  for (const width of widths) {
    await page.setViewportSize({ width, height: 800 });
    await prepare();
    // axe is larger than 500 kB, so each page gets it only once.
    const hasAxe = await page.evaluate(() => "axe" in window);
    const { violations } = await new AxeBuilder({ page, ...(hasAxe && { axeSource: "void axe" }) })
      // The pages have no frames, so axe need not open a second page to merge their results.
      .setLegacyMode()
      // Only violations are used, so axe need not describe the elements that pass.
      .options({ resultTypes: ["violations"] })
      .disableRules(disabledRules)
      .analyze();
    for (const { id, nodes } of violations)
      found.push(`${width} px: ${id}: ${nodes.map((node) => node.html).join(" ")}`);
    const overflow = await page.evaluate(
      () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
    );
    if (overflow > 0) found.push(`${width} px: the page is ${overflow} px too wide`);
  }
  return found;
}
