// Compares the driver of the machines with XState's own functions. For tests.

import { expect } from "vitest";
import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  initialTransition,
  type StateNode,
  transition,
} from "xstate";
import type { ActorDefinition, Message } from "./system/definition.ts";
import { type MachineAction, MachineDriver } from "./system/machine-driver.ts";

/** A timer fires, of those that the machine has requested so far. */
export const timer = { type: "timer" } as const;

/** The actions of a step according to XState's public functions, in the driver's form. */
function publicActions(
  actions: readonly { readonly type: string; readonly params?: unknown }[],
): readonly unknown[] {
  return actions.flatMap((action): readonly unknown[] => {
    const params = action.params as Record<string, unknown> | undefined;
    if (action.type === "xstate.cancel") return [{ kind: "cancel", id: params?.["sendId"] }];
    if (action.type === "xstate.raise")
      return params?.["delay"] === undefined
        ? []
        : [{ kind: "schedule", id: params["id"], delayMs: params["delay"], event: params["event"] }];
    return [{ kind: "effect", name: action.type, params: action.params }];
  });
}

/** Runs both ways side by side over the same events; they must agree after each. Returns the states that were visited. */
export function compare(definition: ActorDefinition, events: readonly Message[]): ReadonlySet<string> {
  const { machine } = definition;
  const driver = new MachineDriver(definition);
  const passed = new Set<string>();
  const timers = new Map<string, Message>();
  let fast = driver.initial("x");
  let [slow, actions]: [AnyMachineSnapshot, readonly unknown[]] = firstStep(machine, definition.input("x"));
  const agree = (asked: readonly MachineAction[]): void => {
    expect(asked).toEqual(actions);
    // All that a snapshot says of itself.
    expect(Object.keys(fast)).toEqual(Object.keys(slow));
    expect([fast.value, fast.tags, fast.status]).toEqual([slow.value, slow.tags, slow.status]);
    expect(fast.toJSON()).toEqual(slow.toJSON());
    expect(driver.persist(fast)).toBe(JSON.stringify(machine.getPersistedSnapshot(slow)));
    for (const node of fast._nodes) passed.add(node.id);
    for (const each of asked) {
      if (each.kind === "schedule") timers.set(each.id, each.event);
      if (each.kind === "cancel") timers.delete(each.id);
    }
  };
  agree(driver.takeActions());
  for (const [at, said] of events.entries()) {
    // A machine that is done stays as it is (MachineDriver.next): its actor is forgotten, and takes nothing more.
    if (fast.status !== "active") break;
    const event = said === timer ? [...timers.values()].at(-1) : said;
    if (event === undefined) continue;
    const isTaken = slow.can(event);
    expect(fast.can(event)).toBe(isTaken);
    fast = driver.next(fast, event);
    expect(driver.hasTaken).toBe(isTaken);
    const [next, asked] = transition(machine, slow, event);
    [slow, actions] = [next, publicActions(asked)];
    agree(driver.takeActions());
    // A state that was stored and restored continues in the same way, and so does one that was not.
    if (at % 2 === 1) fast = driver.restore(driver.persist(fast), definition.schemaVersion);
  }
  return passed;
}

function firstStep(machine: AnyStateMachine, input: unknown): [AnyMachineSnapshot, readonly unknown[]] {
  const [snapshot, actions] = initialTransition(machine, input);
  return [snapshot, publicActions(actions)];
}

/** Ids of the states in which a machine can rest: those without substates that are not left as soon as they are entered. */
export function restingStates(definition: ActorDefinition): readonly string[] {
  const found: string[] = [];
  const visit = (node: StateNode): void => {
    const children = Object.values(node.states);
    for (const child of children) visit(child);
    const isLeft = node.always?.some(({ guard }) => guard === undefined) ?? false;
    if (children.length === 0 && !isLeft) found.push(node.id);
  };
  visit(definition.machine.root);
  return found.sort();
}
