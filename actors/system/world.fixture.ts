// A small world for tests of the actor system: time that only tests move, consecutive operation ids, a store that
// outlives the systems on it, and an actor kind that exercises every feature once.

import { assign, setup } from "xstate";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import type { Commands } from "../messages/protocol.ts";
import { type Activity, defineActor, type Effect, type ViewOf } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";
import { ManualTime } from "./manual-time.fixture.ts";
import type { ActorSystemOptions, LocalActorSystem, LogEntry } from "./ports.ts";
import { createActorSystem } from "./runtime.ts";

export interface World {
  readonly time: ManualTime;
  readonly store: MemoryActorStore;
  readonly logged: LogEntry[];
  /** Makes a system on the world's store; several may run at once, as nodes or as what is left of a paused node. */
  system(
    options?: Partial<ActorSystemOptions> & { readonly limits?: Partial<ActorLimits> },
  ): LocalActorSystem<TestProtocols>;
}

export function newWorld(store?: ActorStore): World {
  const time = new ManualTime();
  const memory = new MemoryActorStore({ now: () => time.now() });
  const logged: LogEntry[] = [];
  let operations = 0;
  let systems = 0;
  return {
    time,
    store: memory,
    logged,
    system: (options = {}) => {
      systems += 1;
      return createActorSystem<TestProtocols>({
        store: store ?? memory,
        definitions: [counterActor],
        activities: {},
        clock: time,
        timers: time,
        entropy: {
          newOperationId: () => {
            operations += 1;
            return `op-${operations}`;
          },
        },
        owner: `node-${systems}`,
        log: (entry) => logged.push(entry),
        ...options,
      });
    },
  };
}

export function counter(id: string): ActorRef<"counter"> {
  return { kind: "counter", id };
}

/** Sends a command to a counter. */
export function ask(
  system: LocalActorSystem<TestProtocols>,
  id: string,
  command: CounterCommand,
  options?: { readonly timeoutMs: number },
): Promise<unknown> {
  return system.ask(counter(id), command, options);
}

export interface CounterContext {
  readonly n: number;
  readonly alarms: number;
  readonly done: readonly string[];
}

type CounterEvent =
  | { readonly type: "added"; readonly by: number }
  | { readonly type: "forwarded"; readonly to: string; readonly by: number }
  | { readonly type: "armed" | "disarmed" | "exploded" }
  | { readonly type: "work.begun"; readonly job: string }
  | { readonly type: "work.finished"; readonly job: string };

export interface CounterProtocol {
  add(command: { readonly by: number }): number;
  /** Answers null if the actor never existed. */
  glance(): number | null;
  read(): CounterContext & { readonly state: string; readonly epoch: number };
  arm(): "armed";
  disarm(): "disarmed";
  fail(): never;
  explode(): "never";
  forward(command: { readonly to: string; readonly by: number }): "forwarded";
  work(command: { readonly job: string }): "begun";
  "work.done"(command: { readonly job: string }): "noted";
  /** Adds once for each `id`, however often it is sent. */
  "add.once"(command: { readonly id: string; readonly by: number }): number;
  await(command: { readonly n: number }): number;
  /** Takes a name until an instant. */
  take(command: { readonly name: string; readonly until_ms: number }): "taken" | "held";
  /** Looks at a name, which its kind does not say. */
  peep(command: { readonly name: string }): never;
  /** Decides an event of any name, whether or not the machine takes it. */
  emit(command: { readonly event: string }): "emitted";
}

export interface TestProtocols {
  readonly counter: CounterProtocol;
  /** The actor kind for the tests of upgrades. */
  readonly till: { read(): unknown; "payment.taken"(command: { readonly cents: number }): unknown };
}

export type CounterCommand = Commands<CounterProtocol>;

export const counterMachine = setup({
  types: { context: {} as CounterContext, events: {} as CounterEvent, input: {} as { start: number } },
  delays: { alarm: 60_000 },
  actions: {
    forward: (_, _params: { to: string; by: number }) => {},
    doWork: (_, _params: { job: string }) => {},
  },
}).createMachine({
  id: "counter",
  context: ({ input }) => ({ n: input.start, alarms: 0, done: [] }),
  initial: "idle",
  on: {
    added: { actions: assign(({ context, event }) => ({ n: context.n + event.by })) },
    forwarded: { actions: { type: "forward", params: ({ event }) => ({ to: event.to, by: event.by }) } },
    "work.begun": { actions: { type: "doWork", params: ({ event }) => ({ job: event.job }) } },
    "work.finished": { actions: assign(({ context, event }) => ({ done: [...context.done, event.job] })) },
    exploded: {
      actions: assign(() => {
        throw new Error("the machine exploded");
      }),
    },
  },
  states: {
    idle: { on: { armed: "armed" } },
    armed: {
      after: {
        alarm: { target: "idle", actions: assign(({ context }) => ({ alarms: context.alarms + 1 })) },
      },
      on: { disarmed: "idle" },
    },
  },
});

export const counterActor = defineActor<"counter", typeof counterMachine, TestProtocols>({
  kind: "counter",
  schemaVersion: 1,
  machine: counterMachine,
  durability: "journal",
  input: () => ({ start: 0 }),
  rows: (command) => (command.type === "add.once" ? [{ rt: 16, keys: [command.id] }] : []),
  absent: { glance: { reply: null } },
  claims: { rt: 20, commands: ["take"], lifeMaxMs: 300_000, keptMs: 60_000 },
  decide: {
    read: (_, view) => ({
      reply: { ...view.snapshot.context, state: view.snapshot.value, epoch: view.epoch },
    }),
    glance: (_, view) => ({ reply: view.snapshot.context.n }),
    add: ({ by }, view) => ({ reply: view.snapshot.context.n + by, events: [{ type: "added", by }] }),
    "add.once": addOnce,
    arm: (_, view) => ({
      reply: "armed",
      events: view.snapshot.matches("idle") ? [{ type: "armed" }] : [],
    }),
    disarm: (_, view) => ({
      reply: "disarmed",
      events: view.snapshot.matches("armed") ? [{ type: "disarmed" }] : [],
    }),
    forward: ({ to, by }) => ({ reply: "forwarded", events: [{ type: "forwarded", to, by }] }),
    work: ({ job }) => ({ reply: "begun", events: [{ type: "work.begun", job }] }),
    "work.done": ({ job }) => ({ reply: "noted", events: [{ type: "work.finished", job }] }),
    await: ({ n }, view) =>
      view.snapshot.context.n >= n ? { reply: view.snapshot.context.n } : { wait: true },
    take: ({ name, until_ms: untilMs }, view) =>
      (view.claimedUntil(name) ?? 0) > view.nowMs
        ? { reply: "held" }
        : { reply: "taken", claims: [{ name, untilMs }] },
    peep: ({ name }, view) => {
      throw new Error(`${name} is claimed until ${view.claimedUntil(name)}`);
    },
    explode: () => ({ reply: "never", events: [{ type: "exploded" }] }),
    emit: ({ event }) => ({ reply: "emitted", events: [rubbish({ type: event })] }),
    fail: () => {
      throw new Error("a decision failed");
    },
  },
  effects: {
    forward: ({ to, by }: { to: string; by: number }): readonly Effect[] => [
      { kind: "tell", to: counter(to), message: addMessage(by) },
    ],
    doWork: (params: { job: string }): readonly Effect[] => [{ kind: "activity", name: "work", params }],
  },
});

function addMessage(by: number): CounterCommand {
  return { type: "add", by };
}

function addOnce(
  { id, by }: { readonly id: string; readonly by: number },
  view: ViewOf<typeof counterMachine>,
) {
  const row = view.row(16, 0, id);
  if (row !== undefined) return { reply: Number(row.body) };
  const n = view.snapshot.context.n + by;
  const puts = [{ rt: 16, k: 0, k2: id, body: String(n) }];
  return { reply: n, events: [{ type: "added" as const, by }], puts };
}

/** An activity that fails `failures` times before it succeeds. */
export class Bench {
  readonly runs: string[] = [];
  failures = 0;
  readonly activity: Activity = async (params: { job: string }, context) => {
    this.runs.push(`${context.workId} ${params.job}`);
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the outside is away");
    }
    const done: CounterCommand = { type: "work.done", job: params.job };
    return done;
  };
}
