/** The `test` of every journey: a visitor, the site, and the network between them. */
import { savePictureOfFailure, test as base } from "../support/fixtures.ts";
import { type Browser, startBrowser } from "./browser.ts";
import { DEFAULT_SETTINGS, type EngineName, ENGINES, type Settings } from "./engines.ts";
import { Network } from "./network.ts";
import { Visitor } from "./visitor.ts";

export { expect, uniqueEmail } from "../support/fixtures.ts";

/** What a project of `browsers.config.ts` sets. */
export interface WorkerOptions {
  engine: EngineName;
  settings: Settings;
}

interface WorkerFixtures extends WorkerOptions {
  /** One browser per worker, because starting one takes longer than most journeys. */
  browserOfWorker: Browser;
  networkOfWorker: Network;
}

interface TestFixtures {
  network: Network;
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
  networkOfWorker: [
    async ({ site }, use) => {
      const network = await Network.start(site.origin);
      await use(network);
      await network.stop();
    },
    { scope: "worker" },
  ],
  network: async ({ networkOfWorker: network }, use) => {
    await use(network);
    network.reset();
  },
  visitor: async ({ browserOfWorker: { driver }, network }, use, testInfo) => {
    const visitor = new Visitor(driver, network.origin);
    await use(visitor);
    await savePictureOfFailure(testInfo, (path) => visitor.savePicture(path));
    // Stops what the page still does, and lets go of the mouse.
    await driver.actions().clear();
    await driver.get("about:blank");
  },
});
