// A storm: one hostile party of each kind beside honest ones on a real node with its default limits. Honest parties ask at half of
// the rate that the node can answer; each hostile one is there in every second turn. Nothing honest may be refused.

import { join } from "node:path";
import { fetchPlan, searchPlan } from "../catalogue.ts";
import { compareBy, figure, type Measured, middleHalf, quantile, takeRounds } from "../figures.ts";
import { type Addressed, Pool, refused, sendOne, sendPaced } from "../load.ts";
import { newCompany, newParty, newPublisher, type Publisher } from "../parties.ts";
import { inlineRecords, preparePush } from "../publishing.ts";
import { type Caller, makeRequest, targetOf } from "../requests.ts";
import {
  checkRequest,
  type HostileKind,
  type HostileSetting,
  hostileKinds,
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

const honestKinds = ["search", "fetch", "push", "check"] as const;
type HonestKind = (typeof honestKinds)[number];
/** Of ten requests; the kinds are spread evenly. */
const mix = "search fetch search fetch push search fetch search fetch check".split(
  " ",
) as readonly HonestKind[];

interface HonestRequest extends Addressed {
  readonly kind: HonestKind;
}

class Honest {
  readonly #urls: StormUrls;
  readonly #companies: Caller[] = [];
  readonly #publishers: Publisher[] = [];
  readonly #recordIds: string[] = [];
  #made = 0;

  constructor(urls: StormUrls) {
    this.#urls = urls;
  }

  /** Registers the parties, and publishes what they ask for. */
  async settle(keysFolder: string): Promise<void> {
    const { business_url } = this.#urls;
    for (let first = 0; first < honestParties * catalogueRecords; first += inlineRecords) {
      if (first % catalogueRecords === 0) {
        this.#companies.push(await newCompany(keysFolder));
        this.#publishers.push(await newPublisher(keysFolder, business_url));
      }
      const publisher = this.#publishers.at(-1) as Publisher;
      const { request } = await preparePush(business_url, publisher, { first, count: inlineRecords });
      const answer = await sendOne(targetOf(business_url), request);
      if (answer.status !== 200) throw refused("a push of the storm", answer);
      const { results } = JSON.parse(answer.body) as { results: readonly { record_id: string }[] };
      this.#recordIds.push(...results.map(({ record_id }) => record_id));
    }
  }

  async requests(count: number): Promise<readonly HonestRequest[]> {
    const requests: HonestRequest[] = [];
    for (const _ of numbersTo(count)) requests.push(await this.#next());
    return requests;
  }

  async #next(): Promise<HonestRequest> {
    const at = this.#made;
    this.#made += 1;
    const kind = mix[at % mix.length] ?? "search";
    const caller = this.#companies[at % honestParties];
    const publisher = this.#publishers[Math.floor(at / mix.length) % honestParties];
    if (caller === undefined || publisher === undefined) throw new Error("nobody is honest");
    const { base_url, verify_url, business_url } = this.#urls;
    if (kind === "check")
      return { kind, target: targetOf(verify_url), bytes: checkRequest(verify_url, 1_024) };
    if (kind === "push") {
      const range = { first: newNumbers + at, count: 1 };
      const { request } = await preparePush(business_url, publisher, range);
      // Those of one publisher follow one another, because their seals are numbered.
      return { kind, target: targetOf(business_url), bytes: request, after: publisher };
    }
    const recordId = this.#recordIds[(at * 31) % this.#recordIds.length] ?? "";
    const plan = kind === "search" ? searchPlan(stonesSearch(at)) : fetchPlan(recordId);
    return { kind, target: targetOf(base_url), bytes: await makeRequest(base_url, caller, plan) };
  }
}

/** How many requests of the mix a second the node answers when eight are always under way. */
async function rateOf(honest: Honest, count: number): Promise<number> {
  const requests = await honest.requests(count);
  using pool = new Pool();
  const ms = await msOf(() => inLanes(8, count, (at) => pool.exchange(requests[at] as HonestRequest)));
  return (count * 1_000) / ms;
}

export async function measureStorm(world: World): Promise<readonly Measured[]> {
  await using child = world.start();
  await using attacker = world.start();
  const home = world.path("storm");
  const urls: StormUrls = await child.call("serve.ts", "open", home, true);
  const keys = join(home, "keys");
  const honest = new Honest(urls);
  await honest.settle(keys);
  const businesses = await Promise.all(numbersTo(3).map(() => newParty(keys, "integration")));
  const setting: HostileSetting = { urls, businesses, company: await newParty(keys, "retrieval") };
  await rateOf(honest, world.size(2_000, 400));
  const rate = await rateOf(honest, world.size(2_000, 400));
  const perSecond = rate / 2;
  const seconds = world.size(6, 2);
  world.say(`${rate.toFixed(0)} honest requests a second; the storm has ${perSecond.toFixed(0)}`);

  const turn = async (kind: HostileKind | null) => {
    const requests = await honest.requests(Math.ceil(seconds * perSecond));
    if (kind !== null) await attacker.call("storm/hostile.ts", "start", kind, setting);
    const tookMs = await sendPaced(requests, perSecond);
    const sent = kind === null ? null : await attacker.call("storm/hostile.ts", "stop");
    const p99Of = (wanted: HonestKind): number =>
      quantile(
        tookMs.filter((_, at) => requests[at]?.kind === wanted),
        0.99,
      );
    return { p99Ms: quantile(tookMs, 0.99), p99Of, sent };
  };
  await turn(null);

  const figures: Measured[] = [];
  for (const [kind, what] of Object.entries(hostileKinds) as [HostileKind, string][]) {
    world.say(what);
    const rounds = await takeRounds(world.size(5, 1), { ours: () => turn(kind), floor: () => turn(null) });
    const kinds = honestKinds.map((each) => {
      const { ours, floor } = compareBy(rounds, ({ p99Of }) => p99Of(each));
      return `${each} ${ours.toFixed(0)} against ${floor.toFixed(0)}`;
    });
    const note =
      `p99 of ${perSecond.toFixed(0)} honest requests a second, half of what the node answers; the floor is the same without the hostile party. ` +
      `The middle half of the ratios is ${middleHalf(rounds, ({ p99Ms }) => p99Ms)}; by kind ${kinds.join(", ")} ms. Nothing honest was refused. The hostile party was answered ${JSON.stringify(rounds.at(-1)?.ours.sent)}.`;
    const p99 = compareBy(rounds, ({ p99Ms }) => p99Ms);
    figures.push(figure(what, "ms", p99, null, note));
  }
  return figures;
}
