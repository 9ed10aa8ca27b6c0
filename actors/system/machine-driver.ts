// Runs the machine of one actor kind as a pure function: (snapshot, event) → snapshot and collected actions.
//   M1. One inert scope is reused for every run, so a run starts nothing, sends nothing and reads no clock.
//   M2. A machine that could do more (invoke, spawn, functions with effects) is refused when it is registered.
//   M3. A delayed event has an id and a delay in milliseconds; a delay name without a value is an error, whereas
//       XState would take the transition at once.
//   M4. A context given as one object in the machine's configuration is shared by all its actors, so it is frozen.
//   M5. A run tells whether the machine took its event. XState reports the transitions of each microstep for inspection anyway, so
//       this costs no second look at the guards; the first microstep is that of the event itself.
//   M6. Where none of the states that the machine is in has an eventless transition, those with candidate transitions for an event
//       contain one another, and the first candidate whose guard holds, from the innermost state outwards, has no target and only
//       assignments and effects for actions, the driver runs these actions itself. What XState computes besides (states to leave and to
//       enter, what follows from the new context, the state's value and tags) can only be what it was. Everything else goes to XState,
//       also an event for which no guard holds.
// XState's public `transition()` makes an actor, a system and a scope for each call. With one scope for all of them, the machine
// of a business handles 234,000 events a second, compared with 17,000 by `transition()` (one thread of a shared core), and every
// event of every actor passes through here. The scope is internal to XState, so a test compares the driver with `transition()`
// over random events of every machine, for exactly the release of XState that is installed (actors/machines.property.test.ts).

import type {
  AnyMachineSnapshot,
  AnyStateMachine,
  EventObject,
  ExecutableActionObject,
  MachineContext,
  StateNode,
  TransitionDefinition,
} from "xstate";
import { type ActorScope, inertScope } from "../../machines/runs/inert-scope.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { ActorDefinition, Message } from "./definition.ts";

/** Sets of states whose short ways are remembered; those of any other are found again (M6). */
const configurationsMax = 1_000;
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
  readonly #collected: RequestedAction[] = [];
  /** By the ids of the states that a machine is in. */
  readonly #configurations = new BoundedMap<string, ShortWays>(configurationsMax);
  /** The same by the list of states in a snapshot, which its successors share. */
  readonly #waysOf = new WeakMap<readonly StateNode[], ShortWays>();
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
    const candidates = this.#shortWays(snapshot._nodes).get(event.type);
    const chosen = candidates?.find(
      ({ guard }) => guard === null || guard({ context: snapshot.context, event }),
    );
    if (chosen?.actions) return this.#goShort(snapshot, event, chosen.actions);
    return alive(this.#machine.transition(snapshot, event, this.#scope));
  }

  /** M6. */
  #goShort(
    snapshot: AnyMachineSnapshot,
    event: Message,
    actions: readonly ShortAction[],
  ): AnyMachineSnapshot {
    const { self, system } = this.#scope;
    let context: object = snapshot.context;
    for (const { name, params: given, assignment } of actions) {
      const params = typeof given === "function" ? given({ context, event }) : given;
      if (assignment === null) this.#collected.push({ type: name, params });
      else context = assigned(assignment, { context, event, self, system, spawn: refuseSpawn }, params);
    }
    this.#hasTaken = true;
    return context === snapshot.context ? snapshot : { ...snapshot, context };
  }

  #shortWays(states: readonly StateNode[]): ShortWays {
    const known = this.#waysOf.get(states);
    if (known !== undefined) return known;
    const ids = states.map(({ id }) => id).join("\n");
    let ways = this.#configurations.get(ids);
    if (ways === undefined) {
      ways = findShortWays(states, this.#machine.implementations);
      this.#configurations.set(ids, ways);
    }
    this.#waysOf.set(states, ways);
    return ways;
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

// Short ways (M6): what XState would do of these is in `resolveAssign` and `resolveAndExecuteActionsWithContext`.

type RequestedAction = Pick<ExecutableActionObject, "type" | "params">;

/** An assignment or, where that is null, an effect. */
interface ShortAction {
  readonly name: string;
  /** What the action gets, or a function that makes it of context and event. */
  readonly params: unknown;
  readonly assignment: Assignment | null;
}

type Assignment = ((args: AssignArgs, params: unknown) => object) | Readonly<Record<string, unknown>>;

/** What XState hands to an assignment. */
interface AssignArgs extends Pick<ActorScope, "self" | "system"> {
  readonly context: object;
  readonly event: Message;
  readonly spawn: () => never;
}

interface Candidate {
  /** Null for one that is always chosen. */
  readonly guard: ((args: GuardArgs) => boolean) | null;
  /** Null where XState is to choose. */
  readonly actions: readonly ShortAction[] | null;
}

type GuardArgs = Pick<AssignArgs, "context" | "event">;
type Implementations = Readonly<Record<"actions" | "guards", Readonly<Record<string, unknown>>>>;

/** By the type of an event, in the order in which XState tries them. */
type ShortWays = ReadonlyMap<string, readonly Candidate[]>;

function findShortWays(states: readonly StateNode[], implementations: Implementations): ShortWays {
  const ways = new Map<string, readonly Candidate[]>();
  const types = new Set(states.flatMap((state) => [...state.transitions.keys()]));
  const hasWildcards = [...types].some((type) => type.includes("*"));
  if (hasWildcards || states.some(({ always }) => always !== undefined && always.length > 0)) return ways;
  for (const type of types) {
    const having = states
      .filter((state) => state.transitions.has(type))
      .sort((a, b) => b.path.length - a.path.length);
    const areNested = having.every((state, at) => at === 0 || isWithin(having[at - 1], state));
    if (!areNested || isReservedName(type)) continue;
    const candidates = having
      .flatMap((state) => state.transitions.get(type) ?? [])
      .map((transition) => toCandidate(transition, implementations));
    if (candidates.some(({ actions }) => actions !== null)) ways.set(type, candidates);
  }
  return ways;
}

function isWithin(inner: StateNode | undefined, outer: StateNode): boolean {
  for (let state = inner; state !== undefined; state = state.parent) if (state === outer) return true;
  return false;
}

type Transition = Pick<TransitionDefinition<MachineContext, EventObject>, "target" | "guard" | "actions">;

function toCandidate({ target, guard, actions }: Transition, implementations: Implementations): Candidate {
  const evaluate = guard === undefined ? null : toGuard(guard, implementations.guards);
  if (evaluate === undefined) return { guard: null, actions: null };
  const short = actions.map((action) => toShortAction(action, implementations.actions));
  // Without actions the transition forbids the event instead of taking it (M5).
  const isShort = target === undefined && short.length > 0 && short.every((action) => action !== null);
  return { guard: evaluate, actions: isShort ? short : null };
}

/** Undefined for a guard that is made of others. */
function toGuard(
  guard: unknown,
  implementations: Readonly<Record<string, unknown>>,
): NonNullable<Candidate["guard"]> | undefined {
  const name = nameOf(guard);
  const judge = name === null ? guard : implementations[name];
  if (typeof judge !== "function" || "check" in judge) return undefined;
  const given = typeof guard === "object" && guard !== null && "params" in guard ? guard.params : undefined;
  return (args) => Boolean(judge(args, typeof given === "function" ? given(args) : given));
}

function toShortAction(
  action: unknown,
  implementations: Readonly<Record<string, unknown>>,
): ShortAction | null {
  const name = nameOf(action);
  if (typeof action === "function") return toAssignment(action, "", undefined);
  if (name === null) return null;
  const params =
    typeof action === "object" && action !== null && "params" in action ? action.params : undefined;
  const implementation = implementations[name];
  return isBuiltIn(implementation)
    ? toAssignment(implementation, name, params)
    : { name, params, assignment: null };
}

function toAssignment(action: unknown, name: string, params: unknown): ShortAction | null {
  if (typeof action !== "function" || !("type" in action) || action.type !== "xstate.assign") return null;
  if (!("assignment" in action) || !isAssignment(action.assignment)) return null;
  return { name, params, assignment: action.assignment };
}

function isAssignment(value: unknown): value is Assignment {
  return typeof value === "function" || (typeof value === "object" && value !== null);
}

function assigned(assignment: Assignment, args: AssignArgs, params: unknown): object {
  if (typeof assignment === "function") return { ...args.context, ...assignment(args, params) };
  const next: Record<string, unknown> = { ...args.context };
  for (const [key, value] of Object.entries(assignment))
    next[key] = typeof value === "function" ? value(args, params) : value;
  return next;
}

function refuseSpawn(): never {
  throw new Error("a machine of this system has no spawn");
}

/** Returns null for an action that XState has performed within the run itself. */
function toMachineAction(action: RequestedAction): MachineAction | null {
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
