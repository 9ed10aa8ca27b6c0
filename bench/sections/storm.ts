// A storm: one hostile party of each kind beside honest ones on a real node with its default limits. Honest parties ask at half of
// the rate that the node can answer; each hostile one is there in every second turn. Nothing honest may be refused.

import { setTimeout as delay } from "node:timers/promises";
import { fetchPlan, productBytes, searchPlan } from "../catalogue.ts";
import type { Child } from "../child.ts";
import { compareBy, type Figure, figuresOf, middleHalf, quantile, takeRounds } from "../figures.ts";
import { Connection, type LoadTarget, refused, sendOne } from "../load.ts";
import { makeRequest, requestBytes, targetOf } from "../requests.ts";
import {
  type HostileKind,
  type HostileSetting,
  hostileKinds,
  newParty,
  Publisher,
  type Sent,
  type StormUrls,
  stonesSearch,
} from "../storm/parties.ts";
import { numbersTo, type World } from "../world.ts";

/** So many that the limits of none is in the way: what is shared is the node. */
const honestParties = 32;
const catalogueRecords = 200;
const inlineRecords = 50;
/** The products that are published during the storm have numbers of their own. */
const newNumbers = 1_000_000;

type HonestKind = "search" | "fetch" | "push" | "check";
/** Of ten requests; the kinds are spread evenly. */
const mix: readonly HonestKind[] = "search fetch search fetch push search fetch search fetch check".split(
  " ",
) as readonly HonestKind[];

interface HonestRequest {
  readonly kind: HonestKind;
  readonly target: LoadTarget;
  readonly bytes: Uint8Array;
  /** Requests of one publisher follow one another, because their seals are numbered. */
  readonly after?: Publisher;
}

interface Turn {
  readonly p99Ms: number;
  readonly ofKind: Readonly<Record<HonestKind, number>>;
  readonly sent: Sent | null;
}

class Honest {
  readonly #urls: StormUrls;
  readonly #companies: Awaited<ReturnType<typeof newParty>>[] = [];
  readonly #publishers: Publisher[] = [];
  readonly #recordIds: string[] = [];
  #made = 0;

  constructor(urls: StormUrls) {
    this.#urls = urls;
  }

  /** Registers the parties, and publishes what they ask for. */
  async settle(child: Child): Promise<void> {
    for (const _ of numbersTo(honestParties)) {
      this.#companies.push(await newParty(child, "retrieval"));
      this.#publishers.push(new Publisher(this.#urls, await newParty(child, "integration")));
    }
    const target = targetOf(this.#urls.business_url);
    for (const [at, publisher] of this.#publishers.entries())
      for (let first = 0; first < catalogueRecords; first += inlineRecords) {
        const records = numbersTo(inlineRecords).map((each) =>
          productBytes(at * catalogueRecords + first + each),
        );
        const answer = await sendOne(target, await publisher.push(records));
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
    const { caller } = this.#companies[at % honestParties] ?? {};
    const publisher = this.#publishers[Math.floor(at / mix.length) % honestParties];
    if (caller === undefined || publisher === undefined) throw new Error("nobody is honest");
    const { base_url, verify_url, business_url } = this.#urls;
    switch (kind) {
      case "search": {
        const body = stonesSearch(at);
        return {
          kind,
          target: targetOf(base_url),
          bytes: await makeRequest(base_url, caller, searchPlan(body)),
        };
      }
      case "fetch": {
        const plan = fetchPlan(this.#recordIds[(at * 31) % this.#recordIds.length] ?? "");
        return {
          kind,
          target: targetOf(base_url),
          bytes: await makeRequest(base_url, caller, plan),
        };
      }
      case "push":
        return {
          ...{ kind, target: targetOf(business_url), after: publisher },
          bytes: await publisher.push([productBytes(newNumbers + at)]),
        };
      case "check": {
        const url = new URL(`${verify_url}/v1/verify`);
        const body = JSON.stringify({ record_base64: Buffer.alloc(1_024, " ").toString("base64"), seal: {} });
        return {
          kind,
          target: targetOf(verify_url),
          bytes: requestBytes("POST", url, Buffer.from(body), {}),
        };
      }
    }
  }
}

/** Sends requests as they are due, `perSecond` of them; each counts from when it was due. Throws for a refusal. */
async function sendHonest(
  requests: readonly HonestRequest[],
  perSecond: number,
): Promise<readonly { readonly kind: HonestKind; readonly ms: number }[]> {
  const free = new Map<number, Connection[]>();
  const open: Connection[] = [];
  const took: { kind: HonestKind; ms: number }[] = [];
  const startedMs = performance.now();
  const last = new Map<Publisher, Promise<void>>();
  const inOrder = (request: HonestRequest, dueMs: number): Promise<void> => {
    if (request.after === undefined) return one(request, dueMs);
    const sending = (last.get(request.after) ?? Promise.resolve()).then(() => one(request, dueMs));
    last.set(request.after, sending);
    return sending;
  };
  const one = async ({ kind, target, bytes }: HonestRequest, dueMs: number): Promise<void> => {
    const idle = free.get(target.port) ?? [];
    free.set(target.port, idle);
    let connection = idle.pop();
    if (connection === undefined) {
      connection = await Connection.open(target);
      open.push(connection);
    }
    const answer = await connection.exchange(bytes);
    took.push({ kind, ms: performance.now() - dueMs });
    if (answer.status !== 200)
      throw refused(`an honest ${kind}`, { status: answer.status, body: answer.body() });
    idle.push(connection);
  };
  const sent: Promise<void>[] = [];
  try {
    for (const [index, request] of requests.entries()) {
      const dueMs = startedMs + (index * 1_000) / perSecond;
      await delay(Math.max(0, dueMs - performance.now()));
      const each = inOrder(request, dueMs);
      // Reported below, once all are sent.
      each.catch(() => {});
      sent.push(each);
    }
    await Promise.all(sent);
    return took;
  } finally {
    for (const connection of open) connection.close();
  }
}

/** How many requests of the mix a second the node answers when eight are always under way. */
async function rateOf(honest: Honest, count: number): Promise<number> {
  const requests = [...(await honest.requests(count))].reverse();
  const startedMs = performance.now();
  await Promise.all(
    numbersTo(8).map(async () => {
      const connections = new Map<number, Connection>();
      for (let next = requests.pop(); next !== undefined; next = requests.pop()) {
        const connection = connections.get(next.target.port) ?? (await Connection.open(next.target));
        connections.set(next.target.port, connection);
        const { status, body } = await connection.exchange(next.bytes);
        if (status !== 200) throw refused(`an honest ${next.kind}`, { status, body: body() });
      }
      for (const connection of connections.values()) connection.close();
    }),
  );
  return (count * 1_000) / (performance.now() - startedMs);
}

const p99 = (times: readonly { readonly ms: number }[]): number =>
  quantile(Float64Array.from(times, ({ ms }) => ms).sort(), 0.99);

export async function measureStorm(world: World): Promise<readonly Figure[]> {
  await using child = world.start("serve.ts");
  await using attacker = world.start("storm/hostile.ts");
  const urls = await child.call<StormUrls>("open", { home: world.path("storm"), isLimited: true });
  const honest = new Honest(urls);
  await honest.settle(child);
  const hostile = await Promise.all(numbersTo(3).map(() => newParty(child, "integration")));
  const company = await newParty(child, "retrieval");
  const setting: HostileSetting = {
    urls,
    businesses: hostile.map(({ file }) => file),
    company: company.file,
  };
  await rateOf(honest, world.size(2_000, 400));
  const rate = await rateOf(honest, world.size(2_000, 400));
  const perSecond = rate / 2;
  const seconds = world.size(6, 2);
  world.say(`${rate.toFixed(0)} honest requests a second; the storm has ${perSecond.toFixed(0)}`);

  const turn = async (kind: HostileKind | null): Promise<Turn> => {
    const requests = await honest.requests(Math.ceil(seconds * perSecond));
    if (kind !== null) await attacker.call("start", { kind, setting });
    const took = await sendHonest(requests, perSecond);
    const sent = kind === null ? null : await attacker.call<Sent>("stop");
    const of = (wanted: HonestKind): number => p99(took.filter((each) => each.kind === wanted));
    const ofKind = { search: of("search"), fetch: of("fetch"), push: of("push"), check: of("check") };
    return { p99Ms: p99(took), ofKind, sent };
  };
  await turn(null);

  const figures: Figure[] = [];
  for (const [kind, what] of Object.entries(hostileKinds) as [HostileKind, string][]) {
    world.say(what);
    const rounds = await takeRounds(world.size(5, 1), { ours: () => turn(kind), floor: () => turn(null) });
    const times = rounds.map(({ ours, floor }) => ({ ours: ours.p99Ms, floor: floor.p99Ms }));
    const kinds = (["search", "fetch", "push", "check"] as const).map((each) => {
      const { ours, floor } = compareBy(rounds, ({ ofKind }) => ofKind[each]);
      return `${each} ${ours.toFixed(0)} against ${floor.toFixed(0)}`;
    });
    const note =
      `p99 of ${perSecond.toFixed(0)} honest requests a second, half of what the node answers; the floor is the same without the hostile party. ` +
      `The middle half of the ratios is ${middleHalf(times, 2)}; by kind ${kinds.join(", ")} ms. Nothing honest was refused. The hostile party was answered ${JSON.stringify(rounds.at(-1)?.ours.sent)}.`;
    figures.push(
      figuresOf("storm")(
        what,
        "ms",
        compareBy(rounds, ({ p99Ms }) => p99Ms),
        null,
        note,
      ),
    );
  }
  return figures;
}
