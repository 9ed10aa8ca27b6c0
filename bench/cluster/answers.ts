// Searches and fetches of a node in a region, against a bare server that sends the same requests to the same engines.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { hitsFilterPath } from "../../storage/elasticsearch/hits.ts";
import { IndexNames } from "../../storage/elasticsearch/names.ts";
import { searchBody } from "../../storage/elasticsearch/query.ts";
import type { RowQuery } from "../../storage/row-index.ts";
import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { EngineFloorPlan, EngineQuery } from "../floor/engine-serve.ts";
import { captureAnswers } from "../floor-plan.ts";
import { type LoadTarget, sendAll } from "../load.ts";
import { type Publisher, preparePushOf } from "../prepared-push.ts";
import { queryKinds } from "../queries.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { batchRecords, type World } from "../world.ts";
import { newCompany, newPublisher } from "./callers.ts";
import type { FillBatch } from "./fill.ts";
import type { ClusterNode, ClusterSetting } from "./setting.ts";

const connections = 4;
const rowsWanted = 50;
const capturedAnswers = 90;
const batchesAtOnce = 2;

export async function measureAnswers(
  world: World,
  setting: ClusterSetting,
  [node]: readonly ClusterNode[],
): Promise<readonly Figure[]> {
  if (node === undefined) throw new Error("there is no node");
  const publisher = await newPublisher(setting.keysFolder, node.urls.business_url);
  await fill(world, node, publisher);
  const caller = await newCompany(setting.keysFolder);
  const common = { world, setting, node, caller };
  return [...(await search(common)), ...(await fetchRecords(common, publisher))];
}

interface Common {
  readonly world: World;
  readonly setting: ClusterSetting;
  readonly node: ClusterNode;
  readonly caller: Caller;
}

async function fill(world: World, { urls, child }: ClusterNode, publisher: Publisher): Promise<void> {
  world.say(`storing ${world.products} products in both regions`);
  const firsts = Array.from(
    { length: Math.ceil(world.products / batchRecords) },
    (_, at) => at * batchRecords,
  );
  const worker = async (): Promise<void> => {
    for (let first = firsts.shift(); first !== undefined; first = firsts.shift()) {
      const count = Math.min(batchRecords, world.products - first);
      const { records, batch } = await preparePushOf(urls.business_url, publisher, { first, count });
      const { uuid: businessUuid, certId, caller } = publisher;
      await child.call("fill", {
        businessUuid,
        certId,
        keyId: caller.key.keyId,
        records,
        batch,
      } satisfies FillBatch);
    }
  };
  await Promise.all(Array.from({ length: batchesAtOnce }, worker));
}

async function search(common: Common): Promise<readonly Figure[]> {
  const { world, setting, node } = common;
  const rounds = world.size(5, 1);
  const each = world.size(900, 90);
  world.say("cluster: searches");
  const queries = await planQueries(node, setting, (rounds + 1) * each);
  const measured = await measureRounds(common, {
    ...{ rounds, each, plans: queries.map(({ plan }) => plan) },
    queries: new Map(queries.map(({ text, query }) => [text, query])),
  });
  const what = `${world.products.toLocaleString("en")} rows, distinct queries, ${rowsWanted}-row answers, ${connections} at once`;
  return [
    {
      ...{ section: "cluster", name: `search p50, ${what}`, unit: "ms", goal: { atMost: 1.3 } },
      ...of(measured, "p50Ms"),
      note: noteOf(measured, "the query asked of Elasticsearch"),
    },
    {
      ...{ section: "cluster", name: `search p99, ${what}`, unit: "ms", goal: { atMost: 2 }, note: "" },
      ...of(measured, "p99Ms"),
    },
  ];
}

async function fetchRecords(common: Common, { uuid }: Publisher): Promise<readonly Figure[]> {
  const { world, node } = common;
  const rounds = world.size(5, 1);
  const each = Math.min(world.size(2_000, 200), Math.floor(world.products / (rounds + 1)));
  world.say("cluster: fetches");
  const ids = await node.child.call<readonly string[]>("recordIds", {
    ...{ businessUuid: uuid, first: 0, count: (rounds + 1) * each },
  });
  const plans = ids.map(
    (id): RequestPlan => ({ method: "GET", path: `/v1/records/${id}`, tag: "svc-retrieval" }),
  );
  const measured = await measureRounds(common, { rounds, each, plans, queries: new Map() });
  return [
    {
      ...{ section: "cluster", name: `fetch p50, distinct records, ${connections} at once`, unit: "ms" },
      ...of(measured, "p50Ms"),
      goal: { atMost: 1.5 },
      note: noteOf(measured, "the record read from Cassandra"),
    },
  ];
}

interface Measured {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rate: number;
  readonly mainMicros: number;
}

type Rounds = readonly { readonly ours: Measured; readonly floor: Measured }[];

/** Ours and the floor in turn; the last part of the plans warms both up. */
async function measureRounds(
  { world, setting, node, caller }: Common,
  asked: {
    readonly rounds: number;
    readonly each: number;
    readonly plans: readonly RequestPlan[];
    readonly queries: EngineFloorPlan["queries"];
  },
): Promise<Rounds> {
  const { rounds, each, plans, queries } = asked;
  const { base_url: baseUrl } = node.urls;
  await using floor = world.start("floor/engine-serve.ts");
  const plan: EngineFloorPlan = {
    place: setting.placeOf(node.region),
    lanes: connections,
    queries,
    ...(await captureAnswers(baseUrl, caller, plans.slice(0, Math.min(capturedAnswers, each)))),
  };
  const floorTarget: LoadTarget = { host: "127.0.0.1", port: await floor.call<number>("listen", plan) };
  const side = (target: LoadTarget, child: Child) => async (round: number) => {
    const some = plans.slice(round * each, (round + 1) * each);
    return await measure(child, target, await makeRequests(baseUrl, caller, some));
  };
  const sides = { ours: side(targetOf(baseUrl), node.child), floor: side(floorTarget, floor) };
  await sides.ours(rounds);
  await sides.floor(rounds);
  return await takeRounds(rounds, sides);
}

async function measure(child: Child, target: LoadTarget, requests: readonly Uint8Array[]): Promise<Measured> {
  const cpuBefore = await child.call<CpuTimes>("cpuTimes", null);
  const result = await sendAll(target, requests, connections);
  const cpu = cpuBetween(cpuBefore, await child.call<CpuTimes>("cpuTimes", null));
  return {
    p50Ms: quantile(result.latenciesMs, 0.5),
    p99Ms: quantile(result.latenciesMs, 0.99),
    rate: (result.requests / result.elapsedMs) * 1_000,
    mainMicros: (cpu.mainMs * 1_000) / result.requests,
  };
}

function of(rounds: Rounds, what: keyof Measured) {
  return compare(rounds.map(({ ours, floor }) => ({ ours: ours[what], floor: floor[what] })));
}

function noteOf(rounds: Rounds, part: string): string {
  const both = (what: keyof Measured): string => {
    const side = (which: "ours" | "floor"): string =>
      median(rounds.map((round) => round[which][what])).toFixed(0);
    return `${side("ours")} against ${side("floor")}`;
  };
  return (
    `The floor is a bare server that does one thing after the other: one signature verified, ${part}, one signature made, ` +
    "one conditional batch in a partition that nobody competes for, one receipt written. Ours claims all nonces of the one key that asks in one partition. " +
    `Answers a second ${both("rate")}; processor time of the main thread ${both("mainMicros")} µs an answer.`
  );
}

interface PlannedQuery {
  readonly text: string;
  readonly query: EngineQuery;
  readonly plan: RequestPlan;
}

/** Maximum number of candidates tried for each query wanted of a kind. */
const triesMax = 4;

/** Distinct queries that each return a full page, alternating between the kinds. */
async function planQueries(
  { child, region }: ClusterNode,
  setting: ClusterSetting,
  count: number,
): Promise<readonly PlannedQuery[]> {
  const { serving } = new IndexNames(setting.indexPrefix(region), "products");
  const each = Math.ceil(count / queryKinds.length);
  const ofKind: PlannedQuery[][] = [];
  for (const { name, body: bodyOf } of queryKinds) {
    const queries: PlannedQuery[] = [];
    for (let first = 0; queries.length < each && first < each * triesMax; first += each) {
      const bodies = Array.from({ length: each }, (_, index) => bodyOf(first + index) as JsonValue);
      const explained = await child.call<readonly { readonly query: RowQuery; readonly rows: number }[]>(
        "explain",
        { bodies },
      );
      for (const [at, { query, rows }] of explained.entries())
        if (rows === rowsWanted) queries.push(plannedQuery(JSON.stringify(bodies[at]), query, serving));
    }
    if (queries.length < each)
      throw new Error(`${name}: only ${queries.length} of ${each} queries answer ${rowsWanted} rows`);
    ofKind.push(queries);
  }
  return Array.from({ length: each }, (_, index) => ofKind.flatMap((queries) => queries[index] ?? []))
    .flat()
    .slice(0, count);
}

function plannedQuery(text: string, query: RowQuery, serving: string): PlannedQuery {
  const path = `/${serving}/_search?allow_partial_search_results=false&filter_path=${hitsFilterPath(query)}`;
  const plan = { method: "POST", path: "/v1/search", tag: "svc-retrieval", body: Buffer.from(text) } as const;
  return { text, query: { path, body: searchBody(query) }, plan };
}
