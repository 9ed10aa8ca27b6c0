// A second operators' surface of a running node, whose views follow far more often than once a second: so that a minute shows
// what thousands of updates leave behind. Its clock stands still, so that counting seems to take no time and is done for each view.

import type { AddressInfo } from "node:net";
import { pino } from "pino";
import type { RunningNode } from "../../node/start.ts";
import { buildSurfaces } from "../../node/surfaces.ts";
import { liveTimingDefault } from "../../ops/live.ts";

export interface QuickSurface extends AsyncDisposable {
  readonly url: string;
}

const loopback = "127.0.0.1";

export async function openQuickSurface(
  { services, urls }: RunningNode,
  everyMs: number,
): Promise<QuickSurface> {
  const hosts: string[] = [];
  const built = buildSurfaces(
    { ...services, elapsedMs: () => 0 },
    {
      ...{ urls, ports: [], logger: pino({ level: "silent" }), audit: { record: () => {} } },
      access: { hosts, token: "", isLoopback: true },
    },
    { live: { ...liveTimingDefault, everyMs } },
  );
  await built.ops.listen({ host: loopback, port: 0 });
  const { port } = built.ops.server.address() as AddressInfo;
  hosts.push(`${loopback}:${port}`);
  return {
    url: `http://${loopback}:${port}`,
    [Symbol.asyncDispose]: async () => {
      await Promise.all(Object.values(built).map((each) => each.close()));
    },
  };
}
