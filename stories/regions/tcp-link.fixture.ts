// A TCP link that a test can cut: between a node and an engine, or between two nodes. It does not interpret the traffic.
// For tests.
//   cut      acts like a machine that is gone: open connections are reset, new ones are closed at once.
//   silence  acts like a network that drops packets: connections stay open, new ones are accepted, and nothing arrives in
//            either direction. Data in transit is lost, so `heal` closes every connection of that time.
//   hold     acts like a stalled network: everything that is sent arrives, complete and in order, once `heal` releases it.

import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

type Link = readonly [near: Socket, far: Socket];

export class TcpLink implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: { readonly host: string; readonly port: number };
  readonly #links = new Set<Link>();
  readonly #held: (() => void)[] = [];
  #trigger: { readonly text: string; left: number; readonly caught: () => void } | null = null;
  #state: "open" | "cut" | "silent" | "held" = "open";

  private constructor(target: string) {
    const colon = target.lastIndexOf(":");
    this.#target = { host: target.slice(0, colon), port: Number(target.slice(colon + 1)) };
    this.#server = createServer((near) => this.#accept(near));
  }

  /** A link to `target` (`host:port`) that is reached at a free port of 127.0.0.1. */
  static async open(target: string): Promise<TcpLink> {
    const link = new TcpLink(target);
    const listening = Promise.withResolvers<void>();
    link.#server.once("error", listening.reject);
    link.#server.listen(0, "127.0.0.1", () => listening.resolve());
    await listening.promise;
    return link;
  }

  get address(): string {
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#links.size;
  }

  cut(): void {
    this.#state = "cut";
    this.#endAll();
  }

  silence(): void {
    this.#state = "silent";
  }

  hold(): void {
    this.#state = "held";
  }

  /** Starts to hold at the `times`-th piece that contains this text on its way to the target; resolves when it does. */
  holdAt(text: string, times: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#trigger = { text, left: times, caught: resolve };
    return promise;
  }

  heal(): void {
    if (this.#state === "silent") this.#endAll();
    this.#state = "open";
    for (const arrive of this.#held.splice(0)) arrive();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = Promise.withResolvers<void>();
    this.#server.close(() => closed.resolve());
    this.#endAll();
    await closed.promise;
  }

  #accept(near: Socket): void {
    near.on("error", () => {});
    if (this.#state === "cut") {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.#target);
    far.on("error", () => {});
    const link: Link = [near, far];
    this.#links.add(link);
    near.on("data", (chunk: Buffer) => this.#look(chunk));
    this.#pipe(link, near, far);
    this.#pipe(link, far, near);
  }

  #pipe(link: Link, from: Socket, to: Socket): void {
    from.setNoDelay();
    const write = (chunk: Buffer): void => {
      if (to.destroyed || to.write(chunk)) return;
      from.pause();
      to.once("drain", () => from.resume());
    };
    const end = (): void => {
      this.#links.delete(link);
      to.destroySoon();
    };
    from.on("data", (chunk: Buffer) => this.#pass(() => write(chunk)));
    // The client that is cut off does not learn that the other end has gone.
    from.on("close", () => this.#pass(end));
  }

  #look(chunk: Buffer): void {
    if (this.#trigger === null || !chunk.includes(this.#trigger.text)) return;
    this.#trigger.left -= 1;
    if (this.#trigger.left > 0) return;
    this.hold();
    this.#trigger.caught();
    this.#trigger = null;
  }

  #pass(arrive: () => void): void {
    if (this.#state === "silent") return;
    if (this.#state === "held") this.#held.push(arrive);
    else arrive();
  }

  #endAll(): void {
    this.#held.length = 0;
    for (const link of this.#links) for (const socket of link) socket.resetAndDestroy();
    this.#links.clear();
  }
}
