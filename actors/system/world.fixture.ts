// A small world for tests of the actor system: time that only tests move, operation ids in order, a store that
// outlives the systems on it, and an actor kind that can do everything once.

import { assign, setup } from "xstate";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { MemoryActorStore } from "../../storage/memory/actor-store.ts";
import type { Activity, ActorDefinition, ActorView, Decision, Effect, Message } from "./definition.ts";
import type { ActorLimits } from "./limits.ts";
import { ManualTime } from "./manual-time.fixture.ts";
import type { ActorSystemOptions, LocalActorSystem, LogEntry } from "./ports.ts";
import { createActorSystem } from "./runtime.ts";

export interface World {
  readonly time: ManualTime;
  readonly store: MemoryActorStore;
  readonly logged: LogEntry[];
  /** A system on the world's store; several may run at once, as nodes or as what is left of a paused one. */
  system(
    options?: Partial<ActorSystemOptions> & { readonly limits?: Partial<ActorLimits> },
  ): LocalActorSystem;
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
      return createActorSystem({
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

export function counter(id: string): ActorRef {
  return { kind: "counter", id };
}

/** Sends a command to a counter. */
export function ask(
  system: LocalActorSystem,
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

export type CounterCommand =
  | { readonly type: "add"; readonly by: number }
  /** Of an actor that never existed: null. */
  | { readonly type: "glance" }
  | { readonly type: "read" | "arm" | "disarm" | "fail" | "explode" }
  | { readonly type: "forward"; readonly to: string; readonly by: number }
  | { readonly type: "work"; readonly job: string }
  | { readonly type: "work.done"; readonly job: string }
  /** Adds once per `id`, however often it is sent. */
  | { readonly type: "add.once"; readonly id: string; readonly by: number }
  | { readonly type: "await"; readonly n: number }
  | { readonly type: "emit"; readonly event: string };

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

export const counterActor: ActorDefinition<CounterCommand, unknown> = {
  kind: "counter",
  schemaVersion: 1,
  machine: counterMachine,
  durability: "journal",
  input: () => ({ start: 0 }),
  rows: (command) => (command.type === "add.once" ? [{ rt: 16, keys: [command.id] }] : []),
  absent: (command) => (command.type === "glance" ? { reply: null } : null),
  decide: decideCounter,
  effects: {
    forward: ({ to, by }: { to: string; by: number }): readonly Effect[] => [
      { kind: "tell", to: counter(to), message: { type: "add", by } as Message },
    ],
    doWork: (params: { job: string }): readonly Effect[] => [{ kind: "activity", name: "work", params }],
  },
};

function event(fact: CounterEvent): Message {
  return fact;
}

function decideCounter(command: CounterCommand, view: ActorView): Decision<unknown> {
  const context = view.snapshot.context as CounterContext;
  switch (command.type) {
    case "read":
      return { reply: { ...context, state: view.snapshot.value, epoch: view.epoch } };
    case "glance":
      return { reply: context.n };
    case "add":
      return { reply: context.n + command.by, events: [event({ type: "added", by: command.by })] };
    case "add.once": {
      const row = view.row(16, 0, command.id);
      if (row !== undefined) return { reply: Number(row.body) };
      const n = context.n + command.by;
      const puts = [{ rt: 16, k: 0, k2: command.id, body: String(n) }];
      return { reply: n, events: [event({ type: "added", by: command.by })], puts };
    }
    case "arm":
      return { reply: "armed", events: [event({ type: "armed" })] };
    case "disarm":
      return { reply: "disarmed", events: [event({ type: "disarmed" })] };
    case "forward":
      return { reply: "forwarded", events: [event({ type: "forwarded", to: command.to, by: command.by })] };
    case "work":
      return { reply: "begun", events: [event({ type: "work.begun", job: command.job })] };
    case "work.done":
      return { reply: "noted", events: [event({ type: "work.finished", job: command.job })] };
    case "await":
      return context.n >= command.n ? { reply: context.n } : { wait: true };
    case "explode":
      return { reply: "never", events: [event({ type: "exploded" })] };
    case "emit":
      return { reply: "emitted", events: [{ type: command.event }] };
    case "fail":
      throw new Error("a decision failed");
  }
}

/** An activity that succeeds when told to. */
export class Bench {
  readonly runs: string[] = [];
  failures = 0;
  readonly activity: Activity = async (params: { job: string }, context) => {
    this.runs.push(`${context.workId} ${params.job}`);
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("the outside is away");
    }
    return { type: "work.done", job: params.job } as Message;
  };
}
