/**
 * A mail server that accepts everything, and a site that sends over it. The tests need the links in the messages, and
 * their HTML.
 */
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { expect, type WorkerFixture } from "@playwright/test";
import { startSite } from "./fixtures.ts";
import type { Site } from "./site.mjs";

/** What {@link MailServer.receive} finds in a message. */
export const CODE = /^Subject: (\d{6}) /m;
export const CONFIRM_LINK = /http:\/\/site\.test(\/confirm\/[\w-]+)/;
export const UNSUBSCRIBE_LINK = /^List-Unsubscribe: <http:\/\/[^/]+(\/unsubscribe\/[\w-]+)>$/m;

type OncePerWorker<T, Others extends object = object> = [
  WorkerFixture<T, Others>,
  { scope: "worker" },
];

/** A fixture. */
export const mailServer: OncePerWorker<MailServer> = [
  async ({}, use) => {
    const mail = await MailServer.start();
    await use(mail);
    mail.stop();
  },
  { scope: "worker" },
];

/** A fixture: a site that asks people to confirm their address. */
export const confirmingSite: OncePerWorker<Site, { mail: MailServer }> = [
  async ({ mail }, use) => {
    const sender = ["--smtp", mail.url, "--mail-from", "Steward <hello@site.test>"];
    const site = await startSite("--confirm-signups", ...sender, "--origin", "http://site.test");
    await use(site);
    await site.stop();
  },
  { scope: "worker" },
];

export class MailServer {
  /** The messages as they were sent. */
  readonly messages: string[] = [];
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((socket) => void this.#converse(socket));
  }

  static async start(): Promise<MailServer> {
    const server = new MailServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Waits for a message to this person, and returns what the expression finds in it. */
  async receive(email: string, expression: RegExp): Promise<string> {
    const find = () => {
      const messages = this.messages.filter((message) => message.includes(`To: ${email}`));
      return expression.exec(messages.join("\n").replaceAll(/=\n/g, ""))?.[1];
    };
    await expect.poll(find).toBeDefined();
    return find() ?? "";
  }

  stop(): void {
    this.#server.close();
  }

  async #converse(socket: Socket): Promise<void> {
    const reply = (line: string) => socket.write(`${line}\r\n`);
    let message: string[] | undefined;
    reply("220 mail.test");
    for await (const line of createInterface({ input: socket })) {
      if (message) {
        if (line === ".") {
          this.messages.push(message.join("\n"));
          message = undefined;
          reply("250 ok");
        } else {
          message.push(line.replace(/^\./, ""));
        }
      } else if (/^data/i.test(line)) {
        message = [];
        reply("354 go on");
      } else if (/^quit/i.test(line)) {
        socket.end("221 bye\r\n");
      } else {
        reply("250 ok");
      }
    }
  }
}

/** Decodes quoted-printable text (RFC 2045, section 6.7). */
export function decodeQuotedPrintable(text: string): string {
  const bytes = text
    .replace(/=\n/g, "")
    .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(parseInt(hex, 16)));
  return Buffer.from(bytes, "latin1").toString("utf8");
}
