// Calls from one node to another against bare `ws` between two such processes.

import type { Figure } from "../report.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import type { CallsResult, PacedLoad, SaturatingLoad } from "../transport/node.ts";
import type { World } from "../world.ts";

const callers = 64;

interface Side {
  readonly saturated: CallsResult;
  readonly paced: CallsResult;
}

export async function measureTransport(world: World): Promise<readonly Figure[]> {
  const calls = world.size(200_000, 10_000);
  const perSecond = await halfOfBare(world, calls);
  const side =
    (path: string) =>
    async (round: number): Promise<Side> => {
      world.say(`transport, round ${round + 1}: ${path}`);
      return await measure(world, path, { calls, perSecond });
    };
  const rounds = await takeRounds(world.size(5, 1), {
    ours: side("transport/node.ts"),
    floor: side("floor/ws.ts"),
  });
  const of = (pick: (side: Side) => number) =>
    compare(rounds.map(({ ours, floor }) => ({ ours: pick(ours), floor: pick(floor) })));
  const cpu = (which: "ours" | "floor"): string =>
    ((median(rounds.map((round) => round[which].saturated.cpu.mainMs)) / calls) * 1_000).toFixed(1);
  const p99 = (which: "ours" | "floor"): string =>
    median(rounds.map((round) => round[which].paced.p99Ms)).toFixed(2);
  return [
    {
      ...{ section: "transport", unit: "calls/s", goal: { atLeast: 0.5 } },
      name: `calls to another node, ${callers} at once`,
      ...of(({ saturated }) => saturated.perSecond),
      note:
        `Two processes on each side, one connection, the same commands and answers as JSON. Processor time of the calling process's main thread ${cpu("ours")} µs a call against ${cpu("floor")}. ` +
        "Ours authenticates every frame, knows doubled calls, bounds what waits, and times every call; messages of one turn of the event loop share a frame.",
    },
    {
      ...{ section: "transport", unit: "ms", goal: { atMost: 3 } },
      name: `p50 of a call at ${Math.round(perSecond).toLocaleString("en")} calls/s`,
      ...of(({ paced }) => paced.p50Ms),
      note: `The rate is half of what bare ws reached before the rounds; both sides are called at this rate. p99 ${p99("ours")} ms against ${p99("floor")}.`,
    },
  ];
}

/** The rate for the latencies in calls per second: half of what the floor sustains. */
async function halfOfBare(world: World, calls: number): Promise<number> {
  const { saturated } = await measure(world, "floor/ws.ts", { calls, perSecond: null });
  return saturated.perSecond / 2;
}

async function measure(
  world: World,
  path: string,
  { calls, perSecond }: { readonly calls: number; readonly perSecond: number | null },
): Promise<Side> {
  await using answering = world.start(path);
  await using calling = world.start(path);
  await calling.call("connect", await answering.call<string>("listen", null));
  const saturating: SaturatingLoad = { calls, callers };
  await calling.call("saturate", { calls: Math.ceil(calls / 4), callers } satisfies SaturatingLoad);
  const saturated = await calling.call<CallsResult>("saturate", saturating);
  if (perSecond === null) return { saturated, paced: saturated };
  const pacing: PacedLoad = { calls: Math.ceil(perSecond * world.size(4, 1)), perSecond };
  return { saturated, paced: await calling.call<CallsResult>("pace", pacing) };
}
