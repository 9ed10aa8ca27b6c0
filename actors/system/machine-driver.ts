// Runs the machine of one actor kind as a pure function: (snapshot, event) → snapshot and collected actions.
//   M1. One inert scope is reused for every run, so a run starts nothing, sends nothing and reads no clock.
//   M2. A machine that could do more (invoke, spawn, functions with effects) is refused when it is registered.
//   M3. A delayed event has an id and a delay in milliseconds; a delay name without a value is an error, whereas
//       XState would take the transition at once.
//   M4. A context given as one object in the machine's configuration is shared by all its actors, so it is frozen.
//   M5. A run tells whether the machine took its event. XState reports the transitions of each microstep for inspection anyway, so
//       this costs no second look at the guards; the first microstep is that of the event itself.
// XState's public `transition()` makes an actor, a system and a scope for each call. With one scope for all of them, the machine
// of a business handles 234,000 events a second, compared with 17,000 by `transition()` (one thread of a shared core), and every
// event of every actor passes through here. The scope is internal to XState, so a test compares the driver with `transition()`
// over random events of every machine, for exactly the release of XState that is installed (actors/machines.property.test.ts).

import type { AnyMachineSnapshot, AnyStateMachine, ExecutableActionObject, StateNode } from "xstate";
import { type ActorScope, inertScope } from "../../machines/runs/inert-scope.ts";
import type { ActorDefinition, Message } from "./definition.ts";

/** A machine that has not come to rest after this many microsteps never will. */
const microstepsMax = 1_000;

/** An action that the last run requested; actions are in order. */
export type MachineAction =
  | { readonly kind: "effect"; readonly name: string; readonly params: unknown }
  | { readonly kind: "schedule"; readonly id: string; readonly delayMs: number; readonly event: Message }
  | { readonly kind: "cancel"; readonly id: string };

export class MachineDriver {
  readonly definition: ActorDefinition;
  readonly #machine: AnyStateMachine;
  readonly #scope: ActorScope;
  readonly #collected: ExecutableActionObject[] = [];
  /** What the first microstep of the current run says of the run's own event; null before it. */
  #hasTaken: boolean | null = null;

  /** Throws if the machine breaks M2. */
  constructor(definition: ActorDefinition) {
    this.definition = definition;
    this.#machine = definition.machine;
    assertPureMachine(definition);
    if (definition.machine.options.maxIterations === Number.POSITIVE_INFINITY) {
      definition.machine.options.maxIterations = microstepsMax;
    }
    if (typeof definition.machine.config.context === "object") deepFreeze(definition.machine.config.context);
    this.#scope = inertScope({
      collect: (action) => this.#collected.push(action),
      inspect: ({ _transitions }) => {
        this.#hasTaken ??= _transitions.some(
          ({ target, actions }) => target !== undefined || actions.length > 0,
        );
      },
    });
  }

  /** Whether the machine has a final state, after which the actor is forgotten (K5). */
  get mayEnd(): boolean {
    return Object.values(this.#machine.root.states).some(({ type }) => type === "final");
  }

  /** True if the last run requested actions; {@link takeActions} returns them. */
  get hasActions(): boolean {
    return this.#collected.length > 0;
  }

  /** Whether the machine took the event of the last run: what `can` answers, without evaluating the guards again (M5). */
  get hasTaken(): boolean {
    return this.#hasTaken === true;
  }

  /** The initial state of a new actor. Throws whatever the machine throws. */
  initial(id: string): AnyMachineSnapshot {
    this.#collected.length = 0;
    return alive(this.#machine.getInitialSnapshot(this.#scope, this.definition.input(id)));
  }

  /** The state after `event`. A machine that is done stays unchanged. Throws whatever the machine throws. */
  next(snapshot: AnyMachineSnapshot, event: Message): AnyMachineSnapshot {
    this.#collected.length = 0;
    this.#hasTaken = null;
    if (snapshot.status !== "active") return snapshot;
    return alive(this.#machine.transition(snapshot, event, this.#scope));
  }

  /** Returns the actions that the last run requested. */
  takeActions(): readonly MachineAction[] {
    const actions: MachineAction[] = [];
    for (const action of this.#collected) {
      const meant = toMachineAction(action);
      if (meant !== null) actions.push(meant);
    }
    this.#collected.length = 0;
    return actions;
  }

  /** Returns JSON text from which {@link restore} makes the same state. */
  persist(snapshot: AnyMachineSnapshot): string {
    return JSON.stringify(this.#machine.getPersistedSnapshot(snapshot));
  }

  /** The state in `text`, which schema version `version` wrote, upgraded step by step (A9). */
  restore(text: string, version: number): AnyMachineSnapshot {
    const { definition } = this;
    if (version > definition.schemaVersion) {
      throw new Error(
        `${definition.kind}: snapshot of version ${version}, known are up to ${definition.schemaVersion}`,
      );
    }
    let persisted: unknown = JSON.parse(text);
    for (let from = version; from < definition.schemaVersion; from += 1) {
      const upgrade = definition.upgrade?.[from];
      if (upgrade === undefined) throw new Error(`${definition.kind}: no upgrade from version ${from}`);
      persisted = upgrade(persisted);
    }
    // The persisted form is what getPersistedSnapshot returned; XState has no more precise type for it.
    const snapshot = persisted as ReturnType<AnyStateMachine["getPersistedSnapshot"]>;
    return alive(this.#machine.restoreSnapshot(snapshot, this.#scope));
  }

  /** The event that version `version` wrote, as this version understands it; null if it no longer has a meaning. */
  upgradeEvent(event: Message, version: number): Message | null {
    let current: Message | null = event;
    for (let from = version; from < this.definition.schemaVersion && current !== null; from += 1) {
      const upgrade = this.definition.upgradeEvent?.[from];
      if (upgrade !== undefined) current = upgrade(current);
    }
    return current;
  }
}

/** Whether it is the name of one of XState's own events or the wildcard, which only the machine itself may use. */
export function isReservedName(type: unknown): boolean {
  return typeof type !== "string" || type === "" || type === "*" || type.startsWith("xstate.");
}

function alive(snapshot: AnyMachineSnapshot): AnyMachineSnapshot {
  if (snapshot.status !== "error") return snapshot;
  throw snapshot.error instanceof Error ? snapshot.error : new Error(String(snapshot.error));
}

/** Returns null for an action that XState has performed within the run itself. */
function toMachineAction(action: ExecutableActionObject): MachineAction | null {
  if (!action.type.startsWith("xstate.")) return { kind: "effect", name: action.type, params: action.params };
  switch (action.type) {
    case "xstate.raise": {
      const { event, id, delay } = action.params as { event: Message; id?: string; delay?: number };
      if (delay === undefined) {
        if (!event.type.startsWith("xstate.after.")) return null;
        throw new Error(`the delay of ${event.type} has no value`);
      }
      if (id === undefined) throw new Error(`the delayed event ${event.type} has no id`);
      if (!Number.isFinite(delay))
        throw new Error(`the delay of ${event.type} is not a number of milliseconds`);
      return { kind: "schedule", id, delayMs: Math.max(0, delay), event };
    }
    case "xstate.cancel":
      return { kind: "cancel", id: (action.params as { sendId: string }).sendId };
    case "xstate.log":
      return null;
    default:
      throw new Error(`a machine of this system may not use ${action.type}`);
  }
}

function assertPureMachine(definition: ActorDefinition): void {
  const { machine, kind, effects } = definition;
  const implementations: Readonly<Record<string, unknown>> = machine.implementations.actions;
  const delays = machine.implementations.delays;
  const complain = (node: StateNode, what: string): never => {
    throw new Error(`kind ${kind}, state ${node.id}: ${what}`);
  };
  const visit = (node: StateNode): void => {
    if (node.invoke.length > 0) complain(node, "machines of this system invoke nothing");
    for (const delay of Object.keys(node.config.after ?? {})) {
      if (Number.isNaN(Number(delay)) && !Object.hasOwn(delays, delay))
        complain(node, `delay ${delay} has no value`);
    }
    for (const action of actionsOf(node)) {
      const name = nameOf(action);
      if (name === null) {
        if (typeof action === "function" && !("resolve" in action))
          complain(node, "an action is an inline function");
        continue;
      }
      const builtIn = isBuiltIn(implementations[name]);
      if (!builtIn && !Object.hasOwn(effects, name))
        complain(node, `action ${name} is not among the effects`);
      if (builtIn && Object.hasOwn(effects, name))
        complain(node, `action ${name} is the machine's own and an effect`);
    }
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(machine.root);
}

function actionsOf(node: StateNode): readonly unknown[] {
  const transitions = [...node.transitions.values()].flat().concat(node.always ?? []);
  const initial = node.config.initial === undefined ? [] : node.initial.actions;
  return [
    ...node.entry,
    ...node.exit,
    ...initial,
    ...transitions.flatMap((transition) => transition.actions),
  ];
}

function nameOf(action: unknown): string | null {
  if (typeof action === "string") return action;
  if (typeof action !== "object" || action === null || !("type" in action)) return null;
  return String(action.type);
}

function isBuiltIn(implementation: unknown): boolean {
  return typeof implementation === "function" && "resolve" in implementation;
}

function deepFreeze(value: unknown): void {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return;
  Object.freeze(value);
  for (const member of Object.values(value)) deepFreeze(member);
}
