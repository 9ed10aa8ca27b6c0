// The process dies at a COMMIT of a scenario. What survives is the content of its files at that moment, so the files are
// copied right before and right after a COMMIT, and the copy becomes the home of a node that continues: pushes resume on
// their own, and callers that were not answered ask again.
//   `SVC_CRASH_STRIDE=1` tries every point; `SVC_CRASH_SEED` chooses others.

import { cpSync, mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { NodeServices } from "../../node/composition/services.ts";
import type { CommitPhase } from "../../storage/sqlite/database.ts";
import { seededRandom } from "../../tools/seeded-random.ts";
import { openBusiness } from "../publishing/publishing.fixture.ts";
import {
  openCrashedNode,
  planScenario,
  type Scenario,
  type ScenarioStep,
  stepsOf,
} from "./crash-points.fixture.ts";
import { proveServed, proveStored } from "./crash-proof.fixture.ts";

/** Odd, so that both phases are covered. */
const stride = Number(process.env["SVC_CRASH_STRIDE"] ?? 37);
const seed = Number(process.env["SVC_CRASH_SEED"] ?? 1);
/** The minimum number of commits in the scenario, counting both phases: with fewer this would test nothing. */
const pointsMin = 50;

const folder = mkdtempSync(join(tmpdir(), "svc-crash-points-"));
afterAll(() => rm(folder, { recursive: true, force: true }));

/** The files from which a node continues. */
interface Image {
  readonly home: string;
  readonly point: string;
  /** The steps that the business knew to be done. */
  readonly done: number;
  readonly atMs: number;
}

let scenario: Scenario;
let steps: readonly ScenarioStep[];
let begin: Image;
let homes = 0;

/** Homes are numbered: named by its points, the home of a process that died often would exceed the file system's limit. */
function newHome(): string {
  homes += 1;
  return join(folder, `home-${homes}`);
}

beforeAll(async () => {
  const home = join(folder, "base");
  const services = await openCrashedNode(home);
  const business = await openBusiness(services);
  begin = { home, point: "begin", done: 0, atMs: services.clock.now() };
  scenario = await planScenario(business, begin.atMs);
  steps = stepsOf(scenario);
  await services[Symbol.asyncDispose]();
});

interface Plan {
  /**
   * Called for every commit with its number: `image` copies the files and continues, `die` ends the run with them, `stop`
   * ends it like SIGTERM; a throw makes the commit fail.
   */
  readonly at: (point: number, phase: CommitPhase) => "image" | "die" | "stop" | "go on";
  /** Whether a refused step is retried. */
  readonly isPatient?: boolean;
}

interface Run {
  readonly images: readonly Image[];
  readonly points: number;
  readonly isOver: boolean;
}

/** Runs the rest of the scenario on a copy of `from`, and checks what it left unless it died. */
async function runFrom(from: Image, plan: Plan): Promise<Run> {
  const home = newHome();
  cpSync(from.home, home, { recursive: true });
  const clock = clockFrom(from.atMs);
  const images: Image[] = [];
  const death = Promise.withResolvers<"dead" | "stopped">();
  let points = 0;
  let { done } = from;
  const onCommit = (phase: CommitPhase): void => {
    points += 1;
    const verdict = plan.at(points, phase);
    if (verdict === "go on") return;
    if (verdict === "stop") {
      death.resolve("stopped");
      return;
    }
    const image = newHome();
    images.push({ home: image, point: `${from.point}-${points}${phase}`, done, atMs: clock.now() });
    cpSync(home, image, { recursive: true });
    if (verdict === "die") death.resolve("dead");
  };
  const services = await openCrashedNode(home, { onCommit, clock });
  const finish = async (): Promise<"over"> => {
    for (const step of steps.slice(done)) {
      await (plan.isPatient ? insist(step, services) : step(services));
      done += 1;
    }
    await proveServed(services, scenario);
    return "over";
  };
  const finished = finish();
  // Calls that outlive a death are refused by closed stores.
  finished.catch(() => {});
  let end: "over" | "dead" | "stopped";
  try {
    end = await Promise.race([finished, death.promise]);
    if (end === "dead") services.actors.halt();
  } catch (error) {
    throw new Error(`${from.point}, then ${done} steps done`, { cause: error });
  } finally {
    await services[Symbol.asyncDispose]();
  }
  if (end === "stopped") images.push({ home, point: `${from.point}-${points}`, done, atMs: clock.now() });
  if (end !== "over") return { images, points, isOver: false };
  proveStored(home);
  await rm(home, { recursive: true });
  return { images, points, isOver: true };
}

/** As often as a caller that was told to come back would retry. */
async function insist(step: ScenarioStep, services: NodeServices): Promise<void> {
  const endMs = performance.now() + 60_000;
  for (;;) {
    try {
      await step(services);
      return;
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
  }
}

/** Time continues from the crash: seals are valid for five minutes, and a full run takes longer. */
function clockFrom(atMs: number): NodeServices["clock"] {
  const startedMs = Date.now();
  return { now: () => atMs + Date.now() - startedMs };
}

describe("a process that dies at a COMMIT", () => {
  it(`leaves what can be gone on from, at every ${stride}th point from ${seed % stride}`, async () => {
    const once = await runFrom(begin, {
      at: (point) => (point % stride === seed % stride ? "image" : "go on"),
    });
    expect(once.points).toBeGreaterThan(pointsMin);
    for (const image of once.images) {
      expect(await runFrom(image, { at: () => "go on" })).toMatchObject({ isOver: true });
      await rm(image.home, { recursive: true });
    }
  }, 900_000);

  it("leaves nothing for ever of a push that was not accepted and is never sent again", async () => {
    const home = join(folder, "abandoned");
    cpSync(begin.home, home, { recursive: true });
    const before = await openCrashedNode(home);
    await before.records.stageLeaves(scenario.first.push_id, 0, scenario.first.records);
    await before.records.putStagedDocument(scenario.first.push_id, "plan", "[]");
    await before[Symbol.asyncDispose]();
    await using after = await openCrashedNode(home);
    expect((await after.records.stagedPushes(null, 10)).pushes).toEqual([]);
  });

  it(`leaves what can be gone on from, when it dies again and again (seed ${seed})`, async () => {
    expect(await endAgainAndAgain("die")).toBeGreaterThan(3);
  }, 300_000);
});

describe("a process that is told to stop", () => {
  it(`loses nothing of what is under way, told again and again (seed ${seed})`, async () => {
    expect(await endAgainAndAgain("stop")).toBeGreaterThan(3);
  }, 300_000);
});

/** Runs until the scenario is over; returns how often it was interrupted. */
async function endAgainAndAgain(how: "die" | "stop"): Promise<number> {
  const random = seededRandom(seed);
  let image: Image = { ...begin, point: how };
  for (let ends = 0; ; ends += 1) {
    const last = 2 + Math.floor(random() * 32);
    const run = await runFrom(image, { at: (point) => (point === last ? how : "go on") });
    const [next] = run.images;
    if (run.isOver || next === undefined) return ends;
    image = next;
  }
}

describe("a store whose COMMITs fail without telling whether they were made", () => {
  it(`loses nothing and publishes nothing twice (seed ${seed})`, async () => {
    const random = seededRandom(seed);
    let failures = 0;
    const run = await runFrom(begin, {
      at: () => {
        if (random() >= 0.08) return "go on";
        failures += 1;
        throw new Error("The disk went away.");
      },
      isPatient: true,
    });
    expect(run.isOver).toBe(true);
    expect(failures).toBeGreaterThan(5);
  }, 300_000);
});
