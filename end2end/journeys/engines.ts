/** The three browser engines: how each of them starts, and how it gets a visitor's settings. */
import { existsSync, readdirSync } from "node:fs";
import { HEADLESS_SHELL_LAUNCH, RENDERING_FLAGS, SANDBOX_FLAGS } from "../support/browser.mjs";

/** What a visitor's browser is set to. */
export interface Settings {
  /** The inside of the window, in CSS pixels. */
  width: number;
  height: number;
  /** A touch screen with three device pixels to a CSS pixel, and no mouse. */
  isPhone: boolean;
  colorScheme: "light" | "dark";
  reducedMotion: boolean;
  javaScript: boolean;
}

export const DEFAULT_SETTINGS: Settings = {
  width: 1280,
  height: 800,
  isPhone: false,
  colorScheme: "light",
  reducedMotion: false,
  javaScript: true,
};

export interface Engine {
  /** The WebDriver server, a program on the `PATH`. */
  driver: string;
  /** More arguments of that program. */
  driverArguments: string[];
  /** Draws to a display. The other engines run headless. */
  needsDisplay: boolean;
  /** When it emulates a phone. */
  phone: "always" | "with JavaScript" | "never";
  /**
   * What sets the size: the command line, WebDriver, or WebDriver BiDi. Firefox needs the last, because its
   * window cannot be as narrow as a phone.
   */
  sizedBy: "command line" | "WebDriver" | "BiDi";
  /** The capabilities of a session with these settings. */
  capabilities: (settings: Settings) => Record<string, unknown>;
  /** Files in the configuration directory of the browser: contents by path. */
  configuration: (settings: Settings) => Record<string, string>;
}

export const PHONE_PIXEL_RATIO = 3;

/**
 * Debian's program is a script that starts this one. chromedriver ends only what it has started, so the script's
 * browser would stay.
 */
const DEBIAN_HEADLESS_SHELL = "/usr/lib/chromium/chromium-headless-shell";

export const ENGINES = {
  chromium: {
    driver: "chromedriver",
    driverArguments: [],
    needsDisplay: false,
    // Without JavaScript, chromedriver waits forever for a tap.
    phone: "with JavaScript",
    sizedBy: "command line",
    configuration: () => ({}),
    capabilities: ({ width, height, isPhone, colorScheme, reducedMotion, javaScript }) => ({
      browserName: "chrome",
      "goog:chromeOptions": {
        binary: existsSync(DEBIAN_HEADLESS_SHELL)
          ? DEBIAN_HEADLESS_SHELL
          : HEADLESS_SHELL_LAUNCH.executablePath,
        args: [
          ...SANDBOX_FLAGS,
          ...RENDERING_FLAGS,
          // The other engines have scroll bars over the page too, as phones do.
          "--hide-scrollbars",
          `--window-size=${width},${height}`,
          `--blink-settings=${blinkSettings({
            preferredColorScheme: colorScheme === "dark" ? 0 : 1,
            scriptEnabled: javaScript,
            // Headless Chromium has no mouse: 2 is a device that hovers, 4 is one that points exactly.
            ...(!isPhone && {
              availableHoverTypes: 2,
              primaryHoverType: 2,
              availablePointerTypes: 4,
              primaryPointerType: 4,
            }),
          })}`,
          ...(reducedMotion ? ["--force-prefers-reduced-motion"] : []),
        ],
        ...(isPhone && {
          mobileEmulation: {
            deviceMetrics: {
              width,
              height,
              pixelRatio: PHONE_PIXEL_RATIO,
              touch: true,
              mobile: true,
            },
          },
        }),
      },
    }),
  },

  firefox: {
    driver: "geckodriver",
    // A free port for BiDi. The default is the same for every Firefox of the machine.
    driverArguments: ["--websocket-port=0"],
    needsDisplay: false,
    phone: "always",
    sizedBy: "BiDi",
    configuration: () => ({}),
    capabilities: ({ isPhone, colorScheme, reducedMotion, javaScript }) => ({
      browserName: "firefox",
      webSocketUrl: true,
      "moz:firefoxOptions": {
        ...(existsSync("/usr/bin/firefox-esr") && { binary: "/usr/bin/firefox-esr" }),
        args: ["-headless"],
        prefs: {
          "layout.css.prefers-color-scheme.content-override": colorScheme === "dark" ? 0 : 1,
          "ui.prefersReducedMotion": reducedMotion ? 1 : 0,
          "javascript.enabled": javaScript,
          // 1 is a finger, 6 is a mouse: 2 for a device that points exactly, and 4 for one that hovers.
          "ui.primaryPointerCapabilities": isPhone ? 1 : 6,
          "ui.allPointerCapabilities": isPhone ? 1 : 6,
          "widget.gtk.overlay-scrollbars.enabled": true,
          "ui.useOverlayScrollbars": 1,
          "dom.w3c_touch_events.enabled": isPhone ? 1 : 0,
          "dom.meta-viewport.enabled": isPhone,
        },
      },
    }),
  },

  webkit: {
    driver: "WebKitWebDriver",
    driverArguments: [],
    needsDisplay: true,
    phone: "never",
    sizedBy: "WebDriver",
    capabilities: ({ colorScheme, javaScript }) => ({
      browserName: "MiniBrowser",
      "webkitgtk:browserOptions": {
        binary: miniBrowser(),
        args: [
          "--automation",
          // Without its toolbar: the page fills the display.
          "--full-screen",
          ...(colorScheme === "dark" ? ["--dark-mode"] : []),
          // `--enable-javascript=false` would also stop the scripts of WebDriver.
          ...(javaScript ? [] : ["--enable-javascript-markup=false"]),
        ],
      },
    }),
    configuration: ({ reducedMotion }) => ({
      "gtk-3.0/settings.ini": `[Settings]\ngtk-enable-animations=${reducedMotion ? 0 : 1}\n`,
      // The hidden tab bar would make a window of 320 px wider.
      "gtk-3.0/gtk.css": "* { min-width: 0; min-height: 0; padding: 0; font-size: 1px; }\n",
    }),
  },
} satisfies Record<string, Engine>;

export type EngineName = keyof typeof ENGINES;

function blinkSettings(settings: Record<string, number | boolean>): string {
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(",");
}

/** Finds WebKitGTK's own browser, which Debian installs among the libraries. */
function miniBrowser(): string {
  const found = readdirSync("/usr/lib")
    .flatMap((architecture) =>
      ["4.1", "6.0", "4.0"].map((api) => `/usr/lib/${architecture}/webkit2gtk-${api}/MiniBrowser`),
    )
    .find((path) => existsSync(path));
  if (!found) throw new Error("cannot find WebKitGTK's MiniBrowser: run .ci/setup test");
  return found;
}
