/** The `test` of every journey: a visitor, the site, and the network between them. */
import { test as base, expect } from "@playwright/test";
import { startSite } from "../support/fixtures.ts";
import type { Site } from "../support/site.mjs";
import { type Browser, startBrowser } from "./browser.ts";
import { DEFAULT_SETTINGS, type EngineName, ENGINES, type Settings } from "./engines.ts";
import { Network } from "./network.ts";
import { Visitor } from "./visitor.ts";

export { uniqueEmail } from "../support/fixtures.ts";
export { expect };

/** What a project of `browsers.config.ts` sets. */
export interface WorkerOptions {
  engine: EngineName;
  settings: Settings;
}

interface WorkerFixtures extends WorkerOptions {
  site: Site;
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
  site: [
    async ({}, use) => {
      const site = await startSite();
      await use(site);
      await site.stop();
    },
    { scope: "worker" },
  ],
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
    if (testInfo.status !== testInfo.expectedStatus) {
      const path = testInfo.outputPath("failure.png");
      await visitor.savePicture(path);
      await testInfo.attach("screenshot", { path, contentType: "image/png" });
    }
    // Stops what the page still does, and lets go of the mouse.
    await driver.actions().clear();
    await driver.get("about:blank");
  },
});
