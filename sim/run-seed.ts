// One seed from its first event to its verdict.
//   1. Set-up in calm weather. 2. Safety: clients and faults together. 3. Liveness: faults stop, everything accepted must
//   settle within a bound. 4. At rest: the checkers compare what owners, stores, indexes and clients say.

import { closeReceiptBatches } from "../actors/region/activities.ts";
import { checkAtRest, isSame, isSettled, readTruth, type Truth } from "./checkers/at-rest.ts";
import { checkHistories } from "./checkers/linearizable.ts";
import type { Violation } from "./checkers/observed.ts";
import { checkReceipts } from "./checkers/receipts.ts";
import { ServedChecker } from "./checkers/served.ts";
import { installGuard } from "./kernel/guard.ts";
import type { Random } from "./kernel/random.ts";
import { openSimReceiptStore } from "./store/receipt-store.ts";
import { openSimRecordStore } from "./store/record-store.ts";
import { BusinessAgent, type BusinessPlan } from "./workload/business-agent.ts";
import { CompanyAgent } from "./workload/company-agent.ts";
import { answerOf, Journal } from "./workload/journal.ts";
import { PortalAgent } from "./workload/portal-agent.ts";
import { calm, unleash } from "./world/chaos.ts";
import type { FaultKind } from "./world/faults.ts";
import { beatMs } from "./world/membership-model.ts";
import { registerBusiness, registerCompany, type SimBusiness } from "./world/setup.ts";
import type { SimNode } from "./world/sim-node.ts";
import { asItIs, type Variation } from "./world/variation.ts";
import { World } from "./world/world.ts";

export interface SeedOptions {
  readonly variation?: Variation;
  /** Keeps the lines that tell what happened. */
  readonly story?: boolean;
  /** Also watches for native asynchronous work, which costs speed. */
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
}

/** Faults stop after this long even if clients are not through. */
const safetyMaxMs = 30_000;
/** Everything accepted settles within this time once faults have stopped. */
const livenessMs = 60_000;
/** A minute ends, its lag passes, and the region looks again. */
const closingMs = 185_000;
const eventsMax = 60_000;

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
  const world = new World({ seed, variation: options.variation ?? asItIs, story: options.story ?? false });
  const { kernel, faults } = world.parts;
  let isOver = false;
  let failure: unknown = null;
  // The scenario waits for nothing but what events bring, so it ends when the last of them has come.
  const scenario = play(world).then(
    () => {
      isOver = true;
    },
    (error: unknown) => {
      failure = error;
      isOver = true;
    },
  );
  const end = await kernel.run(() => isOver || kernel.events > eventsMax);
  if (!isOver) {
    world.observed.violate(
      "liveness",
      end === "nothing left"
        ? "something waits and nothing is left to happen"
        : `not at rest after ${eventsMax} events`,
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
  };
}

async function play(world: World): Promise<void> {
  const { parts, random } = world;
  const { kernel, faults } = parts;
  const journal = new Journal();
  const served = new ServedChecker(world);
  const draw = random.fork("workload");
  for (const slot of parts.slots) world.start(slot);
  // Until every node has seen the others.
  do await pause(world, 2 * beatMs);
  while ([...world.running.values()].some((node) => node.lease() === null || !node.isReady()));
  const businesses = await setUp(world, draw, served, journal);
  kernel.tell("safety phase", () => [...faults.chosen.keys()].join(" "));
  faults.active = true;
  unleash(world, random.fork("chaos"));
  const { agents, companies, portals } = businesses;
  const everybody = [...agents, ...companies, ...portals];
  const acting = Promise.all(everybody.map((agent) => agent.run()));
  await Promise.race([acting, pause(world, safetyMaxMs)]);
  kernel.tell("liveness phase");
  faults.active = false;
  calm(world);
  // Nobody begins anything new; what was begun ends.
  for (const agent of everybody) agent.stop();
  await acting;
  await Promise.all(agents.map((agent) => agent.finish()));
  for (const portal of portals) await portal.settleHolds();
  const truth = await settle(world, journal);
  if (truth === null) return;
  kernel.tell("at rest");
  checkAtRest(world, journal, truth);
  checkHistories(world);
  await closeReceipts(world);
  checkReceipts(world, served.receipts);
}

async function setUp(world: World, draw: Random, served: ServedChecker, journal: Journal) {
  const { parts } = world;
  const regions = parts.regions;
  const agents: BusinessAgent[] = [];
  const companies: CompanyAgent[] = [];
  const businesses: SimBusiness[] = [];
  const plan = drawPlan(draw.fork("plan"), regions);
  const businessCount = draw.pick([1, 1, 2]);
  for (let index = 0; index < businessCount; index += 1) {
    const uuid = draw.uuid();
    const home = draw.pick(regions);
    parts.homes.set(uuid, home);
    const node = await anyNode(world, home);
    const business: SimBusiness = await registerBusiness(parts, node, {
      ...{ uuid, keys: draw.pick([1, 1, 2]), hasPolicy: draw.chance(0.5) },
      caps: {
        records_per_hour: draw.pick([12, 1_000_000, 1_000_000]),
        bytes_per_day: draw.pick([20_000, 1e9, 1e9]),
      },
    });
    businesses.push(business);
    business.keys.forEach((key, at) => {
      const own = draw.fork(`business ${index} key ${at}`);
      agents.push(
        new BusinessAgent(world, journal, {
          business,
          key,
          plan: { ...plan, region: own.pick(regions) },
          random: own,
        }),
      );
    });
  }
  for (let index = 0; index < 2; index += 1) {
    const uuid = draw.uuid();
    const home = draw.pick(regions);
    parts.homes.set(uuid, home);
    const company = await registerCompany(parts, await anyNode(world, home), uuid);
    const own = draw.fork(`company ${index}`);
    const companyPlan = { steps: draw.between(4, 12), pauseMaxMs: plan.pauseMaxMs, regions };
    companies.push(
      new CompanyAgent(world, { company, plan: companyPlan, random: own, journal, checker: served }),
    );
  }
  const groups = companies.map((company) => company.uuid);
  const portals = businesses.map(
    (business, index) =>
      new PortalAgent(world, { business, groups, journal, random: draw.fork(`portal ${index}`) }),
  );
  // Registers of the other regions follow within their time.
  await pause(world, 2_500);
  return { agents, companies, portals };
}

function drawPlan(draw: Random, regions: readonly string[]): BusinessPlan {
  // A catalogue of twenty listings and more can be held; a few products meet each other more often.
  const isCatalogue = draw.chance(0.2);
  return {
    steps: draw.between(5, 14),
    products: isCatalogue ? 30 : draw.pick([1, 2, 4, 30]),
    batchMax: isCatalogue ? 30 : draw.pick([1, 3, 6]),
    queuedLeaves: draw.chance(0.08) ? draw.pick([51, 60, 205]) : 0,
    pauseMaxMs: draw.pick([100, 800, 3_000]),
    region: regions[0] ?? "",
  };
}

async function anyNode(world: World, region: string): Promise<SimNode> {
  for (;;) {
    const node = world.nodeOf(region, world.random);
    if (node !== null && !node.life.isAsleep) return node;
    await pause(world, 100);
  }
}

function pause(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => world.parts.kernel.after(ms, "scenario waits", resolve));
}

/** Waits until everything that was accepted is settled and every owner is quiet; null when nobody can be asked. */
async function settle(world: World, journal: Journal): Promise<Truth | null> {
  const { kernel, regions } = world.parts;
  const untilMs = kernel.now() + livenessMs;
  for (;;) {
    const node = await anyNode(world, regions[0] ?? "");
    const truth = await answerOf(world, node.life, readTruth(node, journal));
    const wasQuiet = truth !== null && [...truth.reports.values()].every(isSettled) && world.isQuiet();
    if (wasQuiet) {
      // Replication, and what the last commits asked for. What was read holds if it reads the same again.
      await pause(world, 2_000);
      const again = await answerOf(world, node.life, readTruth(node, journal));
      if (world.isQuiet() && again !== null && isSame(truth, again)) return again;
    }
    if (kernel.now() >= untilMs) {
      world.observed.violate("liveness", `not settled ${livenessMs} ms after the faults stopped`);
      return truth;
    }
    await pause(world, 1_000);
  }
}

/**
 * The batches of all minutes are closed: in some worlds by letting the minutes pass, in the others, for a minute of a
 * whole cluster costs thousands of events, by doing what the region actor would do then.
 */
async function closeReceipts(world: World): Promise<void> {
  const { parts } = world;
  if (world.random.fork("closing").chance(0.05)) return pause(world, closingMs);
  const nowMs = parts.kernel.now() + closingMs;
  for (const region of parts.regions) {
    const client = { model: parts.stores, life: null, region };
    const records = openSimRecordStore(client);
    const index = parts.indexes.get(region);
    if (index === undefined) continue;
    const receipts = openSimReceiptStore(client);
    await closeReceiptBatches({ index, records, receipts, sha256: parts.crypto.sha256 }, region, nowMs);
  }
}
