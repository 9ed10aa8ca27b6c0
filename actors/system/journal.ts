// The journal's codec: rows of a partition ↔ an actor's state, and a turn → one commit.
//   J1. The state rebuilt from a journal equals the state that wrote it: the snapshot, then the events after it.
//   J2. Actions that occur in a replay are ignored: their effects are rows already.
//   J3. Each commit has one event row, keyed by its last event, so that pruning up to a sequence prunes whole rows.
//   J4. Outbox sequences follow from the head, so they grow for ever, across activations and although rows are deleted.
//   J5. The first commit of an activation notes who made it, in a ring of rows: operators see the newest owners.

import type { AnyMachineSnapshot } from "xstate";
import { traceparentOf } from "../../std/tracing.ts";
import {
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type PartitionRow,
  type RowKey,
  rowTable,
  type Activation as StoredActivation,
} from "../../storage/actor-store.ts";
import type { ActorState } from "./actor-state.ts";
import type { Effect, Message } from "./definition.ts";
import { KeptRows } from "./kept-rows.ts";
import { type ActorLimits, effectsPerCommitMax } from "./limits.ts";
import type { MachineDriver } from "./machine-driver.ts";
import type { Turn } from "./turn.ts";

export interface OutboxItem {
  readonly seq: number;
  readonly effect: Effect;
  /** When it was decided, in Unix milliseconds. */
  readonly sinceMs: number;
  /** The trace of the command that caused it; null if that is not recorded. */
  readonly traceparent: string | null;
}

interface EventBody {
  /** Schema version of the events. */
  readonly v: number;
  /** When they were decided, in Unix milliseconds. */
  readonly t: number;
  /** The epoch that decided them, and the number of its commit. */
  readonly p: number;
  readonly c: number;
  readonly e: readonly Message[];
}

/** Number of activations that are remembered (J5). */
export const activationsKept = 32;

/** A row of the ring of activations (J5). */
export interface ActivationBody {
  readonly p: number;
  readonly o: string;
  /** When it first committed, in Unix milliseconds. */
  readonly t: number;
}

/** The state of an actor that has no journal. */
export function initialState(driver: MachineDriver, id: string): ActorState {
  return {
    epoch: 0,
    head: 0,
    op: "",
    seq: 0,
    snapshotSeq: 0,
    snapshot: driver.initial(id),
    timers: new Map(),
    inbox: new Map(),
    names: null,
    kept: driver.definition.keeps === undefined ? null : new KeptRows(driver.definition.keeps),
    recent: [],
  };
}

/** Rebuilds the state (J1, J2). Throws if the machine does, or if a row is invalid. */
export function rebuildState(
  driver: MachineDriver,
  id: string,
  stored: StoredActivation,
  context: { readonly nowMs: number; readonly lastEventsMax: number },
): ActorState {
  const { head } = stored;
  const state = initialState(driver, id);
  if (head.snapshot !== null) state.snapshot = driver.restore(head.snapshot, head.schemaVersion);
  state.epoch = head.epoch;
  state.head = head.head;
  state.op = head.op;
  state.snapshotSeq = head.snapshotSeq;
  state.seq = head.snapshotSeq;
  for (const row of stored.events) {
    const body = JSON.parse(row.body) as EventBody;
    if (row.k - body.e.length !== state.seq) {
      throw new Error(`events up to ${row.k} follow event ${state.seq}: the journal has a gap`);
    }
    for (const written of body.e) {
      const event = driver.upgradeEvent(written, body.v);
      if (event !== null) state.snapshot = driver.next(state.snapshot, event);
      remember(state.recent, written, context.lastEventsMax);
    }
    state.seq = row.k;
  }
  for (const row of stored.timers) {
    const body = JSON.parse(row.body) as { d: number; e: Message };
    state.timers.set(row.k2, { id: row.k2, dueMs: body.d, event: body.e });
  }
  for (const row of stored.inbox) {
    const expiresAtMs = row.expiresAtMs ?? Number.POSITIVE_INFINITY;
    if (expiresAtMs >= context.nowMs) state.inbox.set(row.k2, { seq: Number(row.body), expiresAtMs });
  }
  return state;
}

/** The effects that are kept until they are done. */
export function parseOutbox(rows: readonly PartitionRow[]): readonly OutboxItem[] {
  return rows.map((row) => parseItem(row.k, row.body));
}

/** Adds to a bounded list of the newest events. */
export function remember(recent: unknown[], event: unknown, max: number): void {
  recent.push(event);
  if (recent.length > max * 2) recent.splice(0, recent.length - max);
}

/** Assigns outbox sequences to the effects of a turn (J4). */
export function numberEffects(
  head: number,
  { effects, traces, nowMs: sinceMs }: Pick<Turn, "effects" | "traces" | "nowMs">,
): readonly OutboxItem[] {
  if (effects.length > effectsPerCommitMax) throw new Error(`${effects.length} effects in one commit`);
  return effects.map((effect, index) => ({
    seq: (head + 1) * effectsPerCommitMax + index,
    effect,
    sinceMs,
    traceparent: traces[index] ?? null,
  }));
}

export interface CommitParts {
  readonly ref: ActorRef;
  readonly op: string;
  readonly nowMs: number;
  readonly limits: ActorLimits;
  /** The new outbox items; see {@link numberEffects}. */
  readonly items: readonly OutboxItem[];
  /** The sequences of outbox rows that are settled. */
  readonly settled: readonly number[];
  /** Whether outbox rows remain after the commit, or the actor is to be forgotten: it is woken if this node dies. */
  readonly mustWake: boolean;
  /** The node incarnation that commits, with the first commit of its activation; null with every later one (J5). */
  readonly newOwner: string | null;
}

/** The one commit that makes a turn true (A2). */
export function buildCommit(
  driver: MachineDriver,
  state: ActorState,
  turn: Turn,
  parts: CommitParts,
): ActorCommit {
  const { ref, op, nowMs, limits } = parts;
  const puts: PartitionRow[] = [];
  const deletes: RowKey[] = [];
  const { events } = turn;
  if (events.length > 0) {
    const about = `"v":${driver.definition.schemaVersion},"t":${nowMs},"p":${state.epoch},"c":${state.head + 1}`;
    const body = `{${about},"e":${JSON.stringify(events)}}`;
    puts.push({ rt: rowTable.event, k: state.seq + events.length, k2: "", body });
  }
  if (parts.newOwner !== null) puts.push(activationRow(state.epoch, parts.newOwner, nowMs));
  for (const item of parts.items) {
    puts.push({ rt: rowTable.outbox, k: item.seq, k2: "", body: formatItem(item) });
  }
  for (const seq of parts.settled) deletes.push({ rt: rowTable.outbox, k: seq, k2: "" });
  for (const [id, timer] of turn.timers ?? []) {
    if (timer !== null)
      puts.push({
        rt: rowTable.timer,
        k: 0,
        k2: id,
        body: JSON.stringify({ d: timer.dueMs, e: timer.event }),
      });
    else if (state.timers.has(id)) deletes.push({ rt: rowTable.timer, k: 0, k2: id });
  }
  for (const [sender, heard] of turn.inbox ?? []) {
    const { expiresAtMs } = heard;
    puts.push({ rt: rowTable.inbox, k: 0, k2: sender, body: String(heard.seq), expiresAtMs });
  }
  turn.rows?.collect(puts, deletes);
  if (turn.claims.size > 0 && state.names !== null)
    puts.push(state.names.row([...turn.claims.values()], nowMs));
  const wakeAtMs = wakeTime(state, turn, parts.mustWake ? nowMs + limits.outboxWakeMs : null);
  const { epoch, head: expectedHead, op: expectedOp } = state;
  const commit = { ref, epoch, expectedHead, expectedOp, op, puts, deletes, wakeAtMs };
  if (state.seq - state.snapshotSeq < limits.snapshotEveryEvents) return commit;
  // This is the state before this turn: the turn's events stay in the journal, so an operator always finds the latest ones there.
  const body = driver.persist(state.snapshot);
  assertContextSize(body, ref, limits.contextBytesMax);
  return { ...commit, snapshot: { seq: state.seq, body, schemaVersion: driver.definition.schemaVersion } };
}

/** The commit after which there is no such actor. */
export function buildForgetting(
  { epoch, head, op: expectedOp }: ActorState,
  ref: ActorRef,
  op: string,
): ActorCommit {
  const fence = { epoch, expectedHead: head, expectedOp };
  return { ref, ...fence, op, puts: [], deletes: [], wakeAtMs: null, forget: true };
}

/** Number of senders remembered in memory above which expired ones are removed. */
const inboxSweepSize = 1_024;

/** Updates the state to what an applied commit left. */
export function applyTurn(state: ActorState, turn: Turn, lastEventsMax: number): void {
  state.snapshot = turn.snapshot;
  state.seq += turn.events.length;
  for (const event of turn.events.slice(-lastEventsMax)) remember(state.recent, event, lastEventsMax);
  for (const [id, timer] of turn.timers ?? []) {
    if (timer === null) state.timers.delete(id);
    else state.timers.set(id, timer);
  }
  if (turn.claims.size > 0) state.names?.add([...turn.claims.values()], turn.nowMs);
  if (state.kept !== null) turn.rows?.keep(state.kept);
  if (turn.inbox === null) return;
  for (const [sender, heard] of turn.inbox) state.inbox.set(sender, heard);
  if (state.inbox.size % inboxSweepSize !== 0) return;
  for (const [sender, heard] of state.inbox) if (heard.expiresAtMs < turn.nowMs) state.inbox.delete(sender);
}

/** The earliest of `outboxWakeMs` and the timers that remain after the turn; null for never. */
function wakeTime(state: ActorState, turn: Turn, outboxWakeMs: number | null): number | null {
  let earliest = outboxWakeMs ?? Number.POSITIVE_INFINITY;
  for (const [id, timer] of state.timers) {
    if (turn.timers?.has(id) !== true && timer.dueMs < earliest) earliest = timer.dueMs;
  }
  for (const timer of turn.timers?.values() ?? []) {
    if (timer !== null && timer.dueMs < earliest) earliest = timer.dueMs;
  }
  return earliest === Number.POSITIVE_INFINITY ? null : earliest;
}

/** The ring has one row for each remainder, so a new activation replaces the oldest (J5). */
function activationRow(epoch: number, owner: string, nowMs: number): PartitionRow {
  const body: ActivationBody = { p: epoch, o: owner, t: nowMs };
  return { rt: rowTable.activation, k: epoch % activationsKept, k2: "", body: JSON.stringify(body) };
}

function formatItem({ effect, sinceMs: t, traceparent }: OutboxItem): string {
  const common = traceparent === null ? { t } : { t, tp: traceparent };
  return effect.kind === "tell"
    ? JSON.stringify({ to: effect.to, m: effect.message, ...common })
    : JSON.stringify({ a: effect.name, p: effect.params, ...common });
}

type WrittenEffect = { to: ActorRef; m: Message } | { a: string; p: unknown };

function parseItem(seq: number, body: string): OutboxItem {
  const written = JSON.parse(body) as WrittenEffect & { t: number; tp?: string };
  const { t: sinceMs, tp } = written;
  return { seq, effect: effectOf(written), sinceMs, traceparent: traceparentOf(tp) };
}

function effectOf(written: WrittenEffect): Effect {
  if ("a" in written) return { kind: "activity", name: written.a, params: written.p };
  return { kind: "tell", to: written.to, message: written.m };
}

const encoder = new TextEncoder();

function assertContextSize(body: string, ref: ActorRef, bytesMax: number): void {
  // A UTF-16 unit is at most three bytes of UTF-8, so most snapshots can be accepted without encoding them.
  if (body.length * 3 <= bytesMax) return;
  const bytes = encoder.encode(body).length;
  if (bytes > bytesMax)
    throw new Error(`snapshot of ${ref.kind}/${ref.id} has ${bytes} bytes, at most ${bytesMax}`);
}

// Reads the journal of an actor for operators: event by event, with the state before and after each, as the pure machine makes it
// from the kept snapshot. It claims nothing and changes nothing.
//   JW1. A walk reads in pages and lets others run between them, so a long journal neither blocks the node nor fills its memory.
//   JW2. Events that the snapshot contains are pruned: a walk begins after them, and says so.
//   JW3. A snapshot or event that this release cannot read leaves the states unknown; the events are shown as they were written.
//   JW4. A walk may begin at any event whose state is known from an earlier one; one that was pruned meanwhile begins at the snapshot.

/** Number of rows in one read of a walk (JW1). */
const rowsPerRead = 500;
/** A journal that is pruned while it is read is read again this often. */
const looksMax = 5;

/** One event, as it was written, with the states around it; both are null where they are unknown (JW3). */
export interface WalkedEvent {
  readonly seq: number;
  readonly atMs: number;
  /** The number of its commit and the epoch that made it. */
  readonly commit: number;
  readonly epoch: number;
  readonly event: Message;
  readonly before: AnyMachineSnapshot | null;
  readonly after: AnyMachineSnapshot | null;
}

export interface Walk {
  readonly head: ActorHead;
  /** The last event that was pruned, and so the first state that is known; 0 if nothing was (JW2). */
  readonly prunedUpTo: number;
  /** The state after the last event that was walked; null if unknown. */
  readonly end: AnyMachineSnapshot | null;
  readonly endSeq: number;
  /** Why states are unknown; null if they are known. */
  readonly unreadable: string | null;
}

export interface KnownState {
  readonly seq: number;
  readonly snapshot: AnyMachineSnapshot;
}

export interface WalkOptions {
  readonly store: ActorStore;
  readonly driver: MachineDriver;
  /** Where it begins, from what the actor's head is (JW4); by default at the snapshot. */
  readonly from?: (head: ActorHead) => KnownState | null;
  /** Yields to the event loop (JW1). */
  readonly pause: () => Promise<void>;
  /** Called for each event in order; the walk ends when it returns false. */
  readonly visit: (event: WalkedEvent) => boolean;
  /** Called before a walk begins again because the journal was pruned meanwhile. */
  readonly again?: () => void;
}

/** Walks the journal; null for an actor that never existed. Throws the store's error, and an Error if it changes too fast. */
export async function walkJournal(ref: ActorRef, options: WalkOptions): Promise<Walk | null> {
  for (let look = 0; look < looksMax; look += 1) {
    const head = await options.store.readHead(ref);
    if (head === null) return null;
    const walk = await walkFrom(ref, head, options);
    if (walk !== null) return walk;
    options.again?.();
  }
  throw new Error(`${ref.kind}/${ref.id} prunes its journal faster than it can be read`);
}

/** The activations that are remembered, the newest first. */
export async function readActivations(store: ActorStore, ref: ActorRef): Promise<readonly ActivationBody[]> {
  const rows = await store.readRows(ref, [{ rt: rowTable.activation, limit: activationsKept }]);
  return rows.map(({ body }) => JSON.parse(body) as ActivationBody).sort((a, b) => b.p - a.p);
}

interface Step {
  snapshot: AnyMachineSnapshot | null;
  unreadable: string | null;
  seq: number;
}

/** Returns null if the journal was pruned beyond `head` meanwhile. */
async function walkFrom(ref: ActorRef, head: ActorHead, options: WalkOptions): Promise<Walk | null> {
  const { store, driver, pause } = options;
  const known = options.from?.(head) ?? null;
  const step: Step = known === null ? firstStep(ref, head, driver) : { ...known, unreadable: null };
  let isOn = true;
  for (let k = step.seq; isOn; ) {
    const after = { k, k2: "\uffff" };
    const rows = await store.readRows(ref, [{ rt: rowTable.event, after, limit: rowsPerRead }]);
    for (const row of rows) {
      const body = JSON.parse(row.body) as EventBody;
      if (row.k - body.e.length > step.seq) return null;
      isOn = walkRow(row.k, body, step, options);
      if (!isOn) break;
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < rowsPerRead) break;
    k = last.k;
    await pause();
  }
  const { snapshot: end, seq: endSeq, unreadable } = step;
  return { head, prunedUpTo: head.snapshotSeq, end, endSeq, unreadable };
}

function firstStep(ref: ActorRef, head: ActorHead, driver: MachineDriver): Step {
  const step: Step = { snapshot: null, unreadable: null, seq: head.snapshotSeq };
  attempt(step, () =>
    head.snapshot === null ? driver.initial(ref.id) : driver.restore(head.snapshot, head.schemaVersion),
  );
  return step;
}

function walkRow(k: number, body: EventBody, step: Step, { driver, visit }: WalkOptions): boolean {
  for (const [index, event] of body.e.entries()) {
    const seq = k - body.e.length + 1 + index;
    if (seq <= step.seq) continue;
    const { snapshot: before } = step;
    if (before !== null) attempt(step, () => advance(driver, before, event, body.v));
    step.seq = seq;
    const { c: commit, p: epoch, t: atMs } = body;
    if (!visit({ seq, atMs, commit, epoch, event, before, after: step.snapshot })) return false;
  }
  return true;
}

function advance(
  driver: MachineDriver,
  snapshot: AnyMachineSnapshot,
  written: Message,
  version: number,
): AnyMachineSnapshot {
  if (version > driver.definition.schemaVersion)
    throw new Error(`${driver.definition.kind}: events of version ${version} are not known here`);
  const event = driver.upgradeEvent(written, version);
  return event === null ? snapshot : driver.next(snapshot, event);
}

function attempt(step: Step, run: () => AnyMachineSnapshot): void {
  try {
    step.snapshot = run();
  } catch (error) {
    step.snapshot = null;
    step.unreadable ??= error instanceof Error ? error.message : String(error);
  }
}
