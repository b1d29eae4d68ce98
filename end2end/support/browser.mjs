/** The browsers that run the tests, draw the pictures and measure the page. */
import { existsSync } from "node:fs";
import { chromium } from "@playwright/test";

/** Debian's packages `chromium-headless-shell` and `chromium`; see .ci/setup. */
const DEBIAN_HEADLESS_SHELL = "/usr/bin/chromium-headless-shell";
const DEBIAN_CHROMIUM = "/usr/bin/chromium";

/** Chromium does not start its sandbox as root, which is the usual user of a container. */
export const SANDBOX_FLAGS = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

/** Text and colours that are the same on every machine. */
export const RENDERING_FLAGS = [
  "--font-render-hinting=none",
  "--disable-lcd-text",
  "--force-color-profile=srgb",
];

const args = [
  ...SANDBOX_FLAGS,
  ...RENDERING_FLAGS,
  // At its limit Chromium starts no spare process, which every test would pay for but never use.
  "--renderer-process-limit=1",
];

/** Full Chromium, with its browser window and its features outside the page. */
export const CHROMIUM = existsSync(DEBIAN_CHROMIUM) ? DEBIAN_CHROMIUM : chromium.executablePath();

/**
 * Launches the headless shell: Chromium's engine without a browser window. It takes less than half
 * the processor time. Playwright's own download includes it and prefers it.
 */
export const HEADLESS_SHELL_LAUNCH = {
  ...executable(DEBIAN_HEADLESS_SHELL, DEBIAN_CHROMIUM),
  args,
};

/** Launches full Chromium, for features that the headless shell lacks. */
export const CHROMIUM_LAUNCH = { executablePath: CHROMIUM, args };

/**
 * The first of these programs that is installed, as a launch option. Without one, Playwright starts
 * the browser that it downloaded.
 *
 * @param {string[]} candidates
 * @returns {{ executablePath?: string }}
 */
function executable(...candidates) {
  const executablePath = candidates.find((path) => existsSync(path));
  return executablePath ? { executablePath } : {};
}
