/**
 * The network between a visitor and the site: a proxy that delays, fails or replaces responses. Not every
 * engine can intercept requests itself.
 */
import {
  createServer,
  type IncomingMessage,
  request as send,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout } from "node:timers/promises";

/** What happens to a request instead of forwarding it at once. */
type Fault = (request: IncomingMessage, response: ServerResponse) => void;

export class Network {
  /** The requests since the last reset, as `POST /api/waitlist`. */
  readonly requests: string[] = [];
  readonly #faults = new Map<string, Fault>();
  readonly #releases: (() => void)[] = [];
  readonly #site: URL;
  readonly #server: Server;

  private constructor(site: string) {
    this.#site = new URL(site);
    this.#server = createServer((request, response) => this.#handle(request, response));
  }

  /** Starts the proxy of a site on a free port. */
  static async start(site: string): Promise<Network> {
    const network = new Network(site);
    await new Promise<void>((resolve) => network.#server.listen(0, "127.0.0.1", resolve));
    return network;
  }

  /** The URL that a visitor opens, without a path. */
  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Responds itself to each request such as `GET /api/waitlist/count`. */
  respond(request: string, status: number, body: string, contentType = "application/json"): void {
    this.#faults.set(request, (_, response) =>
      response.writeHead(status, { "Content-Type": contentType }).end(body),
    );
  }

  /** Closes the connection of each such request without a response. */
  disconnect(request: string): void {
    this.#faults.set(request, ({ socket }) => socket.destroy());
  }

  /** Holds such requests back until the returned function is called. */
  hold(request: string): () => void {
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    this.#releases.push(release);
    this.#forwardAfter(request, () => released);
    return release;
  }

  /** Delays each such request by some milliseconds, as a slow line does. */
  delay(request: string, ms: number): void {
    this.#forwardAfter(request, () => setTimeout(ms));
  }

  /** Forwards every request again, and forgets those before. */
  reset(): void {
    this.#faults.clear();
    for (const release of this.#releases.splice(0)) release();
    this.requests.length = 0;
  }

  async stop(): Promise<void> {
    this.reset();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #forwardAfter(name: string, wait: () => Promise<void>): void {
    this.#faults.set(name, async (request, response) => {
      await wait();
      this.#forward(request, response);
    });
  }

  #handle(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? "/", this.#site);
    const name = `${request.method} ${pathname}`;
    this.requests.push(name);
    const fault = this.#faults.get(name);
    if (fault) fault(request, response);
    else this.#forward(request, response);
  }

  /** Forwards a request as it is: the site compares `Host` with `Origin`. */
  #forward(request: IncomingMessage, response: ServerResponse): void {
    const { hostname, port } = this.#site;
    const { method, url: path, headers } = request;
    const forwarded = send({ hostname, port, method, path, headers, agent: false });
    forwarded.on("response", (reply) => {
      response.writeHead(reply.statusCode ?? 502, reply.headers);
      reply.pipe(response);
    });
    forwarded.on("error", () => response.destroy());
    request.pipe(forwarded);
  }
}
