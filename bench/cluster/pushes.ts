// A push of the largest batch until both regions find it, against the work that no implementation could skip.

import { IndexNames, rowsAlias } from "../../storage/elasticsearch/names.ts";
import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { EnginePush, EnginePushResult } from "../floor/engine-push.ts";
import { sendOne } from "../load.ts";
import { type ProductRange, type Publisher, preparePushOf } from "../prepared-push.ts";
import type { Figure } from "../report.ts";
import { targetOf } from "../requests.ts";
import { compare, median, takeRounds } from "../rounds.ts";
import { batchRecords, type World } from "../world.ts";
import { newPublisher } from "./callers.ts";
import type { Stored } from "./node.ts";
import type { ClusterNode, ClusterSetting } from "./setting.ts";

const warmUpRecords = 500;

interface Common {
  readonly world: World;
  readonly setting: ClusterSetting;
  readonly node: ClusterNode;
  /** One node of each region. */
  readonly nodes: readonly ClusterNode[];
}

interface Measured {
  readonly elapsedMs: number;
  readonly cpu: CpuTimes;
}

export async function measurePushes(
  world: World,
  setting: ClusterSetting,
  nodes: readonly ClusterNode[],
): Promise<readonly Figure[]> {
  const [node] = nodes;
  if (node === undefined) throw new Error("there is no node");
  const common = { world, setting, node, nodes };
  const records = world.size(batchRecords, 1_000);
  await pushOnce(common, { first: 0, count: warmUpRecords });
  let stored: readonly Stored[] | null = null;
  const rounds = await takeRounds(world.size(3, 1), {
    ours: async (round) => {
      world.say(`cluster: push, round ${round + 1}`);
      const pushed = await pushOnce(common, { first: 0, count: records });
      stored ??= await node.child.call<readonly Stored[]>("readStored", { ids: pushed.ids });
      return pushed.measured;
    },
    floor: async (round) => {
      if (stored === null) throw new Error("the first round begins with ours");
      return await pushToFloor(common, stored, round);
    },
  });
  const cpuOf = (side: "ours" | "floor"): string =>
    median(rounds.map((round) => round[side].cpu.mainMs)).toFixed(0);
  return [
    {
      ...{
        section: "cluster",
        name: `push of ${records.toLocaleString("en")} records until both regions find all`,
      },
      unit: "ms",
      ...compare(rounds.map(({ ours, floor }) => ({ ours: ours.elapsedMs, floor: floor.elapsedMs }))),
      goal: { atMost: 2 },
      note:
        "The floor writes the versions, heads and catalogue rows that ours stored, and sends its rows to both regions' Elasticsearch, at the same time and with as many requests at once as ours; all of it was made beforehand. " +
        `Processor time of the home node's main thread ${cpuOf("ours")} ms against ${cpuOf("floor")}.`,
    },
  ];
}

/** A push of a new business, from the first byte of the request until it is complete, which every index has to confirm. */
async function pushOnce(common: Common, range: ProductRange): Promise<Pushed> {
  const { child, urls } = common.node;
  const publisher = await newPublisher(common.setting.keysFolder, urls.business_url);
  const prepared = await preparePushOf(urls.business_url, publisher, range);
  const pushId = prepared.batch.push_id;
  return await timePush(common, { publisher, range }, async () => {
    await requestPush(urls, prepared.request);
    await untilComplete(child, { publisher, pushId, records: range.count });
  });
}

export interface Pushed {
  readonly measured: Measured;
  readonly ids: readonly string[];
}

/** Times a push, and sees that every region has its records. */
export async function timePush(
  { node: { child }, nodes }: Pick<Common, "node" | "nodes">,
  { publisher, range }: { readonly publisher: Publisher; readonly range: ProductRange },
  push: () => Promise<void>,
): Promise<Pushed> {
  const before = await Promise.all(nodes.map(indexedProducts));
  const cpuBefore = await child.call<CpuTimes>("cpuTimes", null);
  const startedMs = performance.now();
  await push();
  const elapsedMs = performance.now() - startedMs;
  const cpu = cpuBetween(cpuBefore, await child.call<CpuTimes>("cpuTimes", null));
  const after = await Promise.all(nodes.map(indexedProducts));
  const found = after.map((count, at) => count - (before[at] ?? 0));
  if (found.some((count) => count !== range.count))
    throw new Error(`Of ${range.count} records the regions find ${found.join(" and ")}.`);
  const ids = await child.call<readonly string[]>("recordIds", { businessUuid: publisher.uuid, ...range });
  return { measured: { elapsedMs, cpu }, ids };
}

export async function requestPush({ business_url }: ClusterNode["urls"], request: Uint8Array): Promise<void> {
  const answer = await sendOne(targetOf(business_url), request);
  if (answer.status !== 202) throw new Error(`push: ${answer.status} ${answer.body.slice(0, 500)}`);
}

export async function untilComplete(
  child: Child,
  push: { readonly publisher: Publisher; readonly pushId: string; readonly records: number },
): Promise<void> {
  const { publisher, pushId, records } = push;
  const ended = await child.call<{ state: string; counts: Readonly<Record<string, number>> }>("awaitPush", {
    businessUuid: publisher.uuid,
    pushId,
  });
  if (ended.state !== "complete" || ended.counts["accepted"] !== records)
    throw new Error(`push: ${JSON.stringify(ended)}`);
}

function indexedProducts({ child }: ClusterNode): Promise<number> {
  return child.call<number>("indexedProducts", null);
}

/** Writes what ours stored again, `copies` times under other ids. */
export async function pushToFloor(
  { world, setting, node }: Pick<Common, "world" | "setting" | "node">,
  stored: readonly Stored[],
  round: number,
  copies = 1,
): Promise<EnginePushResult> {
  await using child = world.start("floor/engine-push.ts");
  const { regions, elastic } = setting.engines;
  const indexes = regions.map((region, at) => ({
    elastic: elastic[at] ?? "",
    alias: rowsAlias(new IndexNames(setting.indexPrefix(region), "products").generation(1)),
  }));
  const params = (marks: readonly string[], some: readonly Stored[]): EnginePush => ({
    ...{ place: setting.placeOf(node.region), indexes, stored: some, marks },
  });
  const digits = "abcdefghijklmnopqrstuvwxyz";
  const digit = digits[round] ?? "";
  const marks = Array.from({ length: copies }, (_, copy) => `${digit}bb${digits[copy]}`);
  await child.call("run", params([`${digit}aaa`], stored.slice(0, warmUpRecords)));
  return await child.call<EnginePushResult>("run", params(marks, stored));
}
