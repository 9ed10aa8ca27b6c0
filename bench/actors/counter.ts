// The smallest possible actor, as a journaled and as an in-memory kind: its cost is the cost of the system.

import { assign, setup } from "xstate";
import type { ActorRef } from "../../actors/messages/refs.ts";
import { defineActor, type TypedKind } from "../../actors/system/definition.ts";

export interface Added {
  readonly type: "added";
  readonly by: number;
}

interface CounterProtocol {
  add(command: { readonly by: number }): number;
}

export interface CounterProtocols {
  readonly "durable-counter": CounterProtocol;
  readonly "memory-counter": CounterProtocol;
}

export const add = { type: "add", by: 1 } as const;

export function durableRef(id: string): ActorRef<"durable-counter"> {
  return { kind: "durable-counter", id };
}

export function memoryRef(id: string): ActorRef<"memory-counter"> {
  return { kind: "memory-counter", id };
}

export const counterMachine = setup({
  types: { context: {} as { readonly n: number }, events: {} as Added },
}).createMachine({
  id: "counter",
  context: () => ({ n: 0 }),
  on: { added: { actions: assign({ n: ({ context, event }) => context.n + event.by }) } },
});

type Kind<K extends string> = TypedKind<K, CounterProtocol, typeof counterMachine>;

const counterKind: Omit<Kind<string>, "kind" | "durability"> = {
  schemaVersion: 1,
  machine: counterMachine,
  input: () => ({}),
  decide: {
    add: ({ by }, view) => ({ reply: view.snapshot.context.n + by, events: [{ type: "added", by }] }),
  },
  effects: {},
};

const durable: Kind<"durable-counter"> = { ...counterKind, kind: "durable-counter", durability: "journal" };
const memory: Kind<"memory-counter"> = { ...counterKind, kind: "memory-counter", durability: "memory" };

export const durableCounter = defineActor<"durable-counter", typeof counterMachine, CounterProtocols>(
  durable,
);
export const memoryCounter = defineActor<"memory-counter", typeof counterMachine, CounterProtocols>(memory);
