// Loopback addresses for engines whose ports are fixed: 127.0.0.0/8 is the machine's own, where the system allows it.

import { createServer } from "node:net";

const fixedPorts = [9042, 7000, 9200, 9201, 9300, 9301];
const basesTried = 100;
/** Lowest third number of a range chosen here; those below are for whoever names an address. */
const blockMin = 16;
const blockCount = 200;

/** The `index`-th address after `base`. Throws when the last number of it passes 254. */
export function neighbour(base: string, index: number): string {
  const match = /^(127\.\d+\.\d+)\.(\d+)$/.exec(base);
  const last = Number(match?.[2]) + index;
  if (match === null || last < 1 || last > 254) throw new Error(`${base} + ${index} is no loopback address`);
  return `${match[1]}.${last}`;
}

/** First address of a range on which no engine listens. Only Linux and Windows have more than 127.0.0.1 by themselves. */
export async function freeBase(platform: NodeJS.Platform): Promise<string> {
  for (let attempt = 0; attempt < basesTried; attempt += 1) {
    const block = blockMin + Math.floor(Math.random() * blockCount);
    const base = platform === "darwin" ? "127.0.0.1" : `127.0.${block}.1`;
    if (await isFree(base)) return base;
    if (platform === "darwin") throw new Error("An engine listens on 127.0.0.1 already");
  }
  throw new Error("No loopback address is free");
}

/** Whether none of the engines' ports is taken at `address`. */
export async function isFree(address: string): Promise<boolean> {
  const free = await Promise.all(fixedPorts.map((port) => canListen(address, port)));
  return free.every(Boolean);
}

function canListen(address: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, address, () => server.close(() => resolve(true)));
  return promise;
}
