// One actor in memory: its mailbox, its timers and the loop that takes turns. How a turn becomes true depends on the
// kind of activation: journaled (by a commit) or in memory (at once).
//   V1. One turn at a time. While a turn waits for the store, messages gather for the next.
//   V2. Nothing leaves a turn (replies, messages, activities) before it is true (A2).
//   V3. Whatever happens, a caller is answered exactly once.

import type { Clock } from "../../crypto/port.ts";
import { traceparentOf } from "../../std/tracing.ts";
import type { ActorRef, ActorStore, CommitOutcome, RowSelection } from "../../storage/actor-store.ts";
import type { ActorState, Timer } from "./actor-state.ts";
import { type ActorGlance, type ActorUnavailable, actorUnavailable, type Message } from "./definition.ts";
import type { JoinedTurn, Receivers } from "./joining.ts";
import { applyTurn, remember } from "./journal.ts";
import type { ActorLimits } from "./limits.ts";
import type { MachineDriver } from "./machine-driver.ts";
import { Outbox } from "./outbox.ts";
import type { Delivery, EntropyPort, LogEntry, TimerPort } from "./ports.ts";
import type { Supervisor } from "./supervision.ts";
import { stillWaiting, Turn } from "./turn.ts";

/** Timer ports take delays of up to 31 bits; a timer that is due later is checked again then. */
const delayMaxMs = 2 ** 31 - 1;

const noSelections: readonly RowSelection[] = [];

/** A turn threw while it handled the message at `index`; null if it was handling none. */
export class TurnFailure extends Error {
  readonly index: number | null;
  constructor(index: number | null, cause: unknown) {
    super(cause instanceof Error ? cause.message : String(cause), { cause });
    this.index = index;
  }
}

export abstract class Activation {
  readonly ref: ActorRef;
  readonly key: string;
  readonly driver: MachineDriver;
  /** Whether it is in the host's run queue. */
  queued = false;
  /** Whether it was used since the last idle sweep. */
  touched = true;
  state: ActorState | null = null;
  outbox: Outbox | null = null;
  /** Grows with every change of what a look at the actor shows, except its mailbox; so who keeps what they made of a look knows how long. */
  revision = 0;
  /** What operators look at; null until one did. */
  look: ActorGlance | null = null;
  /** When the idle sweep first found it unused, in Unix milliseconds. */
  idleSinceMs = 0;
  /** The abort signal passed to activities; replaced when the actor is rebuilt. */
  signal = { aborted: false };
  protected readonly host: ActorHost;
  protected phase: "opening" | "idle" | "working" | "ended" = "opening";
  protected mailbox: Envelope[] = [];
  protected batch: readonly Envelope[] = [];
  /** The callers that their decision left waiting. */
  protected waiting: Envelope[] = [];
  protected leaving = false;
  #busy = false;
  #cancelTimer: (() => void) | null = null;
  #ended: (() => void)[] = [];
  #armedForMs = Number.POSITIVE_INFINITY;

  constructor(ref: ActorRef, key: string, driver: MachineDriver, host: ActorHost) {
    this.ref = ref;
    this.key = key;
    this.driver = driver;
    this.host = host;
  }

  /** Loads or creates the state; messages may be enqueued before it is available. */
  abstract open(): void;
  protected abstract take(batch: readonly Envelope[]): void;
  /** Maximum number of messages in one turn. */
  protected abstract get batchMax(): number;

  get isEnded(): boolean {
    return this.phase === "ended";
  }

  /** Resolves once it has ended, for whatever reason. */
  whenEnded(): Promise<void> {
    if (this.isEnded) return Promise.resolve();
    return new Promise((resolve) => void this.#ended.push(resolve));
  }

  /** Number of messages and callers that it holds. */
  get load(): number {
    return this.mailbox.length + this.batch.length + this.waiting.length;
  }

  enqueue(envelope: Envelope): void {
    this.mailbox.push(envelope);
    this.touched = true;
    if (!this.#busy && envelope.kind === "ask") {
      this.#busy = true;
      this.host.noteBusy(this);
    }
    if (this.phase === "idle") this.host.schedule(this);
  }

  /** Takes the next turn if there is a reason for one; returns the number of messages taken. */
  run(): number {
    if (this.phase !== "idle") return 0;
    const { batchMax } = this;
    let batch = this.mailbox;
    if (batch.length === 0 && !this.wantsCommit) {
      if (this.leaving) this.end("draining", "not_applied");
      return 0;
    }
    if (batch.length > batchMax) batch = this.mailbox.splice(0, batchMax);
    else this.mailbox = [];
    this.batch = batch;
    this.take(batch);
    return batch.length + 1;
  }

  /** Answers the callers whose time-out has passed (V3). */
  expire(nowMs: number): void {
    const isOver = (envelope: Envelope): boolean => envelope.deadlineMs <= nowMs;
    for (const envelope of this.batch) if (isOver(envelope)) refuse(envelope, "timeout", "unknown");
    if (this.mailbox.some(isOver)) {
      for (const envelope of this.mailbox) if (isOver(envelope)) refuse(envelope, "timeout", "not_applied");
      this.mailbox = this.mailbox.filter((envelope) => !isOver(envelope));
    }
    if (this.waiting.some(isOver)) {
      for (const envelope of this.waiting) if (isOver(envelope)) refuse(envelope, "timeout", "unknown");
      this.waiting = this.waiting.filter((envelope) => !isOver(envelope));
    }
    if (this.load === 0) this.#unbusy();
  }

  /** Whether it can leave memory now without losing or delaying anything. */
  canPassivate(nowMs: number): boolean {
    return this.#isAtRestUntilAfter(
      this.keepsTimers ? nowMs + this.host.limits.timerHorizonMs : Number.POSITIVE_INFINITY,
    );
  }

  /** Whether it only waits for a time to come, at which the store will find it due, up to a poll later. */
  onlyWaitsForTime(nowMs: number): boolean {
    return this.keepsTimers && this.#isAtRestUntilAfter(nowMs);
  }

  /**
   * Whether it only waits to retry effects, which another node or a later activation can do as well, because the
   * store will find it due. Callers left waiting would be asked to try again.
   */
  canStepAside(): boolean {
    const isJournaled = this.driver.definition.durability === "journal";
    return (
      isJournaled &&
      this.phase === "idle" &&
      !this.queued &&
      this.mailbox.length === 0 &&
      this.outbox?.isStuck === true
    );
  }

  /** Leaves once everything that was accepted is finished (A8). */
  leave(): void {
    this.leaving = true;
    for (const envelope of this.waiting.splice(0)) refuse(envelope, "draining", "unknown");
    if (this.phase === "idle") this.host.schedule(this);
  }

  /** Ends the activation; every caller that still waits is refused with `reason`. */
  end(
    reason: ActorUnavailable["reason"],
    batchEffect: "not_applied" | "unknown",
    retryAfterSeconds = 1,
  ): void {
    if (this.phase === "ended") return;
    this.phase = "ended";
    this.signal.aborted = true;
    this.outbox?.stop();
    this.#cancelTimer?.();
    this.#unbusy();
    this.host.ended(this);
    for (const envelope of this.batch) refuse(envelope, reason, batchEffect, retryAfterSeconds);
    for (const envelope of this.mailbox) refuse(envelope, reason, "not_applied", retryAfterSeconds);
    for (const envelope of this.waiting) refuse(envelope, reason, "unknown", retryAfterSeconds);
    this.batch = [];
    this.mailbox = [];
    this.waiting = [];
    for (const ended of this.#ended.splice(0)) ended();
  }

  /** A6: discards the activation; the supervisor decides when it is restarted. */
  protected crash(failure: TurnFailure, turn: Turn | null): void {
    const culprit = failure.index === null ? undefined : this.batch[failure.index];
    const recent = [...(this.state?.recent ?? [])];
    for (const event of turn?.events ?? []) remember(recent, event, this.host.limits.lastEventsMax);
    if (culprit !== undefined) recent.push({ while_handling: culprit.message });
    const { clock, supervisor, counters, limits } = this.host;
    counters.crashes += 1;
    const nowMs = clock.now();
    const lastEvents = recent.slice(-limits.lastEventsMax);
    const command = culprit?.message.type ?? null;
    const { cause } = failure;
    const crash = { atMs: nowMs, command, stack: cause instanceof Error ? (cause.stack ?? null) : null };
    const known = supervisor.noteCrash(this.key, this.ref, { failure: failure.message, lastEvents, crash });
    const restartMs = known.restartAtMs - nowMs;
    this.host.log(
      "error",
      known.quarantined ? "actor.quarantined" : "actor.crashed",
      this.key,
      failure.message,
    );
    const retryAfterSeconds = Math.max(1, Math.ceil(restartMs / 1_000));
    if (culprit !== undefined) {
      const effect = culprit.waited ? "unknown" : "not_applied";
      culprit.reject?.(actorUnavailable("restarting", { retryAfterSeconds, effect, cause: failure.cause }));
    }
    this.end(known.quarantined ? "quarantined" : "restarting", "not_applied", retryAfterSeconds);
    if (!known.quarantined) this.host.reviveLater(this.ref, restartMs);
  }

  protected newTurn(state: ActorState, nowMs: number): Turn {
    const isPending = (seq: number): boolean => this.outbox?.pending.has(seq) === true;
    return new Turn(state, {
      driver: this.driver,
      id: this.ref.id,
      nowMs,
      limits: this.host.limits,
      isPending,
    });
  }

  /**
   * Decides the batch in order. Throws {@link TurnFailure}. Messages that exceed the bound on effects wait for the next
   * turn.
   */
  protected decide(turn: Turn, selections: readonly (readonly RowSelection[])[] | null): unknown[] {
    const { batch } = this;
    const replies: unknown[] = [];
    for (let index = 0; index < batch.length; index += 1) {
      const envelope = batch[index];
      if (envelope === undefined) break;
      try {
        replies.push(turn.handle(envelope, selections?.[index] ?? noSelections));
      } catch (error) {
        throw new TurnFailure(index, error);
      }
      if (turn.effects.length >= this.host.limits.batchEffectsMax && index + 1 < batch.length) {
        this.mailbox = batch.slice(index + 1).concat(this.mailbox);
        this.batch = batch.slice(0, index + 1);
        break;
      }
    }
    return replies;
  }

  /** Takes over what a turn that has become true changed. */
  protected apply(state: ActorState, turn: Turn): void {
    applyTurn(state, turn, this.host.limits.lastEventsMax);
    for (const seq of turn.settled) this.outbox?.settle(seq);
    this.revision += 1;
  }

  /** Prepares for the next turn after one that has become true. */
  protected settle(replies: readonly unknown[], turn: Turn): void {
    this.answer(replies, turn);
    if (turn.timers !== null) this.armTimers();
    this.becomeIdle();
  }

  /** Answers the callers of a turn that has become true. */
  protected answer(replies: readonly unknown[], turn: Turn): void {
    const { batch } = this;
    this.batch = [];
    this.host.counters.commandsHandled += batch.length;
    for (let index = 0; index < batch.length; index += 1) {
      const envelope = batch[index];
      if (envelope === undefined || envelope.resolve === null) continue;
      const reply = replies[index];
      if (reply !== stillWaiting) envelope.resolve(reply);
      else if (envelope.kind !== "ask") envelope.resolve(undefined);
      else {
        envelope.waited = true;
        if (this.leaving) refuse(envelope, "draining", "unknown");
        else this.waiting.push(envelope);
      }
    }
    if (this.waiting.length > 0 && turn.isChanged) this.mailbox = this.waiting.splice(0).concat(this.mailbox);
  }

  protected becomeIdle(): void {
    this.phase = "idle";
    if (this.mailbox.length > 0 || this.wantsCommit) this.host.schedule(this);
    else if (this.leaving) this.end("draining", "not_applied");
    else if (this.waiting.length === 0) this.#unbusy();
  }

  /** Arms one port timer for the earliest of the actor's timers (A4). */
  protected armTimers(): void {
    let earliestMs = Number.POSITIVE_INFINITY;
    for (const timer of this.state?.timers.values() ?? []) earliestMs = Math.min(earliestMs, timer.dueMs);
    if (earliestMs === this.#armedForMs) return;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    this.#armedForMs = earliestMs;
    if (earliestMs === Number.POSITIVE_INFINITY) return;
    const delayMs = Math.min(Math.max(0, earliestMs - this.host.clock.now()), delayMaxMs);
    this.#cancelTimer = this.host.timers.schedule(delayMs, () => this.#fireTimers());
  }

  protected newOutbox(): Outbox {
    const { host, key } = this;
    return new Outbox({
      limits: host.limits,
      timers: host.timers,
      deliver: (to, messages, done) => host.send(to, key, messages, done),
      perform: (name, params, seq) => host.perform(this, name, params, seq),
      answer: (seq, message) => this.#answer(seq, message),
      acknowledged: () => this.acknowledged(),
      doubtful: () => this.doubtful(),
      changed: () => {
        this.revision += 1;
      },
    });
  }

  /** Called when acknowledged effects wait for a commit that removes them. */
  protected abstract acknowledged(): void;

  /** Called when work fails repeatedly (E4). */
  protected doubtful(): void {}

  /** Whether a turn (and, for a journaled actor, its commit) is needed although there is no message. */
  protected get wantsCommit(): boolean {
    return false;
  }

  /** Takes a turn for messages that becomes true with their sender's commit; null if it cannot now. */
  join(_messages: readonly Envelope[]): JoinedTurn | null {
    return null;
  }

  /** Whether timers survive the activation. */
  protected get keepsTimers(): boolean {
    return true;
  }

  /** Whether it has nothing to do, and none of its timers is due at `untilMs` or earlier. */
  #isAtRestUntilAfter(untilMs: number): boolean {
    if (this.phase !== "idle" || this.load > 0 || this.queued) return false;
    const { outbox } = this;
    if (outbox !== null && (outbox.pending.size > 0 || outbox.acknowledgedCount > 0)) return false;
    for (const timer of this.state?.timers.values() ?? []) if (timer.dueMs <= untilMs) return false;
    return true;
  }

  #answer(seq: number, message: Message): void {
    if (this.phase === "ended") return;
    const traceparent = this.outbox?.pending.get(seq)?.traceparent ?? null;
    this.enqueue(envelopeOf("answer", message, { seq, traceparent }));
  }

  #fireTimers(): void {
    this.#cancelTimer = null;
    this.#armedForMs = Number.POSITIVE_INFINITY;
    if (this.phase === "ended" || this.state === null) return;
    const nowMs = this.host.clock.now();
    const due = [...this.state.timers.values()].filter((timer) => timer.dueMs <= nowMs).sort(byDueTime);
    for (const timer of due) {
      this.enqueue(envelopeOf("timer", timer.event, { from: timer.id, seq: timer.dueMs }));
    }
    if (due.length === 0) this.armTimers();
  }

  #unbusy(): void {
    if (!this.#busy) return;
    this.#busy = false;
    this.host.noteIdle(this);
  }
}

/** Tells a caller that there will be no reply. */
export function refuse(
  envelope: Envelope,
  reason: ActorUnavailable["reason"],
  effect: "not_applied" | "unknown",
  retryAfterSeconds = 1,
): void {
  if (envelope.reject === null) return;
  envelope.reject(
    actorUnavailable(reason, { retryAfterSeconds, effect: envelope.waited ? "unknown" : effect }),
  );
}

function byDueTime(a: Timer, b: Timer): number {
  return a.dueMs - b.dueMs || (a.id < b.id ? -1 : 1);
}

// What an activation may request from the system it runs in.

export interface Counters {
  commits: number;
  commandsHandled: number;
  refusedCommits: number;
  crashes: number;
}

export interface ActorHost extends Receivers {
  readonly store: ActorStore;
  readonly clock: Clock;
  readonly timers: TimerPort;
  readonly entropy: EntropyPort;
  readonly owner: string;
  readonly limits: ActorLimits;
  readonly supervisor: Supervisor;
  readonly counters: Counters;
  /** Runs the activation soon, and once however often it is scheduled. */
  schedule(activation: Activation): void;
  /** Notes that callers wait for the activation: it is checked for time-outs until it is noted idle. */
  noteBusy(activation: Activation): void;
  noteIdle(activation: Activation): void;
  /** Whether the actor belongs on this node. */
  isHere(ref: ActorRef): boolean;
  /** Sends messages of an outbox, here or to another node. */
  send(to: ActorRef, from: string, messages: readonly Delivery[], done: DeliveryDone): void;
  /** Sends without any guarantee, for actors without a journal. */
  tell(to: ActorRef, message: Message, traceparent: string | null): void;
  perform(activation: Activation, name: string, params: unknown, seq: number): Promise<Message | null>;
  /** Reports that the activation has ended; another may follow. */
  ended(activation: Activation): void;
  /** Activates the actor after a delay, unless something else already did or must not. */
  reviveLater(ref: ActorRef, delayMs: number): void;
  /** Passes envelopes of an activation that lost its actor to a new activation. */
  resubmit(ref: ActorRef, envelopes: readonly Envelope[]): void;
  log(level: LogEntry["level"], event: string, actor: string, detail: string): void;
}

// An entry of an actor's mailbox.

export type EnvelopeKind =
  /** A caller waits for the reply. */
  | "ask"
  /** Nobody waits. */
  | "tell"
  /** A message from the outbox of another actor (or of the actor itself): deduplicated by sender and sequence (A3). */
  | "delivery"
  /** A message whose turn joins the commit of its sender, so that it comes once (joining.ts). */
  | "joined"
  /** The result of an activity: it removes the activity's outbox row with the commit. */
  | "answer"
  /** A timer that is due: its event is applied to the machine directly. */
  | "timer";

export interface Envelope {
  readonly kind: EnvelopeKind;
  /** The command, or for a timer its event. */
  readonly message: Message;
  /** The sender of a delivery, or the id of a timer. */
  readonly from: string;
  /** The sequence of a delivery at its sender, or of an answer in the actor's own outbox, or the due time of a timer. */
  readonly seq: number;
  readonly resolve: ((reply: unknown) => void) | null;
  readonly reject: ((error: unknown) => void) | null;
  /** Called with the decision as soon as the commit that makes it true was handed to the store. */
  readonly ahead: ((reply: unknown, commit: Promise<CommitOutcome>) => void) | null;
  /** The instant, in Unix milliseconds, after which the caller no longer waits. */
  readonly deadlineMs: number;
  /** The trace of what sent it; null if that is not recorded. */
  readonly traceparent: string | null;
  /** Whether the caller has just drawn the actor's id, as far as is known, see {@link AskOptions}. */
  isNew: boolean;
  /** Number of activations that accepted it before and lost the actor without having applied it. */
  tries: number;
  /** True once a decision has left the caller waiting: its events may be committed already. */
  waited: boolean;
}

/** A message with its defaults: from nobody, at the first attempt. */
export function envelopeOf(
  kind: EnvelopeKind,
  message: Message,
  more: Partial<Omit<Envelope, "kind" | "message">> = {},
): Envelope {
  return {
    kind,
    message,
    from: more.from ?? "",
    seq: more.seq ?? 0,
    resolve: more.resolve ?? null,
    reject: more.reject ?? null,
    ahead: more.ahead ?? null,
    isNew: more.isNew ?? false,
    deadlineMs: more.deadlineMs ?? Number.POSITIVE_INFINITY,
    traceparent: more.traceparent ?? null,
    tries: 0,
    waited: false,
  };
}

// Messages of one sender put into a mailbox together: acknowledged in order, as far as they became true.

export type DeliveryDone = (acknowledged: number, error: unknown) => void;

/**
 * Posts `messages` in order. `post` returns why a message was refused, or null. `done` is called once, when all
 * are true or the first was refused or failed, with the highest sequence that is true and the reason for the rest.
 */
export function postDeliveries(
  from: string,
  messages: readonly Delivery[],
  post: (envelope: Envelope) => Error | null,
  done: DeliveryDone,
): void {
  let taken = 0;
  let expected = messages.length;
  let refusal: Error | null = null;
  let isOver = false;
  const finish = (error: unknown): void => {
    if (isOver) return;
    isOver = true;
    done(messages[taken - 1]?.seq ?? 0, error);
  };
  const resolve = (): void => {
    if (isOver) return;
    taken += 1;
    if (taken === expected) finish(refusal);
  };
  for (let index = 0; index < messages.length; index += 1) {
    const delivery = messages[index] as Delivery;
    const message: Message = delivery.message;
    const sent = { from, traceparent: traceparentOf(delivery.traceparent) };
    refusal = post(envelopeOf("delivery", message, { ...sent, seq: delivery.seq, resolve, reject: finish }));
    if (refusal === null) continue;
    // The messages before it are in the mailbox; the group is done when they are true.
    expected = index;
    if (taken === expected) finish(refusal);
    return;
  }
}
