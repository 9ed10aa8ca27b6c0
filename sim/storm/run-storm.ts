// A storm in simulated time: honest parties that take half of a node, and beside them one hostile party, which does what it can
// without a pause. What the honest ones wait is compared with a quiet run of the same seed.
//   SS1. The 99th percentile of what each kind of honest act takes is at most 1.5 times that of the quiet run.
//   SS2. Nothing honest is refused.

import { installGuard } from "../kernel/guard.ts";
import { Random } from "../kernel/random.ts";
import { anyNode } from "../set-up.ts";
import { everything } from "../world/shrink-filter.ts";
import { World } from "../world/world.ts";
import { type Act, pause, type Stage } from "./acts.ts";
import { type HonestKind, type HostileKind, honestRates, openCast } from "./cast.ts";
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
    ...{ search: [], fetch: [], publish: [], check: [], file: [], image: [] },
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
const slowerMax = 1.5;
/** Fewer acts have no 99th percentile; of them the median counts. */
const percentileMin = 100;

/** How a storm broke the bound, compared with the quiet run of its seed; empty if it did not. */
export function harmOf(quiet: StormResult, storm: StormResult): readonly string[] {
  const slower = (Object.keys(honestRates) as HonestKind[]).flatMap((kind) => {
    const share = quiet.tookMs[kind].length < percentileMin ? 0.5 : 0.99;
    const [before, after] = [quiet, storm].map(({ tookMs }) => percentile(tookMs[kind], share)) as [
      number,
      number,
    ];
    if (after <= Math.max(slowerMax * before, before + stretchMs)) return [];
    return [`${kind}: ${after.toFixed(1)} ms instead of ${before.toFixed(1)}`];
  });
  const refused = [...new Set(storm.refusals)].map((refusal) => `refused: ${refusal}`);
  return [...slower, ...refused, ...storm.violations];
}

export function percentile(tookMs: readonly number[], share: number): number {
  const ascending = [...tookMs].sort((a, b) => a - b);
  return ascending[Math.ceil(share * ascending.length) - 1] ?? 0;
}
