// Loopback addresses for engines whose ports are fixed: all of 127.0.0.0/8 is local, where the system allows it.

import { createServer } from "node:net";

const fixedPorts = [9042, 7000, 9200, 9201, 9300, 9301];
const basesTried = 100;
/** Lowest third octet of a range chosen here; lower ones are left to users who choose an address. */
const blockMin = 16;
const blockCount = 200;

/** The `index`-th address after `base`. Throws when its last octet exceeds 254. */
export function neighbour(base: string, index: number): string {
  const match = /^(127\.\d+\.\d+)\.(\d+)$/.exec(base);
  const last = Number(match?.[2]) + index;
  if (match === null || last < 1 || last > 254) throw new Error(`${base} + ${index} is no loopback address`);
  return `${match[1]}.${last}`;
}

/** First address of a range on which no engine listens. Only Linux and Windows have more than 127.0.0.1 by default. */
export async function freeBase(platform: NodeJS.Platform): Promise<string> {
  for (let attempt = 0; attempt < basesTried; attempt += 1) {
    const block = blockMin + Math.floor(Math.random() * blockCount);
    const base = platform === "darwin" ? "127.0.0.1" : `127.0.${block}.1`;
    if (await isFree(base)) return base;
    if (platform === "darwin") throw new Error("An engine listens on 127.0.0.1 already");
  }
  throw new Error("No loopback address is free");
}

/** Whether all of the engines' ports are free at `address`. */
export async function isFree(address: string): Promise<boolean> {
  const faults = await Promise.all(fixedPorts.map((port) => listenOnce(address, port)));
  return faults.every((fault) => fault === null);
}

/** An address on which something is to listen is not available. The message says why, and what to do. */
export class AddressTaken extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AddressTaken";
  }
}

/** What is to listen, and how its users choose another place. */
export interface Listener {
  /** `An engine` or `A node`. */
  readonly who: string;
  /** For example `another base address`. */
  readonly instead: string;
}

const anEngine: Listener = { who: "An engine", instead: "another base address" };

/** Throws {@link AddressTaken} unless every port is available at its address. */
export async function assertFree(
  places: readonly { readonly address: string; readonly port: number }[],
  { who, instead }: Listener = anEngine,
): Promise<void> {
  for (const { address, port } of places) {
    const refused = await listenOnce(address, port);
    if (refused === null) continue;
    const advice =
      refused === "EADDRNOTAVAIL"
        ? `this machine has no such address; add it, on macOS with \`sudo ifconfig lo0 alias ${address}\``
        : `another process listens there; end it, or choose ${instead}`;
    throw new AddressTaken(`${who} cannot use ${address}:${port}: ${advice} (${refused}).`);
  }
}

/** The error's code, or null on success. */
function listenOnce(address: string, port: number): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const server = createServer();
  server.once("error", (error: NodeJS.ErrnoException) => resolve(error.code ?? "unknown"));
  server.listen(port, address, () => server.close(() => resolve(null)));
  return promise;
}
