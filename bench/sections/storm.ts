// A storm: one hostile party of each kind beside honest ones on a real node with its default limits. Honest parties ask at half of
// the rate that the node can answer; each hostile one is there in every second turn. Nothing honest may be refused.

import { join } from "node:path";
import { fetchPlan, searchPlan } from "../catalogue.ts";
import {
  type Compared,
  compareBy,
  figure,
  type Measured,
  middleHalf,
  quantile,
  sidesText,
  takeRounds,
} from "../figures.ts";
import { type Addressed, Pool, refused, sendOne, sendPaced } from "../load.ts";
import { newCompany, newParty, newPublisher, type Publisher } from "../parties.ts";
import { inlineRecords, preparePush } from "../publishing.ts";
import { type Caller, makeRequest, targetOf } from "../requests.ts";
import {
  checkRequest,
  type HostileKind,
  type HostileSetting,
  hostileKinds,
  imagePlan,
  noise,
  type StormUrls,
  stonesSearch,
} from "../storm/hostile.ts";
import { inLanes, msOf } from "../work.ts";
import { numbersTo, type World } from "../world.ts";

/** So many that the limits of none is in the way: what is shared is the node. */
const honestParties = 32;
const catalogueRecords = 200;
/** The products that are published during the storm have numbers of their own. */
const newNumbers = 1_000_000;

const honestKinds = ["search", "fetch", "push", "check", "image"] as const;
type HonestKind = (typeof honestKinds)[number];
/** Of ten requests; the kinds are spread evenly. */
const mix = "search fetch search fetch push search fetch search fetch check".split(
  " ",
) as readonly HonestKind[];
/** One of so many is an image instead: a business may send 500 in a day. Its uploads are too few for a file in each turn. */
const imageEach = 50;

interface HonestRequest extends Addressed {
  readonly kind: HonestKind;
}

/** Registers the honest parties, publishes what they ask for, and makes so many of their requests each time. */
async function settleHonest(urls: StormUrls, keysFolder: string) {
  const { base_url, verify_url, business_url } = urls;
  const companies: Caller[] = [];
  const publishers: Publisher[] = [];
  const recordIds: string[] = [];
  for (let first = 0; first < honestParties * catalogueRecords; first += inlineRecords) {
    if (first % catalogueRecords === 0) {
      companies.push(await newCompany(keysFolder));
      publishers.push(await newPublisher(keysFolder, business_url));
    }
    const publisher = publishers.at(-1) as Publisher;
    const { request } = await preparePush(business_url, publisher, { first, count: inlineRecords });
    const answer = await sendOne(targetOf(business_url), request);
    if (answer.status !== 200) throw refused("a push of the storm", answer);
    const { results } = JSON.parse(answer.body) as { results: readonly { record_id: string }[] };
    recordIds.push(...results.map(({ record_id }) => record_id));
  }
  const image = await noise(64);
  const requestOf = async (at: number): Promise<HonestRequest> => {
    const kind = at % imageEach === imageEach - 1 ? "image" : (mix[at % mix.length] ?? "search");
    const caller = companies[at % honestParties] as Caller;
    const publisher = publishers[Math.floor(at / mix.length) % honestParties] as Publisher;
    if (kind === "check")
      return { kind, target: targetOf(verify_url), bytes: checkRequest(verify_url, 1_024) };
    if (kind === "image") {
      const bytes = await makeRequest(business_url, publisher.caller, imagePlan(image));
      return { kind, target: targetOf(business_url), bytes, status: 201 };
    }
    if (kind === "push") {
      const { request } = await preparePush(business_url, publisher, { first: newNumbers + at, count: 1 });
      // Those of one publisher follow one another, because their seals are numbered.
      return { kind, target: targetOf(business_url), bytes: request, after: publisher };
    }
    const recordId = recordIds[(at * 31) % recordIds.length] ?? "";
    const plan = kind === "search" ? searchPlan(stonesSearch(at)) : fetchPlan(recordId);
    return { kind, target: targetOf(base_url), bytes: await makeRequest(base_url, caller, plan) };
  };
  let made = 0;
  return async (count: number): Promise<readonly HonestRequest[]> => {
    const first = made;
    made += count;
    return await Array.fromAsync(numbersTo(count), (at) => requestOf(first + at));
  };
}

/** How many of these requests a second the node answers when eight are always under way. */
async function rateOf(requests: readonly HonestRequest[]): Promise<number> {
  using pool = new Pool();
  const send = (at: number) => pool.exchange(requests[at] as HonestRequest);
  return (requests.length * 1_000) / (await msOf(() => inLanes(8, requests.length, send)));
}

export async function measureStorm(world: World): Promise<readonly Measured[]> {
  await using child = world.start();
  await using attacker = world.start();
  const home = world.path("storm");
  const urls: StormUrls = await child.call("serve.ts", "open", home, true);
  const keys = join(home, "keys");
  const honest = await settleHonest(urls, keys);
  const businesses = await Promise.all(numbersTo(3).map(() => newParty(keys, "integration")));
  const setting: HostileSetting = { urls, businesses, company: await newParty(keys, "retrieval") };
  await rateOf(await honest(world.size(2_000, 400)));
  const rate = await rateOf(await honest(world.size(2_000, 400)));
  const perSecond = rate / 2;
  const seconds = world.size(6, 2);
  world.say(`${rate.toFixed(0)} honest requests a second; the storm has ${perSecond.toFixed(0)}`);

  const turn = async (kind: HostileKind | null) => {
    const requests = await honest(Math.ceil(seconds * perSecond));
    if (kind !== null) await attacker.call("storm/hostile.ts", "start", kind, setting);
    await child.call("storm/steps.ts", "start");
    const tookMs = await sendPaced(requests, perSecond);
    const stepMs = await child.call("storm/steps.ts", "stop");
    const sent = kind === null ? null : await attacker.call("storm/hostile.ts", "stop");
    const tookOf = (wanted: HonestKind) => tookMs.filter((_, at) => requests[at]?.kind === wanted);
    return {
      p99Ms: quantile(tookMs, 0.99),
      stepMs,
      sent,
      p99Of: (wanted: HonestKind): number => quantile(tookOf(wanted), 0.99),
    };
  };
  await turn(null);

  const steps: (Compared & { readonly what: string })[] = [];
  const figures = await Array.fromAsync(
    Object.entries(hostileKinds) as [HostileKind, string][],
    async ([kind, what]) => {
      world.say(what);
      const rounds = await takeRounds(world.size(5, 1), { ours: () => turn(kind), floor: () => turn(null) });
      const kinds = honestKinds.map((each) => `${each} ${sidesText(rounds, ({ p99Of }) => p99Of(each))}`);
      const note =
        `p99 of ${perSecond.toFixed(0)} honest requests a second, half of what the node answers; the floor is the same without the hostile party. ` +
        `The middle half of the ratios is ${middleHalf(rounds, ({ p99Ms }) => p99Ms)}; by kind ${kinds.join(", ")} ms. Nothing honest was refused. The hostile party was answered ${JSON.stringify(rounds.at(-1)?.ours.sent)}.`;
      const p99 = compareBy(rounds, ({ p99Ms }) => p99Ms);
      steps.push({ what, ...compareBy(rounds, ({ stepMs }) => stepMs) });
      return figure(what, "ms", p99, null, note);
    },
  );
  return [...figures, longestStep(steps)];
}

/** Beside the hostile party of the longest one. */
function longestStep(steps: readonly (Compared & { readonly what: string })[]): Measured {
  const [longest, ...others] = steps.toSorted((one, two) => two.ours - one.ours);
  if (longest === undefined) throw new Error("nothing was measured");
  const each = others.map(
    ({ what, ours, floor }) => `${ours.toFixed(0)} against ${floor.toFixed(0)}: ${what}`,
  );
  const note =
    `The most processor time that the node's deciding thread took without a break, where ${longest.what}; the floor is the same without the hostile party. ` +
    `Steps of less than 20 ms are not told from a few of them. With the others, in ms, ${each.join("; ")}.`;
  return figure("longest step", "ms", longest, null, note);
}
