import { createServer } from "node:net";

/** Number of ports on which a node listens: one per surface. */
export const surfacePorts = 6;

const basesTried = 50;
const claimed = new Set<number>();

/** The first of this many consecutive free ports, below those that the system assigns automatically. */
export async function freePorts(count: number): Promise<number> {
  for (let attempt = 0; attempt < basesTried; attempt += 1) {
    const base = 20_000 + Math.floor(Math.random() * 1_200) * 10;
    if (claimed.has(base)) continue;
    const free = await Promise.all(Array.from({ length: count }, (_, index) => isFree(base + index)));
    if (!free.every(Boolean)) continue;
    claimed.add(base);
    return base;
  }
  throw new Error(`No ${count} ports in a row are free.`);
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once("error", () => resolve(false));
  server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  return promise;
}
