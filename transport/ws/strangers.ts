// Connections that have not proven themselves yet, bounded in number (in total and per address) and in time.
//   S1. A new one is always admitted. If that is one too many, the oldest connection of the address with the most
//       connections is dropped: holding connections open locks nobody out, and an honest handshake takes moments.
//   S2. Each has `timeMs` from its first sight.
// An IPv6 address counts together with all others of its /64, because a holder of one address has all of them.

import { addressBlock } from "../../std/ip-address.ts";

export interface StrangersOptions {
  readonly max: number;
  readonly perAddressMax: number;
  readonly timeMs: number;
  /** Called with the reason before a connection is ended. */
  readonly refused: (reason: "busy" | "late", address: string) => void;
}

/** What identifies a connection: the addresses and ports of its ends. */
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
  /** Strangers by {@link nameOf}, the oldest first. */
  readonly #all = new Map<string, Stranger>();
  readonly #groups = new Map<string, number>();

  constructor(options: StrangersOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Admits a connection (S1, S2). `end` ends it. */
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

  /** Forgets a connection that closed, or has proven itself. */
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

  /** The address with the most connections; among equals, that of the oldest connection. */
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

/** A unique name: no two open connections to one port share it. */
function nameOf({ remoteAddress, remotePort, localAddress }: Connection): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`;
}

/** The zone says over which of this machine's links an address is reached, and nothing of who has it. */
function groupOf(address: string): string {
  return addressBlock(address.split("%", 1)[0] ?? address);
}
