import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

/** Debian's Chromium where it is installed, else the one that Playwright brings; see .ci/setup. */
const debians = "/usr/bin/chromium";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Tags say whom a test is for. Without one it is for everybody with JavaScript. */
const WITHOUT_JAVASCRIPT = /@no-javascript/;
const BY_MOUSE = /@hover/;
const IN_MOTION = /@motion/;

export default defineConfig({
  testDir: "tests",
  forbidOnly: true,
  fullyParallel: true,
  workers: 2,
  reporter: "list",
  expect: { timeout: 10_000 },
  use: {
    screenshot: "only-on-failure",
    launchOptions: {
      ...(existsSync(debians) ? { executablePath: debians } : {}),
      // Chromium refuses its sandbox to root, as in containers.
      args: process.getuid?.() === 0 ? ["--no-sandbox"] : [],
    },
  },
  projects: [
    { name: "desktop", use: desktop, grepInvert: WITHOUT_JAVASCRIPT },
    { name: "phone", use: phone, grepInvert: [WITHOUT_JAVASCRIPT, BY_MOUSE] },
    {
      name: "reduced motion",
      use: { ...desktop, contextOptions: { reducedMotion: "reduce" } },
      grepInvert: [WITHOUT_JAVASCRIPT, IN_MOTION],
    },
    {
      name: "desktop without JavaScript",
      use: { ...desktop, javaScriptEnabled: false },
      grep: /@no-javascript|@everybody/,
    },
    {
      name: "phone without JavaScript",
      use: { ...phone, javaScriptEnabled: false },
      grep: /@no-javascript|@everybody/,
    },
  ],
});
