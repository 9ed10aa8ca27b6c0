// Connections that have not proven themselves yet: bounded in number, all together and of one address, and in time.
//   S1. A new one is always let in. Where that is one too many, the oldest goes of the address that has the most: whoever
//       holds connections open keeps nobody else out, and an honest handshake takes moments.
//   S2. Each has `timeMs` from its first sight.
// An IPv6 address counts with all others of its /64: whoever has one of them has all.

import { isIPv6 } from "node:net";

export interface StrangersOptions {
  readonly max: number;
  readonly perAddressMax: number;
  readonly timeMs: number;
  /** Called with the reason before a connection is ended. */
  readonly refused: (reason: "busy" | "late", address: string) => void;
}

/** What ends a connection that is no stranger any more when it has closed. */
export interface Connection {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly localAddress?: string | undefined;
}

interface Stranger {
  readonly address: string;
  readonly group: string;
  readonly end: () => void;
  readonly timer: NodeJS.Timeout;
}

export class Strangers {
  readonly #options: StrangersOptions;
  /** By {@link nameOf}, the oldest first. */
  readonly #all = new Map<string, Stranger>();
  readonly #groups = new Map<string, number>();

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  /** S1, S2. `end` ends the connection. */
  add(connection: Connection, end: () => void): void {
    const name = nameOf(connection);
    const address = connection.remoteAddress ?? "";
    const group = groupOf(address);
    this.forget(connection);
    const timer = setTimeout(() => this.#end(name, "late"), this.#options.timeMs);
    this.#all.set(name, { address, group, end, timer });
    this.#groups.set(group, (this.#groups.get(group) ?? 0) + 1);
    const { max, perAddressMax } = this.#options;
    if ((this.#groups.get(group) ?? 0) > perAddressMax) this.#endOldest(group);
    else if (this.#all.size > max) this.#endOldest(this.#mostNumerous());
  }

  /** It closed, or has proven itself. */
  forget(connection: Connection): void {
    this.#remove(nameOf(connection));
  }

  endAll(): void {
    for (const [name, { end }] of this.#all) {
      this.#remove(name);
      end();
    }
  }

  #remove(name: string): Stranger | undefined {
    const stranger = this.#all.get(name);
    if (stranger === undefined) return undefined;
    clearTimeout(stranger.timer);
    this.#all.delete(name);
    const left = (this.#groups.get(stranger.group) ?? 1) - 1;
    if (left > 0) this.#groups.set(stranger.group, left);
    else this.#groups.delete(stranger.group);
    return stranger;
  }

  #end(name: string, reason: "busy" | "late"): void {
    const stranger = this.#remove(name);
    if (stranger === undefined) return;
    this.#options.refused(reason, stranger.address);
    stranger.end();
  }

  #endOldest(group: string): void {
    for (const [name, stranger] of this.#all) {
      if (stranger.group !== group) continue;
      this.#end(name, "busy");
      return;
    }
  }

  /** Of several with as many, that of the oldest connection. */
  #mostNumerous(): string {
    let most = "";
    let count = 0;
    for (const { group } of this.#all.values()) {
      const own = this.#groups.get(group) ?? 0;
      if (own > count) [most, count] = [group, own];
    }
    return most;
  }
}

/** No two open connections to one port have the same. */
function nameOf({ remoteAddress, remotePort, localAddress }: Connection): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

function groupOf(address: string): string {
  const mapped = /^::ffff:([0-9.]+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  // The URL parser writes an IPv6 address in its one short form (RFC 5952), with no zone.
  const short = new URL(`http://[${address.split("%", 1)[0]}]`).hostname.slice(1, -1);
  const [left = "", right] = short.split("::");
  const words = left === "" ? [] : left.split(":");
  const missing = right === undefined ? 0 : 8 - words.length - (right === "" ? 0 : right.split(":").length);
  const all = [...words, ...Array<string>(missing).fill("0"), ...(right ? right.split(":") : [])];
  return `${all.slice(0, 4).join(":")}::/64`;
}
