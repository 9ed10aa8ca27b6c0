// A machine as data, from the very machine that runs: enough to draw its statechart.

import type { AnyStateMachine, StateNode } from "xstate";

export interface ChartState {
  /** The id of the state in its machine, such as `push.working.step.queued`. */
  readonly id: string;
  /** The path of keys from the root, such as `working.step.queued`; empty for the root. */
  readonly path: string;
  readonly key: string;
  readonly type: "atomic" | "compound" | "parallel" | "final" | "history";
  /** Key of the state that is entered first; null where there is none. */
  readonly initial: string | null;
  readonly entry: readonly string[];
  readonly exit: readonly string[];
  readonly states: readonly ChartState[];
}

export interface ChartTransition {
  /** Paths of the states, as in {@link ChartState.path}. */
  readonly from: string;
  /** Empty for a transition that leaves the state as it is. */
  readonly to: readonly string[];
  /** The event's type; empty for a transition that is taken at once. */
  readonly event: string;
  /** Name or milliseconds of the delay after which it is taken; null for other transitions. */
  readonly delay: string | null;
  readonly guard: string | null;
  readonly actions: readonly string[];
  /** Whether the state is left and entered again. */
  readonly reenters: boolean;
}

export interface Chart {
  readonly root: ChartState;
  readonly transitions: readonly ChartTransition[];
  /** The types of all events that the machine takes from outside, in order. */
  readonly events: readonly string[];
}

export function chartOf(machine: AnyStateMachine): Chart {
  const transitions: ChartTransition[] = [];
  const root = stateOf(machine.root, transitions);
  const events = new Set(transitions.map(({ event }) => event));
  const outer = [...events].filter((event) => event !== "" && !event.startsWith("xstate."));
  return { root, transitions, events: outer.sort() };
}

/** The paths of the states that are entered in `value` and have no states of their own, in order. */
export function leavesOf(value: unknown, above = ""): readonly string[] {
  if (typeof value === "string") return [above === "" ? value : `${above}.${value}`];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([key, below]) =>
    leavesOf(below, above === "" ? key : `${above}.${key}`),
  );
}

function stateOf(node: StateNode, transitions: ChartTransition[]): ChartState {
  const path = pathOf(node);
  const all = [...node.transitions.values()].flat().concat(node.always ?? []);
  for (const { eventType, target, guard, actions, reenter } of all)
    transitions.push({
      from: path,
      to: (target ?? []).map(pathOf),
      event: eventType,
      delay: delayOf(eventType, node.id),
      guard: guard === undefined ? null : nameOf(guard),
      actions: actions.map(nameOf),
      reenters: reenter,
    });
  return {
    id: node.id,
    path,
    key: node.key,
    type: node.type,
    initial: node.config.initial === undefined ? null : String(node.config.initial),
    entry: node.entry.map(nameOf),
    exit: node.exit.map(nameOf),
    states: Object.values(node.states).map((child) => stateOf(child, transitions)),
  };
}

function pathOf(node: StateNode): string {
  return node.path.join(".");
}

/** XState names the event of a delay `xstate.after.<delay>.<id of the state>`. */
function delayOf(event: string, stateId: string): string | null {
  const before = "xstate.after.";
  if (!event.startsWith(before)) return null;
  const rest = event.slice(before.length);
  return rest.endsWith(`.${stateId}`) ? rest.slice(0, -stateId.length - 1) : rest;
}

/** The name of an action or guard; one without a name says what it is. */
function nameOf(what: unknown): string {
  if (typeof what === "string") return what;
  if (typeof what === "object" && what !== null && "type" in what) {
    const params = "params" in what && typeof what.params === "object" ? what.params : null;
    return params === null ? String(what.type) : `${what.type} ${JSON.stringify(params)}`;
  }
  if (typeof what === "function") return what.name === "" ? "inline" : what.name;
  return "inline";
}
