// Random commands under random store failures, crashes and paused nodes that wake: every command takes effect
// once or not at all, as its caller was told.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Unavailable } from "../../std/unavailable.ts";
import { rowTable, StoreError } from "../../storage/actor-store.ts";
import type { MemoryActorStore, StoreFault } from "../../storage/memory/actor-store.ts";
import type { ActorDefinition, Message } from "./definition.ts";
import type { ManualTime } from "./manual-time.fixture.ts";
import type { LocalActorSystem } from "./ports.ts";
import {
  ask,
  type CounterCommand,
  counter,
  counterActor,
  newWorld,
  type TestProtocols,
  type World,
} from "./world.fixture.ts";

type Told = "applied" | "not_applied" | "unknown";

type Step =
  | { readonly do: "add" | "forward" | "work"; readonly at: number }
  | { readonly do: "pass"; readonly ms: number }
  /** The node is gone, and its timers and store calls with it. */
  | { readonly do: "crash" }
  /** A new node takes over; the old one continues with the state that it had. */
  | { readonly do: "pause" };

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constantFrom("add", "forward", "work"), at: fc.nat({ max: 1 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.constantFrom(0, 1, 60, 300, 2_000, 31_000) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "crash" }) },
  { weight: 1, arbitrary: fc.constant({ do: "pause" }) },
) as fc.Arbitrary<Step>;

/** `late` is a commit that its sender has given up and that arrives nevertheless. */
type Fault = StoreFault | "slow" | "late" | null;

const faults: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 10, arbitrary: fc.constant(null) },
  { weight: 2, arbitrary: fc.constant("late" as const) },
  { weight: 1, arbitrary: fc.constant("before" as const) },
  { weight: 1, arbitrary: fc.constant("unknown_not_applied" as const) },
  { weight: 2, arbitrary: fc.constant("unknown_applied" as const) },
  { weight: 1, arbitrary: fc.constant("slow" as const) },
);

/** A node that can be killed at any moment. */
function newNode(
  world: World,
  slowMs: number,
  definition: ActorDefinition,
): { system: LocalActorSystem<TestProtocols>; kill: () => void } {
  let isAlive = true;
  const whileAlive = <T>(promise: Promise<T>): Promise<T> =>
    new Promise((resolve, reject) => {
      promise.then(
        (value) => isAlive && resolve(value),
        (error: unknown) => isAlive && reject(error),
      );
    });
  const call = <T>(make: () => Promise<T>): Promise<T> =>
    isAlive ? whileAlive(make()) : new Promise(() => {});
  const { store, time } = world;
  const system = world.system({
    definitions: [definition],
    store: {
      createsActors: store.createsActors,
      joinsCommits: store.joinsCommits,
      claim: (ref, owner) => call(() => store.claim(ref, owner)),
      commit: (commit) => call(() => store.commit(commit)),
      readRows: (ref, selections) => call(() => store.readRows(ref, selections)),
      readHead: (ref) => call(() => store.readHead(ref)),
      dueActors: (nowMs, limit) => call(() => store.dueActors(nowMs, limit)),
      listActors: (kind, afterId, limit) => call(() => store.listActors(kind, afterId, limit)),
      countActors: (kind, max) => call(() => store.countActors(kind, max)),
    },
    timers: { schedule: (ms, run) => time.schedule(ms, () => isAlive && run()) },
    activities: {
      work: async (params: { job: string }) => {
        await new Promise<void>((resolve) => time.schedule(slowMs, resolve));
        return { type: "work.done", job: params.job };
      },
    },
    limits: {
      restartMs: 10,
      crashesMax: 1_000,
      snapshotEveryEvents: 1_000_000,
      pollMs: 500,
      commitResendsMax: 1,
    },
  });
  return {
    system,
    kill: () => {
      isAlive = false;
    },
  };
}

/** Makes the store fail as `script` says, over and over; returns a growing trace of the calls it got. */
function scriptStore(store: MemoryActorStore, time: ManualTime, script: readonly Fault[]): string[] {
  let calls = 0;
  const trace: string[] = [];
  store.intercept = async (call, apply) => {
    trace.push(`${time.now()} ${JSON.stringify(call)}`);
    const fault = call.operation === "dueActors" ? null : script[calls++ % script.length];
    if (fault === "slow") await new Promise<void>((resolve) => time.schedule(75, resolve));
    if (fault === "before") throw new StoreError("not_applied", "before");
    if (fault === "unknown_not_applied") throw new StoreError("unknown", "lost");
    if (fault === "late" && call.operation === "commit") {
      time.schedule(400, () => void apply());
      throw new StoreError("unknown", "delayed");
    }
    const result = apply();
    if (fault === "unknown_applied") throw new StoreError("unknown", "answer lost");
    return result;
  };
  return trace;
}

interface Plan {
  readonly steps: readonly Step[];
  readonly script: readonly Fault[];
  /** Duration of an activity. */
  readonly slowMs: number;
}

const plans: fc.Arbitrary<Plan> = fc.record({
  steps: fc.array(steps, { minLength: 10, maxLength: 60 }),
  script: fc.array(faults, { minLength: 5, maxLength: 40 }),
  slowMs: fc.constantFrom(0, 50, 700),
});

/** Runs a plan; afterwards every node is gone and the store works again. */
async function play(
  world: World,
  callers: Callers,
  { definition, ...plan }: Plan & { definition: ActorDefinition },
): Promise<readonly string[]> {
  const trace = scriptStore(world.store, world.time, plan.script);
  let node = newNode(world, plan.slowMs, definition);
  void node.system.start();
  for (const step of plan.steps) {
    if (step.do === "pass") await world.time.advance(step.ms);
    else if (step.do === "crash" || step.do === "pause") {
      if (step.do === "crash") node.kill();
      node = newNode(world, plan.slowMs, definition);
      void node.system.start();
    } else callers.send(node.system, step);
  }
  world.store.intercept = undefined;
  await world.time.advance(60_000);
  node.kill();
  return trace;
}

class Callers {
  readonly told = new Map<string, Told>();
  readonly #replies: Promise<unknown>[] = [];
  #count = 0;

  /** Sends a command and records what its caller is told, which is nothing if its node dies first. */
  send(system: LocalActorSystem<TestProtocols>, step: Extract<Step, { at: number }>): void {
    this.#count += 1;
    const name = `${step.do}-${step.at}-${this.#count}`;
    const commands: Record<typeof step.do, CounterCommand> = {
      add: { type: "add.once", id: name, by: 1 },
      forward: { type: "forward", to: `to-${step.at}`, by: this.#count },
      work: { type: "work", job: name },
    };
    this.told.set(name, "unknown");
    const reply = ask(system, `${step.do}-${step.at}`, commands[step.do]).then(
      () => this.told.set(name, "applied"),
      (error: unknown) => {
        if (!(error instanceof Unavailable)) throw error;
        this.told.set(name, error.effect);
      },
    );
    this.#replies.push(reply);
    reply.catch(() => {});
  }

  of(prefix: string, told: Told): string[] {
    return [...this.told]
      .filter((each) => each[0].startsWith(prefix) && each[1] === told)
      .map((each) => each[0]);
  }
}

async function eventsOf(
  store: MemoryActorStore,
  id: string,
): Promise<(Message & { job?: string; by?: number })[]> {
  const rows = await store.readRows(counter(id), [{ rt: rowTable.event, limit: 10_000 }]);
  return rows.flatMap((row) => (JSON.parse(row.body) as { e: Message[] }).e);
}

async function checkActors(
  world: World,
  last: LocalActorSystem<TestProtocols>,
  callers: Callers,
): Promise<void> {
  for (const at of [0, 1]) {
    const rows = await world.store.readRows(counter(`add-${at}`), [{ rt: 16, limit: 10_000 }]);
    const added = new Set(rows.map((row) => row.k2));
    for (const name of callers.of(`add-${at}`, "applied")) expect(added).toContain(name);
    for (const name of callers.of(`add-${at}`, "not_applied")) expect(added).not.toContain(name);
    expect(await ask(last, `add-${at}`, { type: "read" })).toMatchObject({ n: added.size });

    // Each forward adds a number of its own, so the sum at the receiver distinguishes losses from repetitions.
    const forwarded = (await eventsOf(world.store, `forward-${at}`)).map((event) => event.by ?? 0);
    expect(new Set(forwarded).size).toBe(forwarded.length);
    const numberOf = (name: string): number => Number(name.split("-")[2]);
    for (const name of callers.of(`forward-${at}`, "applied")) expect(forwarded).toContain(numberOf(name));
    for (const name of callers.of(`forward-${at}`, "not_applied"))
      expect(forwarded).not.toContain(numberOf(name));
    const sum = forwarded.reduce((total, by) => total + by, 0);
    expect(await ask(last, `to-${at}`, { type: "read" })).toMatchObject({ n: sum });

    const events = await eventsOf(world.store, `work-${at}`);
    const begun = events.flatMap((event) => (event.type === "work.begun" ? [event.job] : []));
    const { done } = (await ask(last, `work-${at}`, { type: "read" })) as { done: string[] };
    expect([...done].sort()).toEqual([...begun].sort());
    expect(new Set(done).size).toBe(done.length);
    for (const name of callers.of(`work-${at}`, "applied")) expect(done).toContain(name);
    for (const name of callers.of(`work-${at}`, "not_applied")) expect(done).not.toContain(name);
  }
}

const joinable: ActorDefinition = { ...counterActor, joinable: ["add"] };

describe.each([
  { about: "", definition: counterActor },
  { about: ", where receivers join", definition: joinable },
])("every command counts once, whatever fails$about", ({ definition }) => {
  it("through crashes, zombies and a store that loses questions and answers (property)", async () => {
    const seen = { applied: 0, unknown: 0, not_applied: 0 };
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const world = newWorld();
        const callers = new Callers();
        await play(world, callers, { ...plan, definition });
        const last = newNode(world, 0, definition);
        await last.system.start();
        await world.time.advance(120_000);
        expect(last.system.stats()).toMatchObject({ outboxPending: 0, mailboxed: 0, crashes: 0 });
        await checkActors(world, last.system, callers);
        for (const told of callers.told.values()) seen[told] += 1;
      }),
      { numRuns: 60 },
    );
    // A run in which nothing failed, or nothing succeeded, would prove nothing.
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
  });

  it("the same plan makes the same calls of the store at the same times (property)", async () => {
    await fc.assert(
      fc.asyncProperty(plans, async (plan) => {
        const once = await play(newWorld(), new Callers(), { ...plan, definition });
        expect(await play(newWorld(), new Callers(), { ...plan, definition })).toEqual(once);
      }),
      { numRuns: 10 },
    );
  });
});
