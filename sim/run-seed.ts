// One seed from its first event to its verdict.
//   1. Set-up without faults. 2. Safety: clients and faults together. 3. Liveness: faults stop, what is published while one
//   region's index does not answer is answered in time, and everything accepted must settle within a bound.
//   4. At rest: the checkers compare what owners, stores, indexes and clients report.

import { ledgerRef, logRef } from "../actors/messages/refs.ts";
import { closeReceiptBatches } from "../actors/region/activities.ts";
import type { LogSequencerContext } from "../machines/log-sequencer.ts";
import type { LogEntry } from "../protocol/log/leaves.ts";
import type { JournalFile } from "../service/log/journal-file.ts";
import { checkAtRest, isSame, isSettled, readTruth, type Truth } from "./checkers/at-rest.ts";
import { checkInForce, checkStanding } from "./checkers/in-force.ts";
import { checkInsight, writeCounts } from "./checkers/insight.ts";
import { checkHistories } from "./checkers/linearizable.ts";
import { checkLog } from "./checkers/log.ts";
import { checkMoney } from "./checkers/money.ts";
import type { Violation } from "./checkers/observed.ts";
import { checkOwnReads, checkPurges } from "./checkers/own-reads.ts";
import { checkReceipts, ServedChecker } from "./checkers/served.ts";
import { installGuard } from "./kernel/guard.ts";
import type { Random } from "./kernel/random.ts";
import { anyNode, type Cast, pause, setUp } from "./set-up.ts";
import { openSimEventStore } from "./store/event-store.ts";
import { openSimReceiptStore } from "./store/receipt-store.ts";
import type { BusinessAgent } from "./workload/business-agent.ts";
import { answerOf, Journal } from "./workload/journal.ts";
import { calm, nightPasses, unleash, upgrade, withoutIndex } from "./world/fault-driver.ts";
import type { FaultKind } from "./world/faults.ts";
import { layDown } from "./world/from-journal.ts";
import { beatMs } from "./world/model-place.ts";
import type { SimNode } from "./world/sim-node.ts";
import { asItIs, type Variation } from "./world/variation.ts";
import { everything, type Kept, World } from "./world/world.ts";

export interface SeedOptions {
  readonly variation?: Variation;
  /** Records the lines that describe what happened. */
  readonly story?: boolean;
  /** Where the world starts; empty by default. */
  readonly start?: JournalFile;
  /** What a shortened run keeps; everything by default. */
  readonly kept?: Kept;
  /** Also watches for native asynchronous work, at some cost in speed. */
  readonly watchNativeWork?: boolean;
}

export interface SeedResult {
  readonly seed: number;
  readonly events: number;
  /** Milliseconds of the world's time. */
  readonly virtualMs: number;
  readonly traceHash: string;
  readonly violations: readonly Violation[];
  readonly fired: ReadonlyMap<FaultKind, number>;
  readonly marks: ReadonlyMap<string, number>;
  readonly story: readonly string[];
  /** Names of what happened and could be left out: see {@link Kept}. */
  readonly parts: { readonly [P in keyof Kept]: readonly string[] };
}

/** Faults stop after this long even if the clients have not finished. */
const safetyMaxMs = 30_000;
/** Everything accepted settles within this time once faults have stopped. */
const livenessMs = 60_000;
/** Long enough for a minute to end, its lag to pass, and the region to check again. */
const closingMs = 185_000;
const eventsMax = 60_000;
/** Where answers cost money, worlds last for minutes more. */
const eventsMaxOfMinutes = 300_000;
/** Payments while clients and faults run. */
const paymentsMax = 3;
const paymentPauseMaxMs = 4_000;
const withoutIndexShare = 0.25;
const ownReadsShare = 0.3;

export async function runSeed(seed: number, options: SeedOptions = {}): Promise<SeedResult> {
  const guard = installGuard({ nativeWork: options.watchNativeWork ?? false });
  try {
    const result = await runWorld(seed, options);
    const uses = guard.uses.map((detail) => ({ invariant: "deterministic", detail, atMs: result.virtualMs }));
    return uses.length === 0 ? result : { ...result, violations: [...result.violations, ...uses] };
  } finally {
    guard.remove();
  }
}

async function runWorld(seed: number, options: SeedOptions): Promise<SeedResult> {
  const world = new World({
    seed,
    variation: options.variation ?? asItIs,
    story: options.story ?? false,
    kept: options.kept ?? everything,
    start: options.start ?? null,
  });
  const { kernel, faults } = world.parts;
  let isOver = false;
  let failure: unknown = null;
  // The scenario waits only for events, so it ends when the last of them has run.
  const scenario = play(world, options.start ?? null).then(
    () => {
      isOver = true;
    },
    (error: unknown) => {
      failure = error;
      isOver = true;
    },
  );
  const most = minutesPass(world) ? eventsMaxOfMinutes : eventsMax;
  const end = await kernel.run(() => isOver || kernel.events > most);
  if (!isOver) {
    world.observed.violate(
      "liveness",
      end === "nothing left"
        ? "something waits and nothing is left to happen"
        : `not at rest after ${most} events`,
    );
  } else await scenario;
  if (failure !== null) {
    const detail = failure instanceof Error ? (failure.stack ?? failure.message) : String(failure);
    world.observed.violate("scenario", `the scenario itself failed: ${detail}`);
  }
  return {
    seed,
    events: kernel.events,
    virtualMs: kernel.elapsed(),
    traceHash: kernel.trace.hash,
    violations: world.observed.violations,
    fired: faults.fired,
    marks: world.observed.marks,
    story: kernel.trace.lines ?? [],
    parts: { faults: faults.struck, steps: world.steps, nodes: world.parts.slots.map(({ name }) => name) },
  };
}

async function play(world: World, start: JournalFile | null): Promise<void> {
  const { parts, random } = world;
  const { kernel, faults } = parts;
  const journal = new Journal();
  const served = new ServedChecker(world);
  const draw = random.fork("workload");
  if (start !== null) await layDown(parts, start);
  for (const slot of parts.slots) world.start(slot);
  // Until every node has seen the others.
  do await pause(world, 2 * beatMs);
  while ([...world.running.values()].some((node) => node.lease() === null || !node.isReady()));
  const cast = await setUp(world, draw, served, journal);
  const { agents, companies, portals, payers } = cast;
  kernel.tell("safety phase", () => [...faults.chosen.keys()].join(" "));
  faults.active = true;
  unleash(world, random.fork("chaos"));
  const everybody = [...agents, ...companies, ...portals];
  const acting: Promise<unknown>[] = everybody.map((agent) => agent.run());
  const paying = payers.map((payer) => payer.run(paymentsMax, paymentPauseMaxMs));
  await Promise.race([Promise.all(acting), pause(world, parts.night?.fallsAfterMs ?? safetyMaxMs)]);
  if (parts.night !== null) {
    acting.push(...agents.map((agent) => agent.evening()));
    await pause(world, parts.night.eveningMs);
  }
  faults.active = false;
  // No agent starts anything new; what was started ends.
  for (const agent of everybody) agent.stop();
  if (parts.night !== null) await nightPasses(world, parts.night.lastsMs);
  kernel.tell("liveness phase");
  calm(world);
  world.observed.leaves.settlesBy(kernel.now() + livenessMs);
  await Promise.all([...acting, ...paying]);
  await Promise.all(agents.map((agent) => agent.finish(parts.night?.morningMs ?? 0)));
  for (const portal of portals) await portal.settleHolds();
  await publishWithoutIndex(world, agents);
  const readsOwn = random.fork("own reads").chance(ownReadsShare);
  if (readsOwn) for (const agent of agents) await agent.beRefused();
  const truth = await settle(world, journal);
  if (truth === null) return;
  kernel.tell("at rest");
  world.observed.checkTogether();
  checkAtRest(world, journal, truth);
  checkInForce(world, journal, truth);
  checkStanding(world, journal, truth);
  if (readsOwn) for (const agent of agents) await checkOwnReads(world, journal, truth, () => agent.readOwn());
  await checkPurges(world, journal, truth);
  await letMinutesPass(world, cast);
  checkHistories(world);
  const batches = await closeReceipts(world);
  checkReceipts(world, served.receipts);
  await sequenceLog(world);
  // A region that died before it knew appends its batches again.
  await append(world, batches);
  await sequenceLog(world);
  await checkLog(world, journal, truth);
  await checkMoney(world, payers);
  await writeCounts(world);
  checkInsight(world, served.receipts);
}

/** Only in some worlds, to save events: what is published while one region's index does not answer is answered in time. */
async function publishWithoutIndex(world: World, agents: readonly BusinessAgent[]): Promise<void> {
  const draw = world.random.fork("index away");
  if (!draw.chance(withoutIndexShare)) return;
  const region = draw.pick(world.parts.regions);
  await withoutIndex(world, region, () => Promise.all(agents.map((agent) => agent.publishWithoutIndex())));
}

/** Waits until everything accepted is settled and every owner is idle; null when nobody can be asked. */
async function settle(world: World, journal: Journal): Promise<Truth | null> {
  const { kernel, regions } = world.parts;
  const untilMs = kernel.now() + livenessMs;
  for (;;) {
    const node = await anyNode(world, regions[0] ?? "");
    const truth = await answerOf(world, node.life, readTruth(node, journal, world.parts.before.pushes));
    const isOver = truth !== null && [...truth.reports.values()].every(isSettled) && !world.hasAbandoned();
    const wasQuiet = isOver && world.isQuiet();
    if (wasQuiet) {
      // Wait for replication, and for the effects of the last commits. A reading is valid if a second one agrees.
      await pause(world, 2_000);
      const again = await answerOf(world, node.life, readTruth(node, journal, world.parts.before.pushes));
      if (world.isQuiet() && again !== null && isSame(truth, again)) return again;
    }
    if (kernel.now() >= untilMs) {
      world.observed.violate("liveness", `not settled ${livenessMs} ms after the faults stopped`);
      return truth;
    }
    await pause(world, 1_000);
  }
}

/** Waits until nothing waits for the log any more, and its newest checkpoint is published. */
async function sequenceLog(world: World): Promise<void> {
  const { kernel, regions } = world.parts;
  const untilMs = kernel.now() + livenessMs;
  const question = { type: "log.pending", after: -1, limit: 1 } as const;
  for (;;) {
    const node = await anyNode(world, regions[0] ?? "");
    const waiting = await answerOf(world, node.life, node.system.ask(logRef(), question));
    if (waiting?.length === 0 && world.isQuiet() && (await isPublished(world, node))) return;
    if (kernel.now() >= untilMs) {
      world.observed.violate(
        "liveness",
        `the log is not sequenced ${livenessMs} ms after the faults stopped`,
      );
      return;
    }
    await pause(world, 1_000);
  }
}

async function isPublished(world: World, node: SimNode): Promise<boolean> {
  const report = await answerOf(world, node.life, node.system.inspect(logRef()));
  const { head, published } = (report?.context ?? {}) as Partial<LogSequencerContext>;
  return head === undefined || head.size === (published?.size ?? 0);
}

/** Whether the batches of receipts are closed by the minutes that pass. */
function minutesPass({ parts, random }: World): boolean {
  return parts.money !== null || (parts.night === null && random.fork("closing").chance(0.05));
}

/**
 * Closes the batches of all minutes: in some worlds by letting the minutes pass; in the others, because a minute of a
 * whole cluster costs thousands of events, by doing what the region actor would do then.
 */
async function closeReceipts(world: World): Promise<readonly LogEntry[]> {
  const { parts } = world;
  const batches: LogEntry[] = [];
  if (minutesPass(world)) {
    await pause(world, closingMs);
    return batches;
  }
  const nowMs = parts.kernel.now() + closingMs;
  for (const region of parts.regions) {
    const client = { model: parts.stores, life: null, region };
    const ports = {
      receipts: openSimReceiptStore(client),
      events: parts.variation.events(openSimEventStore(client, () => parts.kernel.now())),
      sha256: parts.crypto.sha256,
      append: async (entries: readonly LogEntry[]) => {
        batches.push(...entries);
        await append(world, entries);
      },
    };
    await closeReceiptBatches(ports, region, nowMs);
  }
  return batches;
}

async function append(world: World, entries: readonly LogEntry[]): Promise<void> {
  if (entries.length === 0) return;
  const node = await anyNode(world, world.parts.regions[0] ?? "");
  await answerOf(world, node.life, node.system.ask(logRef(), { type: "log.append", entries }));
}

// Where answers cost money, some minutes pass: companies go on asking, money is paid in, and nodes lose the ledgers from sight,
// die and are replaced, so that leases end and receipts are charged meanwhile. Then everybody stops until all is charged.

/** Longer than a lease lasts until what was lent under it is free again. */
const minutesMs = 290_000;
const phasePaymentsMax = 4;
const troubleMaxMs = 25_000;
/** Long enough for every lease to end, the last minute to be closed, and its receipts to be charged. */
const chargingMaxMs = 600_000;
const lookMs = 15_000;
/** What the last node that died left settles within this time. */
const settleMs = 60_000;

/** Returns once everything is charged and nothing is reserved, or after a bound. */
async function letMinutesPass(world: World, { companies, payers }: Cast): Promise<void> {
  const { kernel, money } = world.parts;
  if (money === null) return;
  kernel.tell("minutes pass");
  const untilMs = kernel.now() + minutesMs;
  // Nodes die once more: the log may be late until that has settled.
  world.observed.leaves.settlesBy(untilMs + settleMs);
  const random = world.random.fork("minutes");
  await Promise.all([
    ...companies.map((company) => company.linger(untilMs)),
    ...payers.map((payer) => payer.run(random.fork(payer.company).below(phasePaymentsMax + 1), minutesMs)),
    makeTrouble(world, random.fork("trouble"), untilMs),
  ]);
  money.away.clear();
  await allIsCharged(
    world,
    companies.map(({ uuid }) => uuid),
  );
}

async function makeTrouble(world: World, random: Random, untilMs: number): Promise<void> {
  const { kernel, money, slots } = world.parts;
  for (let times = 1; kernel.now() < untilMs; times += 1) {
    const draw = random.fork(`${times}`);
    await pause(world, draw.between(100, troubleMaxMs));
    if (kernel.now() >= untilMs || !world.takes(`trouble#${times}`)) continue;
    const { name } = draw.pick(slots);
    const node = world.running.get(name);
    const what = draw.weighted({ away: 3, back: 3, crash: 1, upgrade: 1 });
    kernel.tell(`trouble: ${what} ${name}`);
    if (what === "away") money?.away.set(name, draw.pick(["lost", "lost", "unanswered"]));
    else if (what === "back") money?.away.delete(name);
    else if (node !== undefined && what === "crash") world.crash(node);
    else if (node !== undefined) upgrade(world, node);
  }
}

async function allIsCharged(world: World, companies: readonly string[]): Promise<void> {
  const { kernel, regions } = world.parts;
  const untilMs = kernel.now() + chargingMaxMs;
  for (;;) {
    await pause(world, lookMs);
    const node = await anyNode(world, regions[0] ?? "");
    const reports = await Promise.all(
      companies.map((company) =>
        answerOf(world, node.life, node.system.ask(ledgerRef(company), { type: "ledger.read" })),
      ),
    );
    if (reports.every((report) => report === null || report.holders.length === 0)) return;
    if (kernel.now() >= untilMs) {
      world.observed.violate("liveness", `money is still lent ${chargingMaxMs} ms after the last request`);
      return;
    }
  }
}
