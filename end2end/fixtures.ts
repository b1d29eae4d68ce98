/** What every test gets: a site of its worker's own, the landing page, and a console that must
 * stay silent. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { test as base, expect, type Page } from "@playwright/test";
import { LandingPage } from "./landing-page.ts";

const PROGRAM = fileURLToPath(new URL("../target/release/landing", import.meta.url));

/** A running site with its own list. */
export class Site {
  readonly origin: string;
  readonly #program: ChildProcess;
  readonly #data: string;

  private constructor(origin: string, program: ChildProcess, data: string) {
    this.origin = origin;
    this.#program = program;
    this.#data = data;
  }

  static async start(...options: string[]): Promise<Site> {
    const data = await mkdtemp(join(tmpdir(), "landing-"));
    const args = ["--addr", "127.0.0.1:0", "--data", data, ...options];
    // All visitors of a test come from one address.
    const env = { LANDING_SIGNUPS_PER_MINUTE: "0" };
    const program = spawn(PROGRAM, args, { stdio: ["ignore", "inherit", "pipe"], env });
    const said: string[] = [];
    for await (const line of createInterface({ input: program.stderr })) {
      said.push(line);
      const origin = /serving on (http:[^,]+)/.exec(line)?.[1];
      if (!origin) continue;
      // Somebody must take what it logs of requests.
      program.stderr.resume();
      return new Site(origin, program, data);
    }
    throw new Error(`${PROGRAM} does not serve: ${said.join("\n")}`);
  }

  /** Signs up by the API and returns the status. */
  async join(email: string): Promise<number> {
    const response = await fetch(`${this.origin}/api/waitlist`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email }),
    });
    return response.status;
  }

  async count(): Promise<number> {
    const response = await fetch(`${this.origin}/api/waitlist/count`);
    const { count } = (await response.json()) as { count: number };
    return count;
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#program.once("exit", resolve));
    this.#program.kill();
    await ended;
    await rm(this.#data, { recursive: true });
  }
}

interface TestFixtures {
  /** Console messages that a test brings about on purpose. */
  expectedConsole: RegExp;
  landing: LandingPage;
}

interface WorkerFixtures {
  site: Site;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  site: [
    async ({}, use) => {
      const site = await Site.start();
      await use(site);
      await site.stop();
    },
    { scope: "worker" },
  ],
  baseURL: ({ site }, use) => use(site.origin),
  expectedConsole: [/(?!)/, { option: true }],
  page: async ({ page, expectedConsole }, use) => {
    const messages: string[] = [];
    page.on("console", (message) => {
      if (["error", "warning"].includes(message.type())) messages.push(message.text());
    });
    page.on("pageerror", (error) => messages.push(String(error)));
    await use(page);
    const unexpected = messages.filter((text) => !expectedConsole.test(text));
    expect(unexpected, "console errors and warnings").toEqual([]);
  },
  landing: ({ page }, use) => use(new LandingPage(page)),
});

export { expect };

/** Adds a style as scripts may. A style element would be against the page's policy. */
export async function addStyle(page: Page, css: string): Promise<void> {
  await page.evaluate((css) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(css);
    document.adoptedStyleSheets.push(sheet);
  }, css);
}

let addresses = 0;

/** An address that no other test uses. */
export function freshAddress(): string {
  addresses += 1;
  return `visitor-${process.pid}-${addresses}@example.com`;
}
