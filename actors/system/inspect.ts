// An operator's view of one actor (A10): the machine's own state, and the reasons why it waits. It wakes nothing.

import { type ActorHead, type ActorRef, type ActorStore, rowTable } from "../../storage/actor-store.ts";
import type { Activation } from "./activation.ts";
import type { ActorState } from "./actor-state.ts";
import type { ActorReport, Effect } from "./definition.ts";
import { parseOutbox, rebuildState } from "./journal.ts";
import type { ActorLimits } from "./limits.ts";
import type { MachineDriver } from "./machine-driver.ts";
import type { CrashCase } from "./supervision.ts";

/** Maximum number of rows that a report reads from each table. */
const reportRowsMax = 1_000;

export function reportActive(activation: Activation, limits: ActorLimits): ActorReport {
  const { ref, state, outbox } = activation;
  const pending = [...(outbox?.pending.values() ?? [])].map(({ seq, effect, attempts, lastError }) => ({
    seq,
    to: targetOf(effect),
    attempts,
    lastError,
  }));
  if (state === null) return emptyReport(ref, "active");
  return { ...describeState(ref, state, limits), status: "active", outbox: pending, failure: null };
}

/** The report of an actor that is not in memory; null if it never existed. */
export async function reportStored(
  ref: ActorRef,
  options: {
    readonly store: ActorStore;
    readonly driver: MachineDriver;
    readonly limits: ActorLimits;
    readonly crash: CrashCase | undefined;
    readonly nowMs: number;
  },
): Promise<ActorReport | null> {
  const { store, driver, limits, nowMs } = options;
  const resting = options.crash;
  const isOut = resting !== undefined && (resting.quarantined || nowMs < resting.restartAtMs);
  const crash = isOut ? resting : undefined;
  const status = crash === undefined ? "passive" : crash.quarantined ? "quarantined" : "backing_off";
  const head = driver.definition.durability === "journal" ? await store.readHead(ref) : null;
  if (head === null) return crash === undefined ? null : { ...emptyReport(ref, status), ...failureOf(crash) };
  const rows = await store.readRows(ref, [
    { rt: rowTable.event, after: { k: head.snapshotSeq, k2: "\uffff" }, limit: reportRowsMax },
    { rt: rowTable.outbox, limit: reportRowsMax },
    { rt: rowTable.timer, limit: reportRowsMax },
  ]);
  const of = (rt: number) => rows.filter((row) => row.rt === rt);
  const outbox = parseOutbox(of(rowTable.outbox), nowMs).map(({ seq, effect }) => ({
    seq,
    to: targetOf(effect),
    attempts: 0,
    lastError: null,
  }));
  try {
    const context = { nowMs, lastEventsMax: limits.lastEventsMax };
    const stored = { head, events: of(rowTable.event), outbox: [], timers: of(rowTable.timer), inbox: [] };
    const state = rebuildState(driver, ref.id, stored, context);
    const report = { ...describeState(ref, state, limits), status, outbox, failure: null } as const;
    return crash === undefined ? report : { ...report, ...failureOf(crash) };
  } catch (error) {
    return {
      ...unreadable(ref, head, error),
      status,
      outbox,
      ...(crash === undefined ? {} : failureOf(crash)),
    };
  }
}

function describeState(
  ref: ActorRef,
  state: ActorState,
  limits: ActorLimits,
): Omit<ActorReport, "status" | "outbox" | "failure"> {
  return {
    ref,
    state: state.snapshot.value,
    context: state.snapshot.context,
    epoch: state.epoch,
    head: state.head,
    timers: [...state.timers.values()].map(({ id, dueMs, event }) => ({ id, dueMs, event: event.type })),
    lastEvents: state.recent.slice(-limits.lastEventsMax),
  };
}

function failureOf(crash: CrashCase): Pick<ActorReport, "failure" | "lastEvents"> {
  return { failure: crash.failure, lastEvents: crash.lastEvents };
}

function unreadable(ref: ActorRef, head: ActorHead, error: unknown): ActorReport {
  const failure = error instanceof Error ? error.message : String(error);
  return { ...emptyReport(ref, "passive"), epoch: head.epoch, head: head.head, failure };
}

function emptyReport(ref: ActorRef, status: ActorReport["status"]): ActorReport {
  return {
    ref,
    status,
    state: null,
    context: null,
    epoch: 0,
    head: 0,
    timers: [],
    outbox: [],
    lastEvents: [],
    failure: null,
  };
}

function targetOf(effect: Effect): string {
  return effect.kind === "tell" ? `${effect.to.kind}/${effect.to.id}` : effect.name;
}
