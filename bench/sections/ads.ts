// Pools of ads, and the renders and clicks of their items, against a bare server that does the work that no implementation could skip.

import { adKeywords } from "../ads/keywords.ts";
import { adsOfCampaign } from "../ads/publish.ts";
import type { Child } from "../child.ts";
import { type CpuTimes, cpuBetween } from "../cpu-times.ts";
import type { AdFloorPlan } from "../floor/ads.ts";
import { captureAnswers } from "../floor-plan.ts";
import { type LoadTarget, sendAll } from "../load.ts";
import type { Figure } from "../report.ts";
import { type Caller, makeRequests, type RequestPlan, targetOf } from "../requests.ts";
import { compare, median, quantile, takeRounds } from "../rounds.ts";
import { companyOf, type World } from "../world.ts";

const section = "ads";
const connections = 64;
const keywordsOfAd = 3;
const poolAds = 20;
/** Rounds before those that count: the figure is of servers whose code is compiled, as in the other sections. */
const warmingRounds = 8;
/** As long as what identifies the advertiser of an item. */
const uuid = "00000000-0000-4000-8000-000000000000";

type Event = "render" | "click";

export async function measureAds(world: World): Promise<readonly Figure[]> {
  const campaigns = world.size(50, 10);
  const home = await world.seededHome();
  await using node = await world.openNode(home);
  world.say(`publishing ${campaigns * adsOfCampaign} ads`);
  await node.child.call("publishAds", campaigns);
  await using floor = world.start("floor/ads.ts");
  const { base_url: baseUrl } = node.sandbox;
  const caller = companyOf(node.sandbox);
  const plan = await planFloor(world, { baseUrl, caller, campaigns });
  const port = await floor.call<number>("listen", plan);
  const sides: Sides = {
    ...{ baseUrl, caller },
    ours: { child: node.child, target: targetOf(baseUrl) },
    floor: { child: floor, target: { host: "127.0.0.1", port } },
  };
  return [
    await measurePools(world, sides, { ads: campaigns * adsOfCampaign, connections: 1 }),
    await measurePools(world, sides, { ads: campaigns * adsOfCampaign, connections: 8 }),
    ...(await measureStatements(world, sides)),
  ];
}

interface Side {
  readonly child: Child;
  readonly target: LoadTarget;
}

interface Sides {
  readonly baseUrl: string;
  readonly caller: Caller;
  readonly ours: Side;
  readonly floor: Side;
}

/** Pools of one keyword after another. The order is one that both a price and a hash decide. */
function poolPlans(count: number): readonly RequestPlan[] {
  return Array.from({ length: count }, (_, at) =>
    planOf("pool", {
      ...{ country: "US", keywords: [adKeywords[at % adKeywords.length]] },
      sort_by: "net_price:desc,random:asc",
    }),
  );
}

function planOf(what: "pool" | Event, body: object): RequestPlan {
  const bytes = Buffer.from(JSON.stringify(body));
  return { method: "POST", path: `/v1/ads/${what}`, tag: "svc-retrieval", body: bytes };
}

async function planFloor(
  world: World,
  { baseUrl, caller, campaigns }: Pick<Sides, "baseUrl" | "caller"> & { readonly campaigns: number },
): Promise<AdFloorPlan> {
  const { bodies, ...lengths } = await captureAnswers(baseUrl, caller, poolPlans(adKeywords.length));
  const pools = bodies.map((body) => adsIn(Buffer.from(body).toString()));
  if (pools.some((ads) => ads.length !== poolAds)) throw new Error("a pool has fewer than twenty ads");
  const kept = pools[0]?.map(({ ad_id }) => ({
    ...{ ad_id, business_uuid: uuid, campaign_id: "bench", allow_repeats: false },
  }));
  return {
    ...lengths,
    file: world.path("floor-ads.db"),
    itemsLength: JSON.stringify(kept).length,
    items: pools.flat().map((ad) => JSON.stringify(ad)),
    keywords: adKeywords,
    adsOfKeyword: Math.round((campaigns * adsOfCampaign * keywordsOfAd) / adKeywords.length),
    campaigns,
  };
}

interface ServedAd {
  readonly ad_id: string;
  readonly render_token: string;
}

function adsIn(text: string): readonly ServedAd[] {
  return (JSON.parse(text) as { readonly ads: readonly ServedAd[] }).ads;
}

async function measurePools(
  world: World,
  { baseUrl, caller, ...sides }: Sides,
  { ads, connections: open }: { readonly ads: number; readonly connections: number },
): Promise<Figure> {
  const side =
    ({ target, child }: Side) =>
    async () => {
      const requests = await makeRequests(baseUrl, caller, poolPlans(world.size(200, 50)));
      return timed(child, () => sendAll(target, requests, open));
    };
  const both = { ours: side(sides.ours), floor: side(sides.floor) };
  for (let time = 0; time < world.size(warmingRounds, 1); time += 1) {
    await both.ours();
    await both.floor();
  }
  const rounds = await takeRounds(world.size(7, 1), both);
  const times = rounds.map(({ ours, floor }) => ({ ours: ours.p50Ms, floor: floor.p50Ms }));
  const isAlone = open === 1;
  return {
    ...{ section, name: `pool of 20 of ${ads.toLocaleString("en")} ads, p50, ${open} at a time`, unit: "ms" },
    ...{ ...compare(times), goal: isAlone ? { atMost: 1.5 } : null },
    note: `Requests with one keyword, ordered by price and then by the hash of the pool. ${cpuNote(rounds)}`,
  };
}

interface Timed {
  readonly rate: number;
  readonly p50Ms: number;
  readonly mainMicros: number;
  readonly allMicros: number;
}

async function timed(child: Child, send: () => ReturnType<typeof sendAll>): Promise<Timed> {
  const before = await child.call<CpuTimes>("cpuTimes", null);
  const { requests, elapsedMs, latenciesMs } = await send();
  const cpu = cpuBetween(before, await child.call<CpuTimes>("cpuTimes", null));
  return {
    rate: (requests / elapsedMs) * 1_000,
    p50Ms: quantile(latenciesMs, 0.5),
    mainMicros: (cpu.mainMs * 1_000) / requests,
    allMicros: (cpu.allMs * 1_000) / requests,
  };
}

type Rounds = readonly { readonly ours: Timed; readonly floor: Timed }[];

function cpuNote(rounds: Rounds): string {
  const of = (side: "ours" | "floor", what: keyof Timed): string =>
    median(rounds.map((round) => round[side][what])).toFixed(what.endsWith("Micros") ? 0 : 1);
  return (
    `p50 ${of("ours", "p50Ms")} ms against ${of("floor", "p50Ms")} ms; processor time of an answer ` +
    `${of("ours", "mainMicros")} µs against ${of("floor", "mainMicros")} on the main thread, ` +
    `${of("ours", "allMicros")} µs against ${of("floor", "allMicros")} on all.`
  );
}

interface Stated {
  readonly render: Timed;
  readonly click: Timed;
}

/** Every round renders all items of new pools, and then clicks each of them. */
async function measureStatements(world: World, sides: Sides): Promise<readonly Figure[]> {
  const pools = world.size(100, 10);
  const { baseUrl, caller } = sides;
  const run = async (
    { child, target }: Side,
    tokens: readonly string[],
    isOurs: boolean,
  ): Promise<Stated> => {
    const send = async (event: Event, bodies: readonly object[], note?: Parameters<typeof sendAll>[3]) => {
      const requests = await makeRequests(
        baseUrl,
        caller,
        bodies.map((body) => planOf(event, body)),
      );
      return timed(child, () => sendAll(target, requests, connections, note));
    };
    const clicked: object[] = tokens.map((token) => ({ token }));
    const render = isOurs
      ? await send(
          "render",
          tokens.map((token) => ({ render_token: token, format: "card" })),
          (answer, at) => {
            const { click_token } = JSON.parse(answer.body()) as { readonly click_token: string };
            clicked[at] = { click_token };
          },
        )
      : await send("render", clicked);
    return { render, click: await send("click", clicked) };
  };
  const both = {
    ours: async () => run(sides.ours, await servedTokens(sides, pools), true),
    floor: async () =>
      run(sides.floor, await sides.floor.child.call<readonly string[]>("tokens", pools * poolAds), false),
  };
  for (let time = 0; time < world.size(2, 1); time += 1) {
    await both.ours();
    await both.floor();
  }
  const rounds = await takeRounds(world.size(5, 1), both);
  return (["render", "click"] as const).map((event) => {
    const each = rounds.map(({ ours, floor }) => ({ ours: ours[event], floor: floor[event] }));
    const rates = each.map(({ ours, floor }) => ({ ours: ours.rate, floor: floor.rate }));
    return {
      ...{ section, name: `${event}s, ${connections} connections`, unit: "answers/s" },
      ...{ ...compare(rates), goal: { atLeast: 0.7 } },
      note: cpuNote(each),
    };
  });
}

/** The tokens of all items of new pools: those that are stated at the same time are of different pools. */
async function servedTokens({ baseUrl, caller, ours }: Sides, pools: number): Promise<readonly string[]> {
  const served: (readonly ServedAd[])[] = [];
  const requests = await makeRequests(baseUrl, caller, poolPlans(pools));
  await sendAll(ours.target, requests, 8, (answer) => void served.push(adsIn(answer.body())));
  return Array.from({ length: poolAds }, (_, at) => served.map((ads) => ads[at]?.render_token ?? "")).flat();
}
