// What the allowance check adds to a fetch: the same node answers with and without it, in pairs.

import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import { sendAll } from "../load.ts";
import { productId } from "../products.ts";
import type { Figure } from "../report.ts";
import { makeRequests, type RequestPlan } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { companyOf, merchantOf, type World } from "../world.ts";

const connections = 64;
const products = 20_000;

export async function measureAllowance(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.filledHome(products));
  const { child, sandbox } = node;
  const caller = companyOf(sandbox);
  const company = sandbox.ai_companies[0]?.ai_company_uuid ?? "";
  const ports = await child.call<{ readonly paid: number; readonly free: number }>("openAllowance", company);
  const pairs = world.size(60, 4);
  const each = world.size(500, 200);
  const plans = await fetchPlans(child, merchantOf(sandbox).uuid);
  let next = 0;
  const side = (port: number) => async (): Promise<Timed> => {
    const some = Array.from({ length: each }, (_, at) => plans[(next + at) % plans.length]).filter(
      (plan) => plan !== undefined,
    );
    next += each;
    return timed(child, port, await makeRequests(sandbox.base_url, caller, some));
  };
  const sides = { ours: side(ports.paid), floor: side(ports.free) };
  for (let warmUp = 0; warmUp < world.size(3, 1); warmUp += 1) {
    await sides.ours();
    await sides.floor();
  }
  const before = await child.call<number>("paidAnswers", null);
  const rounds = await takeRounds(pairs, sides);
  const paid = (await child.call<number>("paidAnswers", null)) - before;
  if (paid !== pairs * each) throw new Error(`${paid} of ${pairs * each} fetches were paid for`);
  const times = rounds.map(({ ours, floor }) => ({ ours: ours.micros, floor: floor.micros }));
  const main = rounds.map(({ ours, floor }) => ({ ours: ours.mainMicros, floor: floor.mainMicros }));
  return [
    {
      ...{ section: "allowance", name: `fetch with an allowance, ${connections} connections`, unit: "µs" },
      ...{ ...compare(times), goal: { atMost: 1.05 } },
      note:
        `Elapsed time of a fetch while ${connections} are under way; the floor is the same node without the check. ${pairs} pairs of ${each} fetches; ` +
        `the middle half of the ratios is ${quartiles(times)}. Processor time of the main thread ` +
        `${compare(main).ours.toFixed(0)} µs against ${compare(main).floor.toFixed(0)} µs, ratio ${compare(main).ratio.toFixed(3)}.`,
    },
  ];
}

function quartiles(rounds: readonly { readonly ours: number; readonly floor: number }[]): string {
  const ratios = rounds.map(({ ours, floor }) => ours / floor).sort((a, b) => a - b);
  const half = ratios.length >> 1;
  return `${median(ratios.slice(0, half)).toFixed(2)} to ${median(ratios.slice(half)).toFixed(2)}`;
}

async function fetchPlans(child: Child, businessUuid: string): Promise<readonly RequestPlan[]> {
  const localIds = Array.from({ length: products }, (_, index) => productId(index));
  const ids = await child.call<readonly string[]>("recordIds", { businessUuid, kind: "products", localIds });
  return ids.map((id) => ({ method: "GET", path: `/v1/records/${id}`, tag: "svc-retrieval" }));
}

interface Timed {
  readonly micros: number;
  readonly mainMicros: number;
}

async function timed(child: Child, port: number, requests: readonly Uint8Array[]): Promise<Timed> {
  const before = await child.call<CpuTimes>("cpuTimes", null);
  const { elapsedMs } = await sendAll({ host: "127.0.0.1", port }, requests, connections);
  const cpu = cpuBetween(before, await child.call<CpuTimes>("cpuTimes", null));
  return {
    micros: (elapsedMs * 1_000) / requests.length,
    mainMicros: (cpu.mainMs * 1_000) / requests.length,
  };
}
