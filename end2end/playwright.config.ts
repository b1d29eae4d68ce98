import { defineConfig } from "@playwright/test";
import { HEADLESS_SHELL_LAUNCH } from "./support/browser.mjs";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** A test without a tag runs in every project with JavaScript. */
const TAGS = {
  /** Runs only in the projects without JavaScript. */
  noJavascript: /@no-javascript/,
  /** Runs in all projects, with and without JavaScript. */
  everywhere: /@everywhere/,
  /** Runs once: the test sets window size and media itself, or does not depend on them. */
  once: /@once/,
};
const OTHER_PROJECTS = [TAGS.noJavascript, TAGS.once];
const WITHOUT_JAVASCRIPT = [TAGS.noJavascript, TAGS.everywhere];

export default defineConfig({
  testDir: "tests",
  forbidOnly: true,
  fullyParallel: true,
  // One per core. More workers only add browsers and servers to start.
  workers: "100%",
  // Generous, so that tests pass on a busy machine too.
  timeout: 60_000,
  reporter: "list",
  expect: {
    timeout: 10_000,
    // The same Chromium draws the same pixels on every machine, except for a few. A changed
    // hairline or a slightly different colour exceeds these limits.
    toHaveScreenshot: { maxDiffPixelRatio: 0.002, threshold: 0.02 },
  },
  snapshotPathTemplate: "{testDir}/snapshots/{arg}{ext}",
  use: { launchOptions: HEADLESS_SHELL_LAUNCH },
  projects: [
    { name: "once", use: desktop, grep: TAGS.once },
    { name: "desktop", use: desktop, grepInvert: OTHER_PROJECTS },
    { name: "phone", use: phone, grepInvert: OTHER_PROJECTS },
    {
      name: "desktop without JavaScript",
      use: { ...desktop, javaScriptEnabled: false },
      grep: WITHOUT_JAVASCRIPT,
    },
    {
      name: "phone without JavaScript",
      use: { ...phone, javaScriptEnabled: false },
      grep: WITHOUT_JAVASCRIPT,
    },
  ],
});
