// An operator's view of one actor (A10): the machine's own state, and the reasons why it waits. It wakes nothing.

import { type ActorHead, type ActorRef, type ActorStore, rowTable } from "../../storage/actor-store.ts";
import type { Activation } from "./activation.ts";
import type { ActorState } from "./actor-state.ts";
import type { ActorGlance, ActorReport, Effect } from "./definition.ts";
import { parseOutbox, rebuildState } from "./journal.ts";
import type { ActorLimits } from "./limits.ts";
import type { MachineDriver } from "./machine-driver.ts";
import type { CrashCase } from "./supervision.ts";

/** Maximum number of rows that a report reads from each table. */
const reportRowsMax = 1_000;

/** An actor in memory, as operators see it. */
export function reportActive(activation: Activation, limits: ActorLimits, owner: string): ActorReport {
  const { ref, state, load: mailbox, driver } = activation;
  if (state === null) return { ...emptyReport(ref, "active"), mailbox };
  const claimed = driver.definition.durability === "journal" ? owner : "";
  const pending = { mailbox, owner: claimed, outbox: pendingOf(activation, reportRowsMax) };
  return { ...describeState(ref, state, limits), ...pending, status: "active", failure: null, crash: null };
}

/** Maximum number of effects in a look at an actor: those that were decided first. */
const glanceEffectsMax = 20;

/** A look at actors in memory, and at those that crashed and are not back yet. */
export function* glancesAt(
  active: readonly Activation[],
  resting: readonly CrashCase[],
): Iterable<ActorGlance> {
  for (const each of resting) yield glanceAtCase(each);
  for (const each of active) {
    if (each.isEnded) continue;
    each.look ??= new Look(each);
    yield each.look;
  }
}

class Look implements ActorGlance {
  readonly status = "active";
  readonly failure = null;
  readonly crash = null;
  readonly #activation: Activation;

  constructor(activation: Activation) {
    this.#activation = activation;
  }

  get revision(): number {
    return this.#activation.revision;
  }

  get ref(): ActorRef {
    return this.#activation.ref;
  }

  get mailbox(): number {
    return this.#activation.load;
  }

  get head(): number {
    return this.#activation.state?.head ?? 0;
  }

  get state(): unknown {
    return this.#activation.state?.snapshot.value ?? null;
  }

  get context(): unknown {
    return this.#activation.state?.snapshot.context ?? null;
  }

  get timers(): ActorGlance["timers"] {
    const { state } = this.#activation;
    return state === null ? [] : timersOf(state);
  }

  get outbox(): ActorGlance["outbox"] {
    return pendingOf(this.#activation, glanceEffectsMax);
  }
}

function glanceAtCase({ ref, quarantined, failure, crash }: CrashCase): ActorGlance {
  const status = quarantined ? "quarantined" : "backing_off";
  return { ...emptyReport(ref, status), failure, crash, revision: 0 };
}

function pendingOf({ outbox }: Activation, max: number): ActorReport["outbox"] {
  const pending: ActorReport["outbox"][number][] = [];
  for (const { seq, effect, attempts, lastError, sinceMs } of outbox?.pending.values() ?? []) {
    if (pending.length >= max) break;
    pending.push({ seq, to: targetOf(effect), attempts, lastError, sinceMs });
  }
  return pending;
}

/**
 * The report of an actor that is not in memory; null if it never existed. Its state is null, without a failure, where it has more
 * events since its snapshot than one report reads.
 */
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
  const events = of(rowTable.event);
  const outbox = parseOutbox(of(rowTable.outbox)).map(({ seq, effect, sinceMs }) => ({
    seq,
    to: targetOf(effect),
    attempts: 0,
    lastError: null,
    sinceMs,
  }));
  // What these events make is not the state that it is in: nobody is shown one that is over.
  if (events.length === reportRowsMax) {
    const { epoch, owner, head: commits } = head;
    return { ...emptyReport(ref, status), epoch, owner, head: commits, outbox, ...failureOf(crash) };
  }
  try {
    const context = { nowMs, lastEventsMax: limits.lastEventsMax };
    const stored = { head, events, outbox: [], timers: of(rowTable.timer), inbox: [] };
    const state = rebuildState(driver, ref.id, stored, context);
    const { owner } = head;
    const shown = { ...describeState(ref, state, limits), mailbox: 0, owner, outbox };
    const report = { ...shown, status, failure: null, crash: null } as const;
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
): Omit<ActorReport, "status" | "outbox" | "failure" | "crash" | "mailbox" | "owner"> {
  return {
    ref,
    state: state.snapshot.value,
    context: state.snapshot.context,
    epoch: state.epoch,
    head: state.head,
    timers: timersOf(state),
    lastEvents: state.recent.slice(-limits.lastEventsMax),
  };
}

function timersOf(state: ActorState): ActorReport["timers"] {
  return [...state.timers.values()].map(({ id, dueMs, event }) => ({ id, dueMs, event: event.type }));
}

function failureOf(crash: CrashCase | undefined): Pick<ActorReport, "failure" | "lastEvents" | "crash"> {
  return {
    failure: crash?.failure ?? null,
    lastEvents: crash?.lastEvents ?? [],
    crash: crash?.crash ?? null,
  };
}

function unreadable(ref: ActorRef, head: ActorHead, error: unknown): ActorReport {
  const failure = error instanceof Error ? error.message : String(error);
  const { epoch, owner, head: commits } = head;
  return { ...emptyReport(ref, "passive"), epoch, owner, head: commits, failure };
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
    mailbox: 0,
    owner: "",
    lastEvents: [],
    failure: null,
    crash: null,
  };
}

function targetOf(effect: Effect): string {
  return effect.kind === "tell" ? `${effect.to.kind}/${effect.to.id}` : effect.name;
}
