/** The `test` of every journey: a visitor and the site. */
import { savePictureOfFailure, test as base } from "../support/fixtures.ts";
import { type Browser, startBrowser } from "./browser.ts";
import { DEFAULT_SETTINGS, type EngineName, ENGINES, type Settings } from "./engines.ts";
import { Visitor } from "./visitor.ts";

export { expect, startSite, uniqueEmail } from "../support/fixtures.ts";

/** What a project of `browsers.config.ts` sets. */
export interface WorkerOptions {
  engine: EngineName;
  settings: Settings;
}

interface WorkerFixtures extends WorkerOptions {
  /** One browser per worker, because starting one takes longer than most journeys. */
  browserOfWorker: Browser;
}

interface TestFixtures {
  visitor: Visitor;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  engine: ["chromium", { scope: "worker", option: true }],
  settings: [DEFAULT_SETTINGS, { scope: "worker", option: true }],
  browserOfWorker: [
    async ({ engine, settings }, use) => {
      const browser = await startBrowser(ENGINES[engine], settings);
      await use(browser);
      await browser.stop();
    },
    { scope: "worker", timeout: 60_000 },
  ],
  visitor: async ({ browserOfWorker: { driver }, site }, use, testInfo) => {
    const visitor = new Visitor(driver, site.origin);
    await use(visitor);
    site.resume();
    await savePictureOfFailure(testInfo, (path) => visitor.savePicture(path));
    // Stops what the page still does, and lets go of the mouse.
    await driver.actions().clear();
    await driver.get("about:blank");
  },
});
