/** A mail server that accepts everything. The tests need the links in the messages, and their HTML. */
import { createServer, type Server, type Socket } from "node:net";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";

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
