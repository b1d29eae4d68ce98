/** A mail server that accepts everything, and a site that sends over it. The tests need what is in the messages. */
import type { AddressInfo } from "node:net";
import { buffer } from "node:stream/consumers";
import PostalMime, { type Email } from "postal-mime";
import { SMTPServer } from "smtp-server";
import { expect, startSite, test } from "./fixtures.ts";

/** What {@link MailServer.receive} finds in a message: in its headers, its text, and its HTML. */
export const CODE = /^subject: (\d{6}) /m;
export const CONFIRM_LINK = /http:\/\/site\.test(\/confirm\/[\w-]+)/;
export const UNSUBSCRIBE_LINK = /^list-unsubscribe: <http:\/\/[^/]+(\/unsubscribe\/[\w-]+)>$/m;
export const HTML = /(<!doctype html>[^]*)/i;

/** The `test` for messages. */
export const testWithMail = test.extend<object, { mail: MailServer }>({
  mail: [
    async ({}, use) => {
      const mail = await MailServer.start();
      await use(mail);
      mail.stop();
    },
    { scope: "worker" },
  ],
});

/** The `test` for a site that asks people to confirm their address, and to invite others. */
export const confirmingTest = testWithMail.extend({
  site: [
    async ({ mail }, use) => {
      const sender = ["--smtp", mail.url, "--mail-from", "Steward <hello@site.test>"];
      const options = ["--confirm-signups", "--invites", "--origin", "http://site.test"];
      const site = await startSite(...options, ...sender);
      await use(site);
      await site.stop();
    },
    { scope: "worker" },
  ],
});

class MailServer {
  readonly #messages: Email[] = [];
  readonly #server = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    onData: async (stream, _session, accept) => {
      this.#messages.push(await PostalMime.parse(await buffer(stream)));
      accept();
    },
  });

  static async start(): Promise<MailServer> {
    const server = new MailServer();
    await new Promise<void>((resolve) => server.#server.listen(0, "127.0.0.1", resolve));
    return server;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.#server.server.address() as AddressInfo).port}`;
  }

  /** Waits for a message to this person, and returns what the expression finds in the newest one that has it. */
  async receive(email: string, expression: RegExp): Promise<string> {
    const find = () => {
      const messages = this.#messages.filter(({ to }) => to?.some((it) => it.address === email));
      for (const { headers, text, html } of messages.toReversed()) {
        const lines = headers.map(({ key, value }) => `${key}: ${value}`);
        const found = expression.exec([...lines, text, html].join("\n"));
        if (found) return found[1];
      }
      return undefined;
    };
    await expect.poll(find).toBeDefined();
    return find() ?? "";
  }

  stop(): void {
    this.#server.close();
  }
}
