// Faults on request: lets test processes fail and restore the engines, through the process that owns the profile.
//   POST {url}/{name of the fault}/{index}  →  204, or 500 with the reason as text. Loopback only, the address is secret.

import { randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { EngineFaults } from "./profiles.ts";

const faultNames = [
  "killCassandra",
  "startCassandra",
  "pauseCassandra",
  "resumeCassandra",
  "compactCassandra",
  "killElastic",
  "startElastic",
  "pauseElastic",
  "resumeElastic",
] as const satisfies readonly (keyof EngineFaults)[];

export interface ControlServer extends AsyncDisposable {
  readonly url: string;
}

/** Serves the faults of a profile until it is disposed. */
export async function serveFaults(faults: EngineFaults): Promise<ControlServer> {
  const secret = randomBytes(16).toString("hex");
  const server = createServer(async (request, answer) => {
    const [, given, name, index] = (request.url ?? "").split("/");
    const fault = faultNames.find((each) => each === name);
    if (request.method !== "POST" || given !== secret || fault === undefined) {
      answer.writeHead(404).end();
      return;
    }
    try {
      await faults[fault](Number(index));
      answer.writeHead(204).end();
    } catch (error) {
      answer.writeHead(500).end(error instanceof Error ? error.message : String(error));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${secret}`,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export function faultsAt(url: string): EngineFaults {
  const ask =
    (name: keyof EngineFaults) =>
    async (index: number): Promise<void> => {
      const answer = await fetch(`${url}/${name}/${index}`, { method: "POST" });
      const text = await answer.text();
      if (answer.status !== 204) throw new Error(`${name}(${index}): ${answer.status} ${text}`);
    };
  return Object.fromEntries(faultNames.map((name) => [name, ask(name)])) as Record<
    (typeof faultNames)[number],
    (index: number) => Promise<void>
  >;
}
