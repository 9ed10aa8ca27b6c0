// The smallest actor there is, as a journaled and as an in-memory kind: what it costs is what the system costs.

import { assign, setup } from "xstate";
import type { ActorDefinition, ActorView, Decision, Message } from "../../actors/system/definition.ts";

export interface Added extends Message {
  readonly type: "added";
  readonly by: number;
}

export interface Add extends Message {
  readonly type: "add";
  readonly by: number;
}

export const counterMachine = setup({
  types: { context: {} as { readonly n: number }, events: {} as Added },
}).createMachine({
  id: "counter",
  context: () => ({ n: 0 }),
  on: { added: { actions: assign({ n: ({ context, event }) => context.n + event.by }) } },
});

function decide(command: Add, view: ActorView): Decision<number> {
  const { n } = view.snapshot.context as { readonly n: number };
  const event: Added = { type: "added", by: command.by };
  return { reply: n + command.by, events: [event] };
}

function counterKind(kind: string, durability: "journal" | "memory"): ActorDefinition<Add, number> {
  return {
    kind,
    schemaVersion: 1,
    machine: counterMachine,
    durability,
    input: () => ({}),
    decide,
    effects: {},
  };
}

export const durableCounter: ActorDefinition<Add, number> = counterKind("durable-counter", "journal");
export const memoryCounter: ActorDefinition<Add, number> = counterKind("memory-counter", "memory");
