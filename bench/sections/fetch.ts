// Fetches of distinct records against a bare server that does the work that no implementation could skip.

import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { FloorPlan } from "../floor/serve.ts";
import { captureAnswers } from "../floor-plan.ts";
import { type LoadTarget, sendAll } from "../load.ts";
import { productId } from "../products.ts";
import type { Figure } from "../report.ts";
import { makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { companyOf, merchantOf, type OpenNode, type World } from "../world.ts";

const connections = 64;
const capturedAnswers = 500;

export async function measureFetch(world: World): Promise<readonly Figure[]> {
  await using node = await world.openNode(await world.filledHome());
  return await measureFetchOf(
    world,
    node,
    Array.from({ length: world.products }, (_, index) => index),
  );
}

/** Measures fetches of a node's products, which are given by their numbers. */
export async function measureFetchOf(
  world: World,
  node: OpenNode,
  products: readonly number[],
): Promise<readonly Figure[]> {
  const { base_url: baseUrl } = node.sandbox;
  const caller = companyOf(node.sandbox);
  const plans = await fetchPlans(products, node.child, merchantOf(node.sandbox).uuid);
  const each = Math.floor(plans.length / (roundCount(world) + 1));
  const captured = Math.min(capturedAnswers, each);
  await using floor = world.start("floor/serve.ts");
  const floorPlan: FloorPlan = {
    file: world.path("floor.db"),
    ...(await captureAnswers(baseUrl, caller, plans.slice(0, captured))),
  };
  const floorTarget: LoadTarget = { host: "127.0.0.1", port: await floor.call<number>("listen", floorPlan) };
  const side = (target: LoadTarget, child: Child) => async (round: number) => {
    const some = plans.slice((round + 1) * each, (round + 2) * each);
    return await measure(child, target, await makeRequests(baseUrl, caller, some));
  };
  const sides = { ours: side(targetOf(baseUrl), node.child), floor: side(floorTarget, floor) };
  // The first part of the records warms both up, and is not requested again.
  await sides.ours(-1);
  await sides.floor(-1);
  const rounds = await takeRounds(roundCount(world), sides);
  const rates = rounds.map(({ ours, floor: bare }) => ({ ours: ours.rate, floor: bare.rate }));
  const of = (side: "ours" | "floor", what: keyof Measured): string =>
    median(rounds.map((round) => round[side][what])).toFixed(what.endsWith("Micros") ? 0 : 1);
  return [
    {
      section: "fetch",
      name: `distinct records, ${connections} connections`,
      unit: "answers/s",
      ...compare(rates),
      goal: { atLeast: 0.7 },
      note:
        "Ed25519 verified on the main thread and signed off it, ours in one thread, the floor on the thread pool (4); the load comes from a process of its own. " +
        `p50 ${of("ours", "p50Ms")} ms against ${of("floor", "p50Ms")} ms, p99 ${of("ours", "p99Ms")} against ${of("floor", "p99Ms")}; ` +
        `processor time of an answer ${of("ours", "mainMicros")} µs against ${of("floor", "mainMicros")} on the main thread, ` +
        `${of("ours", "allMicros")} µs against ${of("floor", "allMicros")} on all.`,
    },
  ];
}

function roundCount(world: World): number {
  return world.size(7, 1);
}

async function fetchPlans(
  products: readonly number[],
  child: Child,
  businessUuid: string,
): Promise<readonly RequestPlan[]> {
  const localIds = products.map(productId);
  const ids = await child.call<readonly string[]>("recordIds", { businessUuid, kind: "products", localIds });
  return ids.map((id) => ({ method: "GET", path: `/v1/records/${id}`, tag: "svc-retrieval" }));
}

interface Measured {
  readonly rate: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly allMicros: number;
  readonly mainMicros: number;
}

async function measure(child: Child, target: LoadTarget, requests: readonly Uint8Array[]): Promise<Measured> {
  const cpuBefore = await child.call<CpuTimes>("cpuTimes", null);
  const result = await sendAll(target, requests, connections);
  const cpu = cpuBetween(cpuBefore, await child.call<CpuTimes>("cpuTimes", null));
  return {
    rate: (result.requests / result.elapsedMs) * 1_000,
    p50Ms: quantile(result.latenciesMs, 0.5),
    p99Ms: quantile(result.latenciesMs, 0.99),
    allMicros: (cpu.allMs * 1_000) / result.requests,
    mainMicros: (cpu.mainMs * 1_000) / result.requests,
  };
}
