// A storm in simulated time: honest parties that take half of a node, and beside them one hostile party, which does what it can
// without a pause. What the honest ones wait is compared with a quiet run of the same seed.
//   SS1. The 99th percentile of what each kind of honest act takes, over the storms of several seeds, is at most 1.75 times that of
//        their quiet runs.
//   SS2. Nothing honest is refused.

import { installGuard } from "../kernel/guard.ts";
import { Random } from "../kernel/random.ts";
import { anyNode } from "../set-up.ts";
import { registerBusiness, registerCompany, type SimCompany } from "../world/setup.ts";
import { everything, World } from "../world/world.ts";
import {
  type Act,
  batch,
  check,
  fetchRecord,
  file,
  forgery,
  image,
  type Publisher,
  pause,
  type Stage,
  search,
  unfinishedBody,
} from "./acts.ts";
import { type Mechanism, openStormNode, type StormNode } from "./storm-node.ts";

export interface StormOptions {
  readonly seed: number;
  /** Null for a quiet run. */
  readonly kind: HostileKind | null;
  /** What the node decides as it comes. */
  readonly without?: Mechanism | null;
  readonly seconds: number;
}

export interface StormResult {
  /** What each honest act of a kind took, in milliseconds. */
  readonly tookMs: Readonly<Record<HonestKind, readonly number[]>>;
  /** What honest parties were refused with. */
  readonly refusals: readonly string[];
  /** The part of the time for which the thread was busy. */
  readonly busy: number;
  /** How often the hostile party was answered with what. */
  readonly hostile: ReadonlyMap<string, number>;
  readonly violations: readonly string[];
}

export async function runStorm(options: StormOptions): Promise<StormResult> {
  const guard = installGuard({ nativeWork: false });
  try {
    const { storm, world } = openWorld(options);
    let result: StormResult | null = null;
    let failure: unknown = null;
    play(storm, world, options).then(
      (ended) => {
        result = ended;
      },
      (error: unknown) => {
        failure = error;
      },
    );
    await storm.kernel.run(() => result !== null || failure !== null);
    if (result === null) throw failure ?? new Error("The storm waits for something outside the world.");
    return result;
  } finally {
    guard.remove();
  }
}

/** The first world from the seed on that has one node with its store, in which nothing is paid for and no night falls. */
function openWorld({ seed, without = null }: StormOptions): {
  readonly storm: StormNode;
  readonly world: World;
} {
  for (let at = seed; ; at += 1) {
    const storm = openStormNode(without);
    const { thread, variation } = storm;
    const world = new World({ seed: at, variation, story: false, kept: everything, start: null, thread });
    const { isEmbedded, night, money } = world.parts;
    if (isEmbedded && night === null && money === null) return { storm, world };
  }
}

async function play(storm: StormNode, world: World, { seed, kind, seconds }: StormOptions) {
  const { parts } = world;
  const [region = ""] = parts.regions;
  for (const slot of parts.slots) world.start(slot);
  const random = Random.of(seed).fork("storm");
  await pause({ storm }, 1_000);
  const node = await anyNode(world, region);
  const stage: Stage = { storm, world, node, random: random.fork("acts") };
  const cast = await openCast(stage, random.fork("cast"), region);
  const answers = new Map<string, number>();
  const untilMs = storm.kernel.elapsedExactly() + 1_000 * seconds;
  for (const { act, count } of kind === null ? [] : cast.hostile[kind])
    for (let at = 0; at < count; at += 1) void repeat(stage, act, { untilMs, answers });
  // What comes first finds the hostile party at work.
  await pause(stage, 200);
  const [busyMs, fromMs] = [storm.busyMs(), storm.kernel.elapsedExactly()];
  const { tookMs, refusals } = await honestly(stage, cast.honest, { random, untilMs });
  const busy = (storm.busyMs() - busyMs) / (storm.kernel.elapsedExactly() - fromMs);
  const violations = world.observed.violations.map(({ invariant, detail }) => `${invariant}: ${detail}`);
  return { tookMs, refusals, busy, hostile: answers, violations } satisfies StormResult;
}

/** One connection of a hostile party. */
async function repeat(
  stage: Stage,
  act: Act,
  { untilMs, answers }: { readonly untilMs: number; readonly answers: Map<string, number> },
): Promise<void> {
  while (stage.storm.kernel.elapsedExactly() < untilMs) {
    const code = await act();
    answers.set(code, (answers.get(code) ?? 0) + 1);
    await pause(stage, code === "ok" ? 1 : 20);
  }
}

/** Acts arrive independently of each other, answered or not; each counts from when it was due. */
async function honestly(
  stage: Stage,
  acts: Readonly<Record<HonestKind, readonly Act[]>>,
  { random, untilMs }: { readonly random: Random; readonly untilMs: number },
): Promise<Pick<StormResult, "tookMs" | "refusals">> {
  const { kernel } = stage.storm;
  const tookMs: Record<HonestKind, number[]> = {
    search: [],
    fetch: [],
    publish: [],
    check: [],
    file: [],
    image: [],
  };
  const refusals: string[] = [];
  const done: Promise<void>[] = [];
  const begunMs = kernel.elapsedExactly();
  for (const kind of Object.keys(honestRates) as HonestKind[]) {
    const draw = random.fork(`arrivals of ${kind}`);
    const meanMs = 1_000 / honestRates[kind];
    for (let dueMs = begunMs, at = 0; ; at += 1) {
      dueMs += Math.max(1, Math.round(-meanMs * Math.log(1 - draw.float())));
      if (dueMs >= untilMs) break;
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      done.push(promise);
      const act = acts[kind][at % acts[kind].length] as Act;
      const arrivedMs = dueMs;
      const arrive = async (): Promise<void> => {
        const code = await act();
        tookMs[kind].push(kernel.elapsedExactly() - arrivedMs);
        if (code !== "ok") refusals.push(`${kind}: ${code}`);
      };
      kernel.after(dueMs - begunMs, `${kind} arrives`, () => void arrive().then(resolve, reject));
    }
  }
  await Promise.all(done);
  return { tookMs, refusals };
}

/** An act that takes a few milliseconds waits for a stretch or two of others' work, beside which a factor of a few milliseconds says nothing. */
const stretchMs = 8;
const slowerMax = 1.75;
/** Fewer acts have no 99th percentile; of them the median counts. */
const percentileMin = 100;

/** How storms broke the bounds, compared with the quiet runs of their seeds; empty if they did not. */
export function harmOf(quiet: readonly StormResult[], storms: readonly StormResult[]): readonly string[] {
  const slower = (Object.keys(honestRates) as HonestKind[]).flatMap((kind) => {
    const [before, after] = [quiet, storms].map((runs) => {
      const tookMs = runs.flatMap((run) => run.tookMs[kind]);
      return percentile(tookMs, tookMs.length < percentileMin ? 0.5 : 0.99);
    }) as [number, number];
    if (after <= Math.max(slowerMax * before, before + stretchMs)) return [];
    return [`${kind}: ${after.toFixed(1)} ms instead of ${before.toFixed(1)}`];
  });
  const refused = [...new Set(storms.flatMap(({ refusals }) => refusals))].map((each) => `refused: ${each}`);
  return [...slower, ...refused, ...storms.flatMap(({ violations }) => violations)];
}

export function percentile(tookMs: readonly number[], share: number): number {
  const ascending = [...tookMs].sort((a, b) => a - b);
  return ascending[Math.ceil(share * ascending.length) - 1] ?? 0;
}

// The parties of a storm: honest ones that take half of the node together, and hostile ones, each of which takes a different thing
// that others need.

/** How many honest acts of each kind arrive in a second. */
const honestRates = { search: 250, fetch: 100, publish: 40, check: 100, file: 4, image: 4 } as const;
type HonestKind = keyof typeof honestRates;

export const hostileKinds = {
  validations: "a business has batches of 50 records validated",
  faults: "a business has batches of records of thousands of unknown members validated",
  batches: "a business pushes batches of 200 records",
  files: "three businesses send files as slowly as they may",
  lines: "a business sends files of tiny lines",
  images: "a business sends images that take long to decode",
  searches: "an AI company searches by words that most rows have",
  requests: "an AI company fetches as fast as it is answered",
  checks: "a stranger has 64 connections verify",
  forgeries: "a stranger sends forged signatures over 64 connections",
  bodies: "three businesses send 16 bodies each of 16 MiB that never end",
} as const;
export type HostileKind = keyof typeof hostileKinds;

/** How many connections an act is repeated over. */
interface Lanes {
  readonly act: Act;
  readonly count: number;
}

export interface Cast {
  /** Each of them is done by one honest party after another. */
  readonly honest: Readonly<Record<HonestKind, readonly Act[]>>;
  readonly hostile: Readonly<Record<HostileKind, readonly Lanes[]>>;
}

const honestCompanies = 8;
const honestBusinesses = 16;
const hostileBusinesses = 3;
/** The body of a small batch, and of a large one. */
const smallBytes = 20_000;
const largeBytes = 8_000_000;

async function openCast(stage: Stage, random: Random, region: string): Promise<Cast> {
  const businesses: Publisher[] = [];
  const companies: SimCompany[] = [];
  const { parts } = stage.world;
  const newParty = (): string => {
    const uuid = random.uuid();
    parts.homes.set(uuid, region);
    return uuid;
  };
  const caps = { records_per_hour: 1_000_000, bytes_per_day: 1e12 };
  for (let at = 0; at < honestBusinesses + hostileBusinesses; at += 1) {
    const given = { uuid: newParty(), keys: 1, ends: null, caps, hasPolicy: false };
    businesses.push({
      business: await registerBusiness(parts, stage.node, given),
      seq: 0,
      last: Promise.resolve(),
    });
  }
  for (let at = 0; at <= honestCompanies; at += 1)
    companies.push(await registerCompany(parts, stage.node, newParty()));
  const [company] = companies.splice(honestCompanies);
  const [first, second, third] = businesses.splice(honestBusinesses);
  if (company === undefined || first === undefined || second === undefined || third === undefined)
    throw new Error("a storm has hostile parties");
  const recordIds = await publishedBy(stage, businesses);
  return {
    honest: honestActs(stage, { businesses, companies, recordIds }),
    hostile: hostileActs(stage, { company, businesses: [first, second, third], recordIds }),
  };
}

/** What can be fetched: records of each honest business. */
async function publishedBy(stage: Stage, businesses: readonly Publisher[]): Promise<readonly string[]> {
  const ids: string[] = [];
  const plan = { route: "publish", records: 20, bytes: smallBytes } as const;
  for (const business of businesses) {
    const code = await batch(stage, business, plan, (recordIds) => ids.push(...recordIds))();
    if (code !== "ok") throw new Error(`the records of a storm are refused with ${code}`);
  }
  return ids;
}

function honestActs(
  stage: Stage,
  {
    businesses,
    companies,
    recordIds,
  }: {
    readonly businesses: readonly Publisher[];
    readonly companies: readonly SimCompany[];
    readonly recordIds: readonly string[];
  },
): Cast["honest"] {
  const small = { route: "publish", records: 3, bytes: smallBytes } as const;
  const shortFile = { pieces: 2, linesPerPiece: 2, pauseMs: 50 };
  return {
    search: companies.map((company) => search(stage, company)),
    fetch: companies.map((company) => fetchRecord(stage, company, recordIds)),
    publish: businesses.map((business) => batch(stage, business, small)),
    check: ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map((address) => check(stage, address)),
    file: businesses.map((business) => file(stage, business, shortFile)),
    image: businesses.map(({ business }) => image(stage, business.uuid, 40)),
  };
}

function dear({ storm }: Stage, { business }: Publisher, act: Act): Act {
  return () => {
    storm.dear.add(business.uuid);
    return act();
  };
}

function hostileActs(
  stage: Stage,
  {
    company,
    businesses,
    recordIds,
  }: {
    readonly company: SimCompany;
    readonly businesses: readonly [Publisher, Publisher, Publisher];
    readonly recordIds: readonly string[];
  },
): Cast["hostile"] {
  const [publisher] = businesses;
  const { uuid } = publisher.business;
  const slowFile = { pieces: 1_000, linesPerPiece: 1, pauseMs: 400 };
  const tinyLines = { pieces: 20, linesPerPiece: 200, pauseMs: 5 };
  const validated = { route: "validate", records: 50, bytes: largeBytes, isImpatient: true } as const;
  const pushed = { route: "publish", records: 200, bytes: largeBytes, isImpatient: true } as const;
  return {
    validations: [{ act: batch(stage, publisher, validated), count: 4 }],
    faults: [{ act: dear(stage, publisher, batch(stage, publisher, validated)), count: 4 }],
    batches: [{ act: batch(stage, publisher, pushed), count: 2 }],
    files: businesses.map((business) => ({ act: file(stage, business, slowFile), count: 12 })),
    lines: [{ act: file(stage, publisher, tinyLines), count: 12 }],
    images: [{ act: image(stage, uuid, 400), count: 8 }],
    searches: [{ act: search(stage, company, "thing"), count: 32 }],
    requests: [{ act: fetchRecord(stage, company, recordIds), count: 16 }],
    checks: [{ act: check(stage, "198.51.100.1"), count: 64 }],
    forgeries: [{ act: forgery(stage, company), count: 64 }],
    bodies: businesses.map(({ business }) => ({ act: unfinishedBody(stage, business.uuid), count: 16 })),
  };
}
