// The smallest possible actor, whose cost is the cost of the system, as a journaled and as an in-memory kind, in an actor system
// that is composed as in a node.

import { randomUUID } from "node:crypto";
import { assign, setup } from "xstate";
import type { ActorRef } from "../../actors/messages/refs.ts";
import { defineActor, type TypedKind } from "../../actors/system/definition.ts";
import type { ActorLimits } from "../../actors/system/limits.ts";
import { createActorSystem } from "../../actors/system/runtime.ts";
import { nodeTimers } from "../../node/keeping/node-timers.ts";
import type { ActorStore } from "../../storage/actor-store.ts";

export interface Added {
  readonly type: "added";
  readonly by: number;
}

interface CounterProtocol {
  add(command: { readonly by: number }): number;
}

interface CounterProtocols {
  readonly "durable-counter": CounterProtocol;
  readonly "memory-counter": CounterProtocol;
}

export const add = { type: "add", by: 1 } as const;

export const counterMachine = setup({
  types: { context: {} as { readonly n: number }, events: {} as Added },
}).createMachine({
  id: "counter",
  context: () => ({ n: 0 }),
  on: { added: { actions: assign({ n: ({ context, event }) => context.n + event.by }) } },
});

const counterKind = {
  schemaVersion: 1,
  machine: counterMachine,
  input: () => ({}),
  decide: {
    add: ({ by }, view) => ({ reply: view.snapshot.context.n + by, events: [{ type: "added", by }] }),
  },
  effects: {},
} satisfies Omit<TypedKind<string, CounterProtocol, typeof counterMachine>, "kind" | "durability">;

export function counterSystem(store: ActorStore, limits: Partial<ActorLimits> = {}) {
  return createActorSystem<CounterProtocols>({
    store,
    definitions: [
      defineActor<"durable-counter", typeof counterMachine, CounterProtocols>({
        ...counterKind,
        kind: "durable-counter",
        durability: "journal",
      }),
      defineActor<"memory-counter", typeof counterMachine, CounterProtocols>({
        ...counterKind,
        kind: "memory-counter",
        durability: "memory",
      }),
    ],
    activities: {},
    clock: { now: Date.now },
    timers: nodeTimers,
    entropy: { newOperationId: randomUUID },
    owner: `bench/${process.pid}`,
    limits,
    log: ({ level, event, actor, detail }) => console.error(`${level} ${event} ${actor}: ${detail}`),
  });
}

export function durableRef(id: string): ActorRef<"durable-counter"> {
  return { kind: "durable-counter", id };
}
