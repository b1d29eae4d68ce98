/** Starts and stops a browser: its WebDriver server, its display, its directory. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { Builder, Capabilities, type WebDriver } from "selenium-webdriver";
// Despite its name, it starts any WebDriver server that takes `--port`.
import { ServiceBuilder } from "selenium-webdriver/chrome.js";
import { type Engine, PHONE_PIXEL_RATIO, type Settings } from "./engines.ts";

/** How long WebDriver waits for a page and for a script, in milliseconds. */
const TIMEOUTS = { implicit: 0, pageLoad: 30_000, script: 15_000 };

export interface Browser {
  driver: WebDriver;
  stop: () => Promise<void>;
}

/** Starts an engine with these settings, and opens a window. */
export async function startBrowser(engine: Engine, settings: Settings): Promise<Browser> {
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async () => {
    for (const step of stops.reverse()) await step();
  };
  try {
    const directory = await mkdtemp(join(tmpdir(), "browser-"));
    stops.push(() => rm(directory, { recursive: true, force: true, maxRetries: 5 }));
    for (const [path, content] of Object.entries(engine.configuration(settings))) {
      await mkdir(dirname(join(directory, path)), { recursive: true });
      await writeFile(join(directory, path), content);
    }
    // Nothing else of this machine's desktop: its theme or its proxy would change the result.
    const environment: Record<string, string> = {
      PATH: process.env["PATH"] ?? "",
      LANG: "C.UTF-8",
      HOME: directory,
      XDG_CONFIG_HOME: directory,
      XDG_RUNTIME_DIR: directory,
    };
    if (engine.needsDisplay) {
      const { name, display } = await startDisplay(settings);
      environment["DISPLAY"] = name;
      stops.push(() => end(display));
    }
    const server = new ServiceBuilder(engine.driver)
      .addArguments(...engine.driverArguments)
      .setEnvironment(environment)
      .build();
    stops.push(() => server.kill());
    const url = await server.start().catch(({ message }: Error) => {
      throw new Error(`cannot start ${engine.driver}; run .ci/setup test: ${message}`);
    });
    const capabilities = new Capabilities({ ...engine.capabilities(settings), timeouts: TIMEOUTS });
    const driver = await new Builder().usingServer(url).withCapabilities(capabilities).build();
    stops.push(() => driver.quit());
    await resize(driver, engine, settings);
    return { driver, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Starts a display that is as large as the window. So the pointer of the display is always inside the
 * window, which keeps the focus.
 */
async function startDisplay({ width, height }: Settings) {
  const display = spawn(
    "Xvfb",
    ["-displayfd", "3", "-screen", "0", `${width}x${height}x24`, "-nolisten", "tcp"],
    { stdio: ["ignore", "ignore", "ignore", "pipe"] },
  );
  // Xvfb writes the number of the display to file descriptor 3.
  const number = await new Promise<string>((resolve, reject) => {
    display.once("error", reject);
    display.once("exit", (code) => reject(new Error(`Xvfb exited with ${code}`)));
    (display.stdio[3] as Readable).once("data", (data: Buffer) => resolve(String(data).trim()));
  });
  return { name: `:${number}`, display };
}

async function resize(driver: WebDriver, engine: Engine, settings: Settings): Promise<void> {
  const { width, height, isPhone } = settings;
  if (engine.sizedBy === "WebDriver") {
    await driver.manage().window().setRect({ x: 0, y: 0, width, height });
  }
  if (engine.sizedBy === "BiDi") {
    // BiDi waits until the page has this width. On a phone, only a page of this kind gets it.
    await driver.get("data:text/html,<meta name=viewport content=width=device-width>");
    const bidi = await driver.getBidi();
    await bidi.send({
      method: "browsingContext.setViewport",
      params: {
        context: await driver.getWindowHandle(),
        viewport: { width, height },
        devicePixelRatio: isPhone ? PHONE_PIXEL_RATIO : 1,
      },
    });
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill();
  await exited;
}
