// What operators read of an actor's past: its journal in pages, its state after any kept event, the difference between two, and
// what an event would do now. Everything is a run of the pure machine over what is stored; nothing is ever committed.
//   JR1. A machine runs only over types of events that it takes: XState remembers each type that it has seen, for ever, and a reader
//        may ask about any.

import type { AnyMachineSnapshot } from "xstate";
import type { ActorDefinition, Message } from "../../actors/system/definition.ts";
import type { Walk, WalkedEvent } from "../../actors/system/journal-walk.ts";
import { isReservedName, type MachineAction, MachineDriver } from "../../actors/system/machine-driver.ts";
import { chartOf, leavesOf } from "../../machines/chart.ts";
import type { JournalPage, StateChanges, StateThen, WhatIf } from "../../ops/inspection-shapes.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { isObject } from "../../std/is-object.ts";
import type { ActorRef, ActorStore } from "../../storage/actor-store.ts";
import { createJournalStates, type WalkJournal } from "./journal-states.ts";
import { timeOf } from "./look.ts";
import { redact } from "./redact.ts";
import { type Change, changesBetween } from "./state-changes.ts";

export type PastFault = "unknown" | "no_journal" | "seq_pruned" | "seq_unknown" | "event_invalid";

export interface JournalReads {
  journal(
    ref: ActorRef,
    page: { readonly before: number; readonly limit: number },
  ): Promise<Past<JournalPage>>;
  /** The state after event `seq`; of the newest where it is null. */
  stateAt(ref: ActorRef, seq: number | null): Promise<Past<StateThen>>;
  changes(ref: ActorRef, from: number, to: number | null): Promise<Past<StateChanges>>;
  whatIf(ref: ActorRef, event: unknown, seq: number | null): Promise<Past<WhatIf>>;
}

export type Past<T> = Result<T, PastFault>;

export interface JournalReadsDeps {
  readonly store: Pick<ActorStore, "readHead" | "readRows">;
  readonly definitions: readonly ActorDefinition[];
  readonly pause: () => Promise<void>;
}

interface Deps extends JournalReadsDeps {
  readonly walkJournal: WalkJournal;
}

interface Reader {
  readonly driver: MachineDriver;
  /** The types of the events that the machine takes, its own delayed ones among them (JR1). */
  readonly types: ReadonlySet<string>;
}

interface Point {
  readonly seq: number;
  readonly atMs: number | null;
  readonly snapshot: AnyMachineSnapshot | null;
}

export function createJournalReads(given: JournalReadsDeps): JournalReads {
  const deps: Deps = { ...given, walkJournal: createJournalStates() };
  const readers = new Map(deps.definitions.map((each) => [each.kind, readerOf(each)]));
  const reading = async <T>(ref: ActorRef, read: (reader: Reader) => Promise<Past<T>>): Promise<Past<T>> => {
    const reader = readers.get(ref.kind);
    if (reader === undefined) return refuse("unknown", "There is no such kind of actor.");
    if (reader.driver.definition.durability !== "journal")
      return refuse("no_journal", `Actors of kind ${ref.kind} have no journal.`);
    return read(reader);
  };
  return {
    journal: (ref, page) => reading(ref, ({ driver }) => readPage(deps, driver, ref, page)),
    stateAt: (ref, seq) => reading(ref, ({ driver }) => readState(deps, driver, ref, seq)),
    changes: (ref, from, to) => reading(ref, ({ driver }) => readChanges(deps, driver, ref, { from, to })),
    whatIf: (ref, event, seq) => reading(ref, (reader) => tryEvent(deps, reader, ref, { event, seq })),
  };
}

function readerOf(definition: ActorDefinition): Reader {
  const types = chartOf(definition.machine).transitions.map(({ event }) => event);
  return { driver: new MachineDriver(definition), types: new Set(types) };
}

const unknown = refuse("unknown", "This actor does not exist.");

async function readPage(
  deps: Deps,
  driver: MachineDriver,
  ref: ActorRef,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<Past<JournalPage>> {
  let walked: WalkedEvent[] = [];
  const walk = await deps.walkJournal(ref, {
    ...{ store: deps.store, pause: deps.pause, driver },
    before: before === Number.MAX_SAFE_INTEGER ? null : before - limit,
    again: () => {
      walked = [];
    },
    visit: (event) => {
      if (event.seq >= before) return false;
      if (walked.length === limit) walked.shift();
      walked.push(event);
      return true;
    },
  });
  if (walk === null) return unknown;
  const events = walked.map(toEvent);
  const first = events[0]?.seq ?? 0;
  return ok({
    ...{ kind: ref.kind, id: ref.id, head: walk.head.head, last_seq: walk.endSeq },
    ...{ pruned_up_to: walk.prunedUpTo, events, unreadable: walk.unreadable },
    next_before: first > walk.prunedUpTo + 1 ? first : null,
  });
}

function toEvent({
  seq,
  atMs,
  commit,
  epoch,
  event,
  before,
  after,
}: WalkedEvent): JournalPage["events"][number] {
  const about = { seq, at: new Date(atMs).toISOString(), commit, epoch, type: event.type };
  return { ...about, event: redact(event), from: pathsOf(before), to: pathsOf(after) };
}

async function readState(
  deps: Deps,
  driver: MachineDriver,
  ref: ActorRef,
  seq: number | null,
): Promise<Past<StateThen>> {
  const found = await pointsAt(deps, driver, ref, [seq]);
  if (!found.ok) return found;
  const { points, walk } = found.value;
  const [point] = points;
  if (point === undefined) return unknown;
  return ok({ kind: ref.kind, id: ref.id, ...toState(point), ...limitsOf(walk) });
}

async function readChanges(
  deps: Deps,
  driver: MachineDriver,
  ref: ActorRef,
  { from, to }: { readonly from: number; readonly to: number | null },
): Promise<Past<StateChanges>> {
  const found = await pointsAt(deps, driver, ref, [from, to]);
  if (!found.ok) return found;
  const { points, walk } = found.value;
  const [one, other] = points;
  if (one === undefined || other === undefined) return unknown;
  const [earlier, later] = [toState(one), toState(other)];
  return ok({
    ...{ kind: ref.kind, id: ref.id, from: earlier, to: later },
    ...differenceOf(earlier, later),
    ...limitsOf(walk),
  });
}

async function tryEvent(
  deps: Deps,
  reader: Reader,
  ref: ActorRef,
  { event, seq }: { readonly event: unknown; readonly seq: number | null },
): Promise<Past<WhatIf>> {
  if (!isObject(event) || typeof event["type"] !== "string")
    return refuse("event_invalid", "`event` must be a JSON object with a `type`.");
  // Its own delayed events are allowed: what happens when a timer ends is a question like any other.
  if (isReservedName(event["type"]) && !event["type"].startsWith("xstate.after."))
    return refuse("event_invalid", "`type` must be the name of an event.");
  const found = await pointsAt(deps, reader.driver, ref, [seq]);
  if (!found.ok) return found;
  const { points, walk } = found.value;
  const [point] = points;
  if (point === undefined) return unknown;
  const message: Message = { ...event, type: event["type"] };
  const tried = run(reader, point.snapshot, message);
  const before = toState(point);
  const after = toState({ ...point, snapshot: tried.after });
  return ok({
    ...{ kind: ref.kind, id: ref.id, event, taken: tried.taken, before, after, fault: tried.fault },
    ...{ ...differenceOf(before, after), actions: tried.actions.map(toAction), ...limitsOf(walk) },
  });
}

interface Tried {
  readonly taken: boolean;
  readonly after: AnyMachineSnapshot | null;
  readonly actions: readonly MachineAction[];
  readonly fault: string | null;
}

function run({ driver, types }: Reader, snapshot: AnyMachineSnapshot | null, event: Message): Tried {
  if (snapshot === null || !types.has(event.type))
    return { taken: false, after: snapshot, actions: [], fault: null };
  try {
    const after = driver.next(snapshot, event);
    const tried = { taken: driver.hasTaken, after, actions: driver.takeActions(), fault: null };
    const lacking = valueless(after.context, snapshot.context);
    if (lacking === null) return tried;
    const fault = `The event lacks a member: after it, ${lacking} would have no value.`;
    return { taken: false, after: snapshot, actions: [], fault };
  } catch (error) {
    const fault = error instanceof Error ? error.message.slice(0, 300) : "unknown";
    return { taken: false, after: snapshot, actions: [], fault };
  }
}

/**
 * The path of a member that has no value after an event, and had one or did not exist before it: an event of the actor itself
 * has all members that its machine reads. Null if there is none.
 */
function valueless(after: unknown, before: unknown, path = ""): string | null {
  if (after === before) return null;
  if (after === undefined || Number.isNaN(after)) return path;
  if (!isObject(after)) return null;
  for (const [name, member] of Object.entries(after)) {
    const found = valueless(
      member,
      isObject(before) ? before[name] : null,
      path === "" ? name : `${path}.${name}`,
    );
    if (found !== null) return found;
  }
  return null;
}

function toAction(action: MachineAction): WhatIf["actions"][number] {
  if (action.kind === "schedule") return { kind: action.kind, name: action.id, delay_ms: action.delayMs };
  return { kind: action.kind, name: action.kind === "cancel" ? action.id : action.name, delay_ms: null };
}

/** The states after the given events, in the same order; null stands for the newest. */
async function pointsAt(
  deps: Deps,
  driver: MachineDriver,
  ref: ActorRef,
  seqs: readonly (number | null)[],
): Promise<Past<{ readonly points: readonly Point[]; readonly walk: Walk }>> {
  const wanted = seqs.includes(null) ? Number.POSITIVE_INFINITY : Math.max(0, ...seqs.map(Number));
  let found = new Map<number, Point>();
  let lastAtMs: number | null = null;
  let start: AnyMachineSnapshot | null = null;
  const earliest = Math.min(...seqs.map((seq) => seq ?? Number.POSITIVE_INFINITY));
  const walk = await deps.walkJournal(ref, {
    ...{ store: deps.store, pause: deps.pause, driver },
    before: earliest === Number.POSITIVE_INFINITY ? null : earliest,
    again: () => {
      found = new Map();
      lastAtMs = null;
      start = null;
    },
    visit: ({ seq, atMs, before, after }) => {
      if (found.size === 0 && start === null) start = before;
      if (seqs.includes(seq)) found.set(seq, { seq, atMs, snapshot: after });
      if (seq > wanted) return false;
      lastAtMs = atMs;
      return true;
    },
  });
  if (walk === null) return unknown;
  const { prunedUpTo } = walk;
  const points: Point[] = [];
  for (const seq of seqs) {
    const beginning = {
      seq: prunedUpTo,
      atMs: null,
      snapshot: start ?? (walk.endSeq === prunedUpTo ? walk.end : null),
    };
    const newest = { seq: walk.endSeq, atMs: lastAtMs, snapshot: walk.end };
    const point = seq === null ? newest : seq === prunedUpTo ? beginning : found.get(seq);
    if (point !== undefined) points.push(point);
    else if (seq !== null && seq < prunedUpTo)
      return refuse(
        "seq_pruned",
        `Events up to ${prunedUpTo} are pruned; the state after it is the first known.`,
      );
    else return refuse("seq_unknown", `The journal has no event ${seq}; its last one is ${walk.endSeq}.`);
  }
  return ok({ points, walk });
}

function toState({
  seq,
  atMs,
  snapshot,
}: Point): Omit<StateThen, "kind" | "id" | "pruned_up_to" | "unreadable"> {
  if (snapshot === null) return { seq, at: timeOf(atMs), state: null, states: [], context: null };
  const { value, context } = snapshot;
  return { seq, at: timeOf(atMs), state: value, states: leavesOf(value), context: redact(context) };
}

function differenceOf(
  before: Pick<StateThen, "state" | "context">,
  after: Pick<StateThen, "state" | "context">,
): { readonly changes: readonly Change[]; readonly is_complete: boolean } {
  const [one, other] = [before, after].map(({ state, context }) => ({ state, context }));
  return changesBetween(one, other);
}

function limitsOf({ prunedUpTo, unreadable }: Walk): Pick<StateThen, "pruned_up_to" | "unreadable"> {
  return { pruned_up_to: prunedUpTo, unreadable };
}

function pathsOf(snapshot: AnyMachineSnapshot | null): readonly string[] | null {
  return snapshot === null ? null : leavesOf(snapshot.value);
}
