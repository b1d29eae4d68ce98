/** What the programs beside the tests share: the running site, and the browser. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { chromium } from "@playwright/test";

const PROGRAM = fileURLToPath(new URL("../target/release/landing", import.meta.url));
const DEBIANS = "/usr/bin/chromium";

/** As in playwright.config.ts. */
export const BROWSER = existsSync(DEBIANS) ? DEBIANS : chromium.executablePath();
/** Chromium refuses its sandbox to root, as in containers. */
export const FLAGS = process.getuid?.() === 0 ? ["--no-sandbox"] : [];

/** Serves the release with an empty list, and the owner's settings. */
export async function serve() {
  const data = await mkdtemp(join(tmpdir(), "landing-"));
  const args = ["--addr", "127.0.0.1:0", "--data", data];
  const program = spawn(PROGRAM, args, { stdio: ["ignore", "inherit", "pipe"] });
  const ended = new Promise((resolve) => program.once("exit", resolve));
  for await (const line of createInterface({ input: program.stderr })) {
    const origin = /serving on (http:[^,]+)/.exec(line)?.[1];
    if (origin) {
      // Somebody must take what it logs of requests.
      program.stderr.resume();
      const stop = async () => {
        program.kill();
        await ended;
        await rm(data, { recursive: true });
      };
      return { origin, stop };
    }
  }
  throw new Error("target/release/landing does not serve; run `make build`");
}
