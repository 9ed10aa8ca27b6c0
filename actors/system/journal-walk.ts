// Reads the journal of an actor for operators: event by event, with the state before and after each, as the pure machine makes it
// from the kept snapshot. It claims nothing and changes nothing.
//   JW1. A walk reads in pages and lets others run between them, so a long journal neither blocks the node nor fills its memory.
//   JW2. Events that the snapshot contains are pruned: a walk begins after them, and says so.
//   JW3. A snapshot or event that this release cannot read leaves the states unknown; the events are shown as they were written.
//   JW4. A walk may begin at any event whose state is known from an earlier one; one that was pruned meanwhile begins at the snapshot.

import type { AnyMachineSnapshot } from "xstate";
import { type ActorHead, type ActorRef, type ActorStore, rowTable } from "../../storage/actor-store.ts";
import type { Message } from "./definition.ts";
import { type ActivationBody, activationsKept, type EventBody } from "./journal.ts";
import type { MachineDriver } from "./machine-driver.ts";

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

/** The state after an event. */
export interface KnownState {
  readonly seq: number;
  readonly snapshot: AnyMachineSnapshot;
}

export interface WalkOptions {
  readonly store: Pick<ActorStore, "readHead" | "readRows">;
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
export async function readActivations(
  store: Pick<ActorStore, "readRows">,
  ref: ActorRef,
): Promise<readonly ActivationBody[]> {
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
