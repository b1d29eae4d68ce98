/** Starts the release build, for the tests, the pictures and Lighthouse. */
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const PROGRAM = fileURLToPath(new URL("../../target/release/landing", import.meta.url));

/** A running server with its own empty waitlist. */
export class Site {
  /** @type {import("node:child_process").ChildProcess} */
  #server;
  /** @type {Promise<unknown>} */
  #exited;
  /** @type {string} */
  #dataDirectory;

  /**
   * The URL of the server, without a path.
   *
   * @readonly
   */
  origin;

  /**
   * @param {string} origin
   * @param {import("node:child_process").ChildProcess} server
   * @param {Promise<unknown>} exited
   * @param {string} dataDirectory
   */
  constructor(origin, server, exited, dataDirectory) {
    this.origin = origin;
    this.#server = server;
    this.#exited = exited;
    this.#dataDirectory = dataDirectory;
  }

  /**
   * Starts a server on a free port and waits until it accepts requests.
   *
   * @param {string[]} options more command-line options
   * @param {NodeJS.ProcessEnv} env its environment; by default that of this process
   */
  static async start(options = [], env = process.env) {
    const dataDirectory = await mkdtemp(join(tmpdir(), "landing-"));
    const args = ["--addr", "127.0.0.1:0", "--data", dataDirectory, ...options];
    const server = spawn(PROGRAM, args, { stdio: ["ignore", "inherit", "pipe"], env });
    const exited = new Promise((resolve) => server.once("close", resolve));
    /** @type {string[]} */
    const log = [];
    server.once("error", (error) => log.push(String(error)));
    let origin;
    for await (const line of createInterface({ input: server.stderr })) {
      log.push(line);
      origin = /serving on (http:[^,]+)/.exec(line)?.[1];
      if (origin) break;
    }
    if (!origin) throw new Error(`cannot start ${PROGRAM}; run \`make build\`\n${log.join("\n")}`);
    // Discard the rest of the log, so that the pipe does not fill up.
    server.stderr.resume();
    return new Site(origin, server, exited, dataDirectory);
  }

  /**
   * Signs up over the API and returns the status.
   *
   * @param {string} email
   */
  async signUp(email) {
    const response = await fetch(`${this.origin}/api/waitlist`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ email }),
    });
    return response.status;
  }

  /** Returns the number of people on the waitlist. */
  async count() {
    const response = await fetch(`${this.origin}/api/waitlist/count`);
    const { count } = /** @type {{ count: number }} */ (await response.json());
    return count;
  }

  /**
   * Returns where a person on the waitlist comes from, as `landing show` says it.
   *
   * @param {string} email
   */
  async sourceOf(email) {
    return JSON.parse(await this.#run("show", email, "--json")).source;
  }

  /**
   * Sends a message in Markdown to a person on the waitlist.
   *
   * @param {string} email
   * @param {string} markdown
   * @param {string} smtp the URL of the mail server
   */
  async sendMessage(email, markdown, smtp) {
    const directory = await mkdtemp(join(tmpdir(), "message-"));
    const file = join(directory, "message.md");
    await writeFile(file, `---\nsubject: Hello\nid: m${randomUUID()}\n---\n${markdown}`);
    const settings = ["--smtp", smtp, "--mail-from", "hello@site.test", "--origin", this.origin];
    await this.#run("send", file, "--to", email, "--yes", "--new-message", ...settings);
    await rm(directory, { recursive: true });
  }

  /**
   * Runs a command of the owner on the waitlist, and returns its output.
   *
   * @param {...string} args
   */
  async #run(...args) {
    const all = [...args, "--data", this.#dataDirectory];
    const { stdout } = await promisify(execFile)(PROGRAM, all, { maxBuffer: Infinity });
    return stdout;
  }

  /** Keeps the server from responding until {@link resume}. The system still accepts connections to it. */
  pause() {
    this.#server.kill("SIGSTOP");
  }

  resume() {
    this.#server.kill("SIGCONT");
  }

  /** Stops the server and deletes its data. */
  async stop() {
    // Not SIGTERM: the server would wait for open connections first.
    this.#server.kill("SIGKILL");
    await this.#exited;
    await rm(this.#dataDirectory, { recursive: true });
  }
}
