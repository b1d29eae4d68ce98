import { existsSync } from "node:fs";
import { defineConfig, type PlaywrightTestConfig } from "@playwright/test";

/** Debian's Chromium where it is installed, else the one that Playwright brings; see .ci/setup. */
const debians = "/usr/bin/chromium";

const desktop = { viewport: { width: 1280, height: 800 } };
const phone = { viewport: { width: 390, height: 844 }, hasTouch: true, isMobile: true };

/** Tags say whom a test is for. Without one it is for everybody with JavaScript. */
const WITHOUT_JAVASCRIPT = /@no-javascript/;
const BY_MOUSE = /@hover/;
const IN_MOTION = /@motion/;
/** Sets its windows and colour schemes itself, or has no use for them: once is enough. */
const ONCE = /@once/;
/** Compares pictures, which must come out the same on every machine. */
const VISUAL = /@visual/;
const ELSEWHERE = [WITHOUT_JAVASCRIPT, ONCE, VISUAL];

function chromium(...flags: string[]): NonNullable<PlaywrightTestConfig["use"]> {
  return {
    launchOptions: {
      ...(existsSync(debians) ? { executablePath: debians } : {}),
      // Chromium refuses its sandbox to root, as in containers.
      args: [...(process.getuid?.() === 0 ? ["--no-sandbox"] : []), ...flags],
    },
  };
}

export default defineConfig({
  testDir: "tests",
  forbidOnly: true,
  fullyParallel: true,
  workers: 2,
  // A machine that is busy elsewhere is slow, not wrong.
  timeout: 60_000,
  reporter: "list",
  expect: {
    timeout: 10_000,
    // On one Chromium the pictures are the same to the last few pixels, with any fonts and any
    // drawing board. A faint colour or a hairline that has changed is more than this.
    toHaveScreenshot: { maxDiffPixelRatio: 0.002, threshold: 0.02 },
  },
  snapshotPathTemplate: "{testDir}/snapshots/{arg}{ext}",
  use: {
    screenshot: "only-on-failure",
    ...chromium(),
  },
  projects: [
    { name: "once", use: desktop, grep: ONCE },
    {
      name: "visual",
      use: {
        ...desktop,
        ...chromium(
          "--font-render-hinting=none",
          "--disable-lcd-text",
          "--force-color-profile=srgb",
        ),
      },
      grep: VISUAL,
    },
    { name: "desktop", use: desktop, grepInvert: ELSEWHERE },
    { name: "phone", use: phone, grepInvert: [...ELSEWHERE, BY_MOUSE] },
    {
      name: "reduced motion",
      use: { ...desktop, contextOptions: { reducedMotion: "reduce" } },
      grepInvert: [...ELSEWHERE, IN_MOTION],
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
