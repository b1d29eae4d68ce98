/** The `test` of every spec, with a running site, the landing page, and a check of the console. */
import { test as base, expect, type Page, type TestInfo } from "@playwright/test";
import { LandingPage } from "./landing-page.ts";
import { Site } from "./site.mjs";

interface TestFixtures {
  /** Console messages that a test causes on purpose. */
  expectedConsole: RegExp;
  /** The landing page, not yet opened. */
  landing: LandingPage;
}

interface WorkerFixtures {
  site: Site;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  site: [
    async ({}, use) => {
      const site = await startSite();
      await use(site);
      await site.stop();
    },
    { scope: "worker" },
  ],
  baseURL: ({ site }, use) => use(site.origin),
  expectedConsole: [/(?!)/, { option: true }],
  page: async ({ page, expectedConsole }, use, testInfo) => {
    const consoleErrors = recordConsoleErrors(page);
    await use(page);
    await savePictureOfFailure(testInfo, (path) => page.screenshot({ path }));
    const unexpected = consoleErrors.filter((text) => !expectedConsole.test(text));
    expect(unexpected, "console errors and warnings").toEqual([]);
  },
  landing: ({ page }, use) => use(new LandingPage(page)),
});

export { expect };

/** Starts a site for a test that needs its own options. */
export function startSite(...options: string[]): Promise<Site> {
  // All tests share one client address, so the rate limit is off.
  return Site.start(options, { LANDING_SIGNUPS_PER_MINUTE: "0" });
}

/**
 * Attaches a picture to a test that has failed. Playwright's `only-on-failure` takes one of every test and deletes most
 * of them.
 */
export async function savePictureOfFailure(
  testInfo: TestInfo,
  savePicture: (path: string) => Promise<unknown>,
): Promise<void> {
  if (testInfo.status === testInfo.expectedStatus) return;
  const path = testInfo.outputPath("failure.png");
  await savePicture(path);
  await testInfo.attach("screenshot", { path, contentType: "image/png" });
}

/** Records errors and warnings on the console, and uncaught exceptions. */
function recordConsoleErrors(page: Page): string[] {
  const errors: string[] = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type())) errors.push(message.text());
  });
  page.on("pageerror", (error) => errors.push(String(error)));
  return errors;
}

/** Adds a style sheet by script. The Content-Security-Policy forbids a `<style>` element. */
export async function addStyle(page: Page, css: string): Promise<void> {
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets.push(sheet);
  }, css);
}

let emails = 0;

/** Returns an address that no other test uses. */
export function uniqueEmail(): string {
  emails += 1;
  return `visitor-${process.pid}-${emails}@example.com`;
}
