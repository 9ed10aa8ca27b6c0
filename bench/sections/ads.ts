// Pools of ads, and the renders and clicks of their items, against a bare server that does the work that no implementation could skip.

import type { OpenContest } from "../against.ts";
import { compareBy, count, figure, type Measured, type Rounds, sidesText, takeRounds } from "../figures.ts";
import type { AdFloorPlan } from "../floor/ads.ts";
import { sendAll } from "../load.ts";
import {
  captureAnswers,
  cpuText,
  makeRequests,
  type RequestPlan,
  type Server,
  type Timed,
  timeLoad,
} from "../requests.ts";
import type { OpenNode, World } from "../world.ts";

const connections = 64;
const adsOfCampaign = 100;
const keywordsOfAd = 3;
const subjects = "trail winter leather canvas summer cotton travel office garden city".split(" ");
const things = ["shoes", "boots", "jackets", "bags", "gloves"];
/** What ads name and pools ask for. */
const keywords: readonly string[] = subjects.flatMap((subject) =>
  things.map((thing) => `${subject} ${thing}`),
);
const poolAds = 20;
/** The figure is of servers whose code is compiled, as in the other sections. */
const warmingRounds = 8;
/** As long as what identifies the advertiser of an item. */
const uuid = "00000000-0000-4000-8000-000000000000";

interface Sides {
  readonly node: OpenNode;
  readonly floor: Server;
}

export async function measureAds(world: World): Promise<readonly Measured[]> {
  const campaigns = world.size(50, 10);
  await using node = await world.openNode(await world.seededHome());
  const ads = campaigns * adsOfCampaign;
  world.say(`publishing ${ads} ads`);
  await node.child.call("ads-book.fixture.ts", "publishAds", { campaigns, adsOfCampaign, keywords });
  const plan = await planFloor(world, node, campaigns);
  await using floor = await world.openFloor((child) => child.call("floor/ads.ts", "listen", plan));
  return [
    await measurePools(world, { node, floor }, { ads, open: 1 }),
    await measurePools(world, { node, floor }, { ads, open: 8 }),
    ...(await measureStatements(world, { node, floor })),
  ];
}

/** Pools of one keyword after another. The order is one that both a price and a hash decide. */
function poolPlans(pools: number): readonly RequestPlan[] {
  return Array.from({ length: pools }, (_, at) =>
    planOf("pool", {
      country: "US",
      keywords: [keywords[at % keywords.length]],
      sort_by: "net_price:desc,random:asc",
    }),
  );
}

function planOf(what: "pool" | "render" | "click", body: object): RequestPlan {
  const bytes = Buffer.from(JSON.stringify(body));
  return { method: "POST", path: `/v1/ads/${what}`, tag: "svc-retrieval", body: bytes };
}

async function planFloor(world: World, node: OpenNode, campaigns: number): Promise<AdFloorPlan> {
  const { baseUrl, caller } = node;
  const { bodies, ...lengths } = await captureAnswers(baseUrl, caller, poolPlans(keywords.length));
  const pools = bodies.map((body) => adsIn(Buffer.from(body).toString()));
  if (pools.some((ads) => ads.length !== poolAds)) throw new Error("a pool has fewer than twenty ads");
  const kept = pools[0]?.map(({ ad_id }) => ({
    ad_id,
    business_uuid: uuid,
    campaign_id: "spring",
    allow_repeats: false,
  }));
  return {
    ...lengths,
    file: world.path("floor-ads.db"),
    itemsLength: JSON.stringify(kept).length,
    items: pools.flat().map((ad) => JSON.stringify(ad)),
    keywords,
    adsOfKeyword: Math.round((campaigns * adsOfCampaign * keywordsOfAd) / keywords.length),
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
  { node, floor }: Sides,
  { ads, open }: { readonly ads: number; readonly open: number },
): Promise<Measured> {
  const side = (server: Server) => async () => {
    const plans = poolPlans(world.size(200, 50));
    return await timeLoad(server, await makeRequests(node.baseUrl, node.caller, plans), open);
  };
  const both = { ours: side(node), floor: side(floor) };
  const rounds = await takeRounds(world.size(7, 1), both, world.size(warmingRounds, 1));
  const name = `pool of 20 of ${count(ads)} ads, p50, ${open} at a time`;
  const note = `Requests with one keyword, ordered by price and then by the hash of the pool. ${timesNote(rounds)}`;
  const p50 = compareBy(rounds, ({ p50Ms }) => p50Ms);
  return figure(name, "ms", p50, open === 1 ? { atMost: 1.5 } : null, note);
}

function timesNote(rounds: Rounds<Timed>): string {
  return `p50 ${sidesText(rounds, ({ p50Ms }) => p50Ms, 1)} ms; ${cpuText(rounds)}`;
}

/** Every round renders all items of new pools, and then clicks each of them. */
async function measureStatements(world: World, { node, floor }: Sides): Promise<readonly Measured[]> {
  const pools = world.size(100, 10);
  const both = { ours: () => stateAll(node, pools), floor: () => stateBare(node, floor, pools) };
  const rounds = await takeRounds(world.size(5, 1), both, world.size(2, 1));
  return (["render", "click"] as const).map((event) => {
    const each = rounds.map(({ ours, floor }) => ({ ours: ours[event], floor: floor[event] }));
    const rates = compareBy(each, ({ rate }) => rate);
    const name = `${event}s, ${connections} connections`;
    return figure(name, "answers/s", rates, { atLeast: 0.7 }, timesNote(each));
  });
}

interface Statements {
  readonly render: Timed;
  readonly click: Timed;
}

async function stateAll(node: OpenNode, pools: number): Promise<Statements> {
  const clicked: object[] = [];
  const tokens = await servedTokens(node, pools);
  const rendered = tokens.map((token) => ({ render_token: token, format: "card" }));
  const render = await state(node, node, "render", rendered, (answer, at) => {
    const { click_token } = JSON.parse(answer.body()) as { readonly click_token: string };
    clicked[at] = { click_token };
  });
  return { render, click: await state(node, node, "click", clicked) };
}

async function stateBare(node: OpenNode, floor: Server, pools: number): Promise<Statements> {
  const tokens = await floor.child.call("floor/ads.ts", "tokens", pools * poolAds);
  const stated = tokens.map((token) => ({ token }));
  return {
    render: await state(node, floor, "render", stated),
    click: await state(node, floor, "click", stated),
  };
}

async function state(
  { baseUrl, caller }: OpenNode,
  server: Server,
  event: "render" | "click",
  bodies: readonly object[],
  note?: Parameters<typeof timeLoad>[3],
): Promise<Timed> {
  const plans = bodies.map((body) => planOf(event, body));
  return await timeLoad(server, await makeRequests(baseUrl, caller, plans), connections, note);
}

/** The same statements to the nodes of two checkouts. */
export const contestOf =
  (event: "render" | "click"): OpenContest =>
  async ({ present, other, opening }) => {
    const [campaigns, pools] = [10, 50];
    const sideOf = async (world: World) => {
      const node = opening.use(await world.openNode(await world.seededHome()));
      await node.child.call("ads-book.fixture.ts", "publishAds", { campaigns, adsOfCampaign, keywords });
      return node;
    };
    const ours = await sideOf(present);
    const theirs = await sideOf(other);
    const plan = await planFloor(present, ours, campaigns);
    const floor = opening.use(await present.openFloor((child) => child.call("floor/ads.ts", "listen", plan)));
    return {
      name: `ads: ${event}s, ${connections} connections, ${pools * poolAds} in each turn`,
      warmingTurns: 4,
      present: async () => (await stateAll(ours, pools))[event],
      other: async () => (await stateAll(theirs, pools))[event],
      floor: async () => (await stateBare(ours, floor, pools))[event],
    };
  };

/** The tokens of all items of new pools: those that are stated at the same time are of different pools. */
async function servedTokens(
  { baseUrl, caller, target }: OpenNode,
  pools: number,
): Promise<readonly string[]> {
  const served: (readonly ServedAd[])[] = [];
  const requests = await makeRequests(baseUrl, caller, poolPlans(pools));
  await sendAll(target, requests, 8, (answer) => void served.push(adsIn(answer.body())));
  return Array.from({ length: poolAds }, (_, at) => served.map((ads) => ads[at]?.render_token ?? "")).flat();
}
