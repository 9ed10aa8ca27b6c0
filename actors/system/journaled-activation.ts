// An actor with a journal. Each turn that changes something is one fenced commit (A1, A2). A commit whose outcome
// is unknown is sent again, and if that does not help, the actor is claimed again, which shows what happened (A5).
// A turn that changes nothing is answered without the store, so its answer is as fresh as the activation. It is the
// node's lease that keeps a node which lost its actors from answering for them.
// An actor whose caller has just drawn its id is not claimed: its first commit creates it, or is refused because it exists after all. Then
// the actor is lost like any other, and what was asked goes to an activation that claims it.

import { backOffMs } from "../../std/back-off.ts";
import {
  type ActorCommit,
  type CommitOutcome,
  type PartitionRow,
  type RowSelection,
  type Activation as StoredActivation,
  StoreError,
} from "../../storage/actor-store.ts";
import type { ActorRef } from "../messages/refs.ts";
import type { ActorHost, Envelope } from "./activation.ts";
import { Activation, refuse, TurnFailure } from "./activation.ts";
import type { ActorState } from "./actor-state.ts";
import { ClaimedNames } from "./claimed-names.ts";
import type { Effect } from "./definition.ts";
import { type Joined, type JoinedTurn, joinReceivers } from "./joining.ts";
import {
  buildCommit,
  buildForgetting,
  type CommitParts,
  initialState,
  numberEffects,
  type OutboxItem,
  parseOutbox,
  rebuildState,
} from "./journal.ts";
import type { MachineDriver } from "./machine-driver.ts";
import { mergeSelections, stillWaiting, type Turn, TurnRows } from "./turn.ts";

/** How often an envelope is passed to another activation after its own lost the actor. */
const triesMax = 2;
const storeRetryMaxMs = 5_000;

interface OpenCommit {
  readonly commit: ActorCommit;
  readonly turn: Turn;
  readonly replies: readonly unknown[];
  readonly items: readonly OutboxItem[];
  /** What the commit was made of, and the effects that need no row because their receivers join it; null if nobody joins. */
  readonly joined: { readonly parts: CommitParts; readonly items: readonly OutboxItem[] } | null;
  failures: number;
  /** An attempt ended without showing whether it was applied. */
  doubtful: boolean;
}

export class JournaledActivation extends Activation {
  #open: OpenCommit | null = null;
  #commitWanted = false;
  #flushArmed = false;
  #claimFailures = 0;
  /** Whether the next commit creates the actor. */
  #isNew: boolean;
  /** Whether a commit of this claim was applied, and with it the note of who made it. */
  #isNoted = false;

  constructor(ref: ActorRef, key: string, driver: MachineDriver, host: ActorHost, isNew: boolean) {
    super(ref, key, driver, host);
    this.#isNew = isNew && host.store.createsActors;
  }

  open(): void {
    if (this.#isNew) {
      this.#openNew();
      return;
    }
    this.phase = "opening";
    this.host.store.claim(this.ref, this.host.owner, this.#firstEpoch).then(
      (stored) => this.#claimed(stored),
      (error: unknown) => this.#claimFailed(error),
    );
  }

  #openNew(): void {
    try {
      this.state = { ...initialState(this.driver, this.ref.id), epoch: this.#firstEpoch };
      this.becomeIdle();
    } catch (error) {
      this.crash(new TurnFailure(null, error), null);
    }
  }

  /** The store found the actor due although it is active: moves its wake-up time forward. */
  nudge(): void {
    if (this.outbox === null || this.phase !== "idle") return;
    this.#wantCommit();
  }

  protected get batchMax(): number {
    return this.driver.definition.turnCommandsMax ?? this.host.limits.batchCommandsMax;
  }

  /** Seconds, for a kind whose actors are forgotten: an actor lives longer than one for each of its claims (S8 of storage/actor-store.ts). */
  get #firstEpoch(): number {
    return this.driver.mayEnd ? Math.floor(this.host.clock.now() / 1_000) : 1;
  }

  /** Whether its machine has ended and nothing of it is under way (K5). */
  get #isOver(): boolean {
    const { outbox, state } = this;
    if (state?.snapshot.status !== "done" || this.batch.length > 0 || this.mailbox.length > 0) return false;
    return outbox === null || (outbox.pending.size === 0 && outbox.acknowledgedCount === 0);
  }

  protected override get wantsCommit(): boolean {
    return this.#commitWanted || this.#isOver || (this.leaving && (this.outbox?.acknowledgedCount ?? 0) > 0);
  }

  protected acknowledged(): void {
    if (this.#flushArmed || this.phase === "ended") return;
    this.#flushArmed = true;
    this.host.timers.schedule(this.host.limits.ackFlushMs, () => {
      this.#flushArmed = false;
      if (this.outbox !== null && this.outbox.acknowledgedCount > 0) this.#wantCommit();
    });
  }

  /** A commit shows whether the actor was lost: it is refused if so, and otherwise moves the wake-up time forward. */
  protected override doubtful(): void {
    this.#wantCommit();
  }

  protected take(batch: readonly Envelope[]): void {
    this.phase = "working";
    const { state } = this;
    const { claims } = this.driver.definition;
    const needsNames = batch.some(({ message }) => ClaimedNames.needs(claims, message.type));
    if (claims === undefined || state === null || state.names !== null || !needsNames) {
      this.#read(batch);
      return;
    }
    const names = new ClaimedNames(claims, this.host.entropy.newOperationId());
    // An actor without a commit has no rows.
    this.#loadNames(names, state.op === "" ? [] : names.firstPages(), () => {
      state.names = names;
      this.#read(batch);
    });
  }

  /** Reads page after page, and lets others run between them: a busy key has a thousand rows for each ten seconds. */
  #loadNames(names: ClaimedNames, pages: readonly RowSelection[], then: () => void): void {
    if (this.phase !== "working") return;
    if (pages.length === 0) {
      then();
      return;
    }
    const { store, clock, timers } = this.host;
    store.readRows(this.ref, pages).then(
      (rows) => {
        let next: readonly RowSelection[];
        try {
          next = names.load(pages, rows, clock.now());
        } catch (error) {
          this.crash(new TurnFailure(null, error), null);
          return;
        }
        if (next.length === 0) this.#loadNames(names, next, then);
        else timers.schedule(0, () => this.#loadNames(names, next, then));
      },
      (error: unknown) => this.#readFailed(error),
    );
  }

  #read(batch: readonly Envelope[]): void {
    const { state } = this;
    const { rows } = this.driver.definition;
    if (rows === undefined || state === null) {
      this.#turn(null, []);
      return;
    }
    const selections: (readonly RowSelection[])[] = [];
    let merged: readonly RowSelection[];
    try {
      for (const envelope of batch) {
        selections.push(envelope.kind === "timer" ? [] : rows(envelope.message, this.ref.id, state.snapshot));
      }
      merged = mergeSelections(selections);
    } catch (error) {
      this.crash(new TurnFailure(selections.length < batch.length ? selections.length : null, error), null);
      return;
    }
    const { rows: kept, missing } = state.kept?.find(merged) ?? { rows: [], missing: merged };
    if (missing.length === 0) {
      this.#turn(selections, kept);
      return;
    }
    this.host.store.readRows(this.ref, missing).then(
      (loaded) => {
        state.kept?.note(loaded);
        this.#turn(selections, kept.length === 0 ? loaded : [...kept, ...loaded]);
      },
      (error: unknown) => this.#readFailed(error),
    );
  }

  #turn(selections: readonly (readonly RowSelection[])[] | null, loaded: readonly PartitionRow[]): void {
    const { state, host } = this;
    if (this.phase !== "working" || state === null) return;
    let turn: Turn | null = null;
    try {
      const nowMs = host.clock.now();
      turn = this.newTurn(state, nowMs);
      if (loaded.length > 0 || selections !== null) turn.rows = new TurnRows(loaded, nowMs);
      const replies = this.decide(turn, selections);
      if (!turn.isChanged && this.#isOver) {
        this.#forget(state, turn);
        return;
      }
      if (!turn.isChanged && !this.wantsCommit) {
        this.settle(replies, turn);
        return;
      }
      this.#commit(state.head, turn, replies, nowMs);
    } catch (error) {
      this.crash(error instanceof TurnFailure ? error : new TurnFailure(null, error), turn);
    }
  }

  #commit(head: number, turn: Turn, replies: readonly unknown[], nowMs: number): void {
    const { state, host } = this;
    if (state === null) return;
    const all = numberEffects(head, turn);
    const { turns, items } = this.#joined(all);
    let sent: Promise<CommitOutcome>;
    try {
      const parts = this.#parts(turn, nowMs, items);
      const commit = buildCommit(this.driver, state, turn, parts);
      const creates = this.#isNew ? { creates: host.owner } : null;
      const others = turns.length > 0 ? { with: turns.map((each) => each.commit) } : null;
      this.#isNew = false;
      this.#open = {
        commit: creates === null && others === null ? commit : { ...commit, ...creates, ...others },
        turn,
        replies,
        items,
        joined: others && { parts, items: all },
        failures: 0,
        doubtful: false,
      };
      sent = this.#sendCommit(this.#open);
    } catch (error) {
      // Those that joined must not wait for it.
      for (const each of turns) each.sent(Promise.reject(error));
      throw error;
    }
    for (const each of turns) each.sent(sent);
    this.#tellAhead(replies, sent);
  }

  #parts(turn: Turn, nowMs: number, items: readonly OutboxItem[]): CommitParts {
    const { host, outbox } = this;
    const acknowledged = outbox?.takeAcknowledged() ?? [];
    const settled = turn.settled.length === 0 ? acknowledged : [...acknowledged, ...turn.settled];
    this.#commitWanted = false;
    return {
      ref: this.ref,
      op: host.entropy.newOperationId(),
      nowMs,
      limits: host.limits,
      items,
      settled,
      newOwner: this.#isNoted ? null : host.owner,
      mustWake:
        turn.snapshot.status === "done" ||
        items.length + (outbox?.pending.size ?? 0) - turn.settled.length > 0,
    };
  }

  /** What an actor has just drawn its id for, or was asked ahead, depends on nobody else. */
  #joined(items: readonly OutboxItem[]): Joined {
    const { host, outbox, batch } = this;
    if (items.length === 0 || !host.store.joinsCommits || this.#isNew) return { turns: [], items };
    if (batch.some(({ ahead }) => ahead !== null)) return { turns: [], items };
    return joinReceivers(items, outbox, host);
  }

  /** JC2 to JC4. */
  override join(messages: readonly Envelope[]): JoinedTurn | null {
    const { state, host, driver } = this;
    if (state === null || this.phase !== "idle" || this.mailbox.length > 0 || this.#isNew) return null;
    const { id } = this.ref;
    const { rows, claims } = driver.definition;
    const nowMs = host.clock.now();
    try {
      if (messages.some(({ message }) => ClaimedNames.needs(claims, message.type))) return null;
      const selections = messages.map(({ message }) => rows?.(message, id, state.snapshot) ?? []);
      const merged = mergeSelections(selections);
      const { rows: kept, missing } = state.kept?.find(merged) ?? { rows: [], missing: merged };
      if (missing.length > 0) return null;
      const turn = this.newTurn(state, nowMs);
      if (kept.length > 0) turn.rows = new TurnRows(kept, nowMs);
      for (const [at, message] of messages.entries()) turn.handle(message, selections[at] ?? []);
      if (!turn.isChanged) return null;
      const items = numberEffects(state.head, turn);
      const commit = buildCommit(driver, state, turn, this.#parts(turn, nowMs, items));
      const open: OpenCommit = {
        commit,
        turn,
        replies: [],
        items,
        joined: null,
        failures: 0,
        doubtful: false,
      };
      this.#open = open;
      this.phase = "working";
      this.touched = true;
      return { commit, sent: (carrier) => this.#carried(open, messages, carrier) };
    } catch {
      // It crashes by itself when the message is delivered.
      return null;
    }
  }

  #carried(open: OpenCommit, messages: readonly Envelope[], carrier: Promise<CommitOutcome>): void {
    carrier.then(
      (outcome) => {
        if (outcome.status === "applied") {
          for (const message of messages) message.resolve?.(undefined);
          this.host.counters.commandsHandled += messages.length;
          this.#committed(open, outcome);
          return;
        }
        if (outcome.other === open.commit) this.#noteRefused(open, outcome);
        this.#leaveCarrier(open);
      },
      () => this.#leaveCarrier(open),
    );
  }

  /** JC4. */
  #leaveCarrier(open: OpenCommit): void {
    if (this.#open !== open || this.phase === "ended") return;
    const { host, ref } = this;
    const hasWork = this.outbox !== null || (this.state?.timers.size ?? 0) > 0;
    this.#open = null;
    if (!host.isHere(ref)) {
      this.end("restarting", "not_applied");
      return;
    }
    this.#leaveTo("restarting");
    if (hasWork) host.reviveLater(ref, host.limits.storeRetryMs);
  }

  #forget(state: ActorState, turn: Turn): void {
    const commit = buildForgetting(state, this.ref, this.host.entropy.newOperationId());
    this.#open = { commit, turn, replies: [], items: [], joined: null, failures: 0, doubtful: false };
    void this.#sendCommit(this.#open);
  }

  /** V2 holds for all callers except those that asked to know early, and they may let nothing out before their reply. */
  #tellAhead(replies: readonly unknown[], commit: Promise<CommitOutcome>): void {
    for (let index = 0; index < this.batch.length; index += 1) {
      const ahead = this.batch[index]?.ahead;
      const reply = replies[index];
      if (ahead && reply !== stillWaiting) ahead(reply, commit);
    }
  }

  #sendCommit(open: OpenCommit): Promise<CommitOutcome> {
    const commit = this.host.store.commit(open.commit);
    commit.then(
      (outcome) => this.#committed(open, outcome),
      (error: unknown) => this.#commitFailed(open, error),
    );
    return commit;
  }

  #committed(open: OpenCommit, outcome: CommitOutcome): void {
    // This includes an activation that has ended meanwhile, above all by a lost lease: what the fence prevented must be visible.
    const isOwn = outcome.status === "refused" && outcome.other === undefined;
    if (isOwn && open.commit.creates === undefined) this.#noteRefused(open, outcome);
    if (this.#open !== open || this.phase === "ended") return;
    if (outcome.status === "refused") {
      if (outcome.other !== undefined) this.#commitAlone(open);
      else this.#lost(open, outcome);
      return;
    }
    const { state, host } = this;
    if (state === null) return;
    this.#open = null;
    host.counters.commits += 1;
    this.#isNoted = true;
    const { commit, turn } = open;
    if (commit.forget) {
      // What came meanwhile is for an actor that begins again.
      this.#leaveTo("restarting");
      return;
    }
    state.head = commit.expectedHead + 1;
    state.op = commit.op;
    if (commit.snapshot !== undefined) state.snapshotSeq = commit.snapshot.seq;
    this.apply(state, turn);
    if (open.items.length > 0) {
      this.outbox ??= this.newOutbox();
      this.outbox.add(open.items);
    }
    this.settle(open.replies, turn);
  }

  /** JC1. An earlier attempt whose outcome is unknown was not applied either, and this commit fences it off. */
  #commitAlone({ turn, replies, joined }: OpenCommit): void {
    const { state, host } = this;
    if (state === null || joined === null) return;
    const { items } = joined;
    const parts = { ...joined.parts, op: host.entropy.newOperationId(), items, mustWake: true };
    const commit = buildCommit(this.driver, state, turn, parts);
    this.#open = { commit, turn, replies, items, joined: null, failures: 0, doubtful: false };
    void this.#sendCommit(this.#open);
  }

  #noteRefused({ commit }: OpenCommit, outcome: Extract<CommitOutcome, { status: "refused" }>): void {
    this.host.counters.refusedCommits += 1;
    this.host.log("warn", "actor.lost", this.key, `epoch ${commit.epoch} was superseded by ${outcome.epoch}`);
  }

  /** A1: another activation owns the actor. Nothing of this turn became true, unless an earlier attempt was applied. */
  #lost(open: OpenCommit, outcome: Extract<CommitOutcome, { status: "refused" }>): void {
    const { host, ref } = this;
    const unmoved = outcome.head === open.commit.expectedHead && outcome.op === open.commit.expectedOp;
    const isKnown = !open.doubtful || unmoved;
    this.#open = null;
    if (!isKnown || !host.isHere(ref)) {
      this.end("restarting", isKnown ? "not_applied" : "unknown");
      return;
    }
    this.#leaveTo("restarting");
  }

  /** Ends this activation; another takes the messages that it has. */
  #leaveTo(reason: "restarting"): void {
    const again: Envelope[] = [];
    for (const envelope of [...this.batch, ...this.mailbox]) {
      if (envelope.kind === "timer" || envelope.kind === "answer") continue;
      envelope.tries += 1;
      envelope.isNew = false;
      if (envelope.tries > triesMax) refuse(envelope, reason, "not_applied");
      else again.push(envelope);
    }
    this.batch = [];
    this.mailbox = [];
    this.end(reason, "not_applied");
    this.host.resubmit(this.ref, again);
  }

  /** A5: the identical commit is sent again; its operation id ensures that it is applied at most once. */
  #commitFailed(open: OpenCommit, error: unknown): void {
    if (this.#open !== open || this.phase === "ended") return;
    if (!(error instanceof StoreError && error.effect === "not_applied")) open.doubtful = true;
    open.failures += 1;
    const { limits, timers } = this.host;
    if (open.failures <= limits.commitResendsMax) {
      timers.schedule(
        backOffMs(open.failures, { firstMs: limits.storeRetryMs, maxMs: storeRetryMaxMs }),
        () => {
          if (this.#open === open && this.phase !== "ended") this.#sendCommit(open);
        },
      );
      return;
    }
    this.host.log("error", "actor.commit_failed", this.key, describe(error));
    // A claim would make a forgotten actor again; if it is there still, the store finds it due.
    if (!open.doubtful || open.commit.forget || !this.host.isHere(this.ref)) {
      this.#giveUp(open.doubtful ? "unknown" : "not_applied");
      return;
    }
    this.open();
  }

  /** Reads what is true now: after a first claim, or one that settles an unknown outcome (A5). */
  #claimed(stored: StoredActivation): void {
    if (this.phase === "ended") return;
    this.#claimFailures = 0;
    this.#isNoted = false;
    const open = this.#open;
    this.#open = null;
    if (open !== null) this.#settleDoubt(open, stored);
    const { host } = this;
    this.signal.aborted = true;
    this.signal = { aborted: false };
    this.outbox?.stop();
    this.outbox = null;
    this.revision += 1;
    try {
      const context = { nowMs: host.clock.now(), lastEventsMax: host.limits.lastEventsMax };
      this.state = rebuildState(this.driver, this.ref.id, stored, context);
      const items = parseOutbox(stored.outbox);
      this.armTimers();
      this.becomeIdle();
      if (items.length === 0 || this.isEnded) return;
      this.outbox = this.newOutbox();
      this.outbox.add(items);
    } catch (error) {
      this.crash(new TurnFailure(null, error), null);
    }
  }

  #settleDoubt(open: OpenCommit, stored: StoredActivation): void {
    const { commit, replies, turn } = open;
    const { batch } = this;
    this.batch = [];
    const isApplied = stored.head.op === commit.op;
    const isUnmoved = stored.head.head === commit.expectedHead && stored.head.op === commit.expectedOp;
    if (isApplied) {
      this.host.counters.commits += 1;
      this.batch = batch;
      this.answer(replies, turn);
    } else if (isUnmoved) {
      // The claim fenced off the old epoch, so the commit can no longer arrive, and the turn may be taken again.
      const again = batch.filter((envelope) => envelope.kind !== "timer" && envelope.kind !== "answer");
      this.mailbox = [...again, ...this.mailbox];
    } else for (const envelope of batch) refuse(envelope, "store", "unknown");
    this.mailbox = this.mailbox.filter((envelope) => envelope.kind !== "timer" && envelope.kind !== "answer");
  }

  #claimFailed(error: unknown): void {
    if (this.phase === "ended") return;
    this.#claimFailures += 1;
    const { limits, timers } = this.host;
    if (this.#claimFailures >= limits.claimAttemptsMax) {
      this.host.log("error", "actor.claim_failed", this.key, describe(error));
      this.#giveUp(this.#open?.doubtful === true ? "unknown" : "not_applied");
      return;
    }
    timers.schedule(
      backOffMs(this.#claimFailures, { firstMs: limits.storeRetryMs, maxMs: storeRetryMaxMs }),
      () => {
        if (this.phase !== "ended") this.open();
      },
    );
  }

  #readFailed(error: unknown): void {
    if (this.phase === "ended") return;
    this.host.log("error", "actor.read_failed", this.key, describe(error));
    this.#giveUp("not_applied");
  }

  /** The store does not answer: callers are refused, and pending work is retried later. */
  #giveUp(effect: "not_applied" | "unknown"): void {
    const hasWork = this.outbox !== null || (this.state?.timers.size ?? 0) > 0 || this.mailbox.length > 0;
    this.#open = null;
    this.end("store", effect);
    if (hasWork) this.host.reviveLater(this.ref, storeRetryMaxMs);
  }

  #wantCommit(): void {
    this.#commitWanted = true;
    if (this.phase === "idle") this.host.schedule(this);
  }
}

function describe(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// An actor without a journal: a turn is true as soon as it is decided, and everything ends with the activation.
// Its messages are sent once, and its activities are repeated only while it lives; a caller that needs more retries.

export class MemoryActivation extends Activation {
  #begun = false;

  open(): void {
    this.phase = "idle";
    try {
      this.state = initialState(this.driver, this.ref.id);
      // A revived actor may receive nothing for long; the timers of its initial state must run nevertheless.
      this.host.schedule(this);
    } catch (error) {
      this.crash(new TurnFailure(null, error), null);
    }
  }

  protected get batchMax(): number {
    return this.host.limits.commandsPerFlushMax;
  }

  protected override get wantsCommit(): boolean {
    return !this.#begun;
  }

  protected override get keepsTimers(): boolean {
    return false;
  }

  protected take(_batch: readonly Envelope[]): void {
    const { state } = this;
    if (state === null) return;
    let turn: Turn | null = null;
    let replies: unknown[];
    this.phase = "working";
    try {
      turn = this.newTurn(state, this.host.clock.now());
      if (!this.#begun) turn.begin();
      replies = this.decide(turn, null);
    } catch (error) {
      this.crash(error instanceof TurnFailure ? error : new TurnFailure(null, error), turn);
      return;
    }
    this.#begun = true;
    this.#become(state, turn);
    this.settle(replies, turn);
  }

  protected acknowledged(): void {
    this.outbox?.takeAcknowledged();
  }

  #become(state: ActorState, turn: Turn): void {
    this.apply(state, turn);
    if (turn.effects.length === 0) return;
    const work: OutboxItem[] = [];
    for (const item of numberEffects(state.head, turn)) {
      const effect: Effect = item.effect;
      if (effect.kind === "tell") this.host.tell(effect.to, effect.message, item.traceparent);
      else work.push(item);
    }
    state.head += 1;
    if (work.length === 0) return;
    this.outbox ??= this.newOutbox();
    this.outbox.add(work);
  }
}
