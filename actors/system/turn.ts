// One turn of an actor: up to a batch of messages decided in order over one state, none of it true before the
// commit. It is synchronous and pure; a turn that throws is discarded as a whole.
//   T1. A decided event that the machine does not take is a bug of its kind, and the turn throws: a reply would tell the caller of
//       something that did not happen, beside rows that say it did. What the journal has was taken when it was written.
//       What it has is not judged again: a machine of a later release may pass over events of an earlier one.
//   T2. A timer's event that the machine does not take any more is no bug. Nobody decided it: the machine asked for it in another
//       state or context, and a guard may answer by the time it ends. A turn that threw would find the timer due again, until the
//       actor is quarantined. The timer is removed, and nothing else happens.

import type { AnyMachineSnapshot } from "xstate";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { ActorState, Heard, Timer } from "./actor-state.ts";
import type { ActorView, Decision, Effect, Message } from "./definition.ts";
import type { Envelope } from "./envelope.ts";
import { type ActorLimits, effectsPerCommitMax } from "./limits.ts";
import { isReservedName, type MachineDriver } from "./machine-driver.ts";
import { TurnRows } from "./turn-rows.ts";

/** The reply of a decision that leaves its caller waiting. */
export const stillWaiting = Symbol("still waiting");

export interface TurnOptions {
  readonly driver: MachineDriver;
  readonly id: string;
  readonly nowMs: number;
  readonly limits: ActorLimits;
  /** Whether a sequence of the actor's own outbox is unsettled. */
  readonly isPending: (seq: number) => boolean;
}

export class Turn implements ActorView {
  readonly id: string;
  readonly epoch: number;
  readonly nowMs: number;
  snapshot: AnyMachineSnapshot;
  readonly events: Message[] = [];
  readonly effects: Effect[] = [];
  /** The trace of each effect, at the same place; empty while none is recorded. */
  readonly traces: (string | null)[] = [];
  /** The timers that were set, with null for cancelled ones. */
  timers: Map<string, Timer | null> | null = null;
  inbox: Map<string, Heard> | null = null;
  /** The actor's own outbox sequences that an answer settled. */
  readonly settled: number[] = [];
  rows: TurnRows | null = null;
  readonly #state: ActorState;
  readonly #options: TurnOptions;
  readonly #driver: MachineDriver;
  #changed = false;
  #traceparent: string | null = null;

  constructor(state: ActorState, options: TurnOptions) {
    this.#state = state;
    this.#options = options;
    this.#driver = options.driver;
    this.id = options.id;
    this.epoch = state.epoch;
    this.nowMs = options.nowMs;
    this.snapshot = state.snapshot;
    // The actions of the initial state become true with the first commit.
    if (state.head === 0 && options.driver.definition.durability === "journal") this.begin();
  }

  /** Whether there is something to commit. The actions of the initial state alone wait until there is more. */
  get isChanged(): boolean {
    return this.#changed;
  }

  row(rt: number, k: number, k2: string): PartitionRow | undefined {
    return this.#rows().row(rt, k, k2);
  }

  rowsOf(rt: number): readonly PartitionRow[] {
    return this.#rows().rowsOf(rt);
  }

  /** Performs the actions of the initial state. */
  begin(): void {
    this.snapshot = this.#driver.initial(this.id);
    if (this.#driver.hasActions) this.#perform();
    this.#changed = false;
  }

  /** Decides one message and returns the reply, or {@link stillWaiting}. `selections` are the rows it may see. */
  handle(envelope: Envelope, selections: readonly RowSelection[]): unknown {
    if (this.rows !== null) this.rows.selections = selections;
    this.#traceparent = this.#driver.definition.endsTraces === true ? null : envelope.traceparent;
    switch (envelope.kind) {
      case "ask":
      case "tell":
        return this.#decide(envelope.message);
      case "delivery":
        return this.#hear(envelope);
      case "answer":
        if (!this.#options.isPending(envelope.seq) || this.settled.includes(envelope.seq)) return undefined;
        this.settled.push(envelope.seq);
        this.#changed = true;
        this.#decide(envelope.message);
        return undefined;
      case "timer":
        this.#fire(envelope);
        return undefined;
    }
  }

  /** See T1. Results of activities come here as well: a kind answers one that comes too late without an event. */
  #decide(command: Message): unknown {
    const decision: Decision<unknown> = this.#driver.definition.decide(command, this);
    if (decision.puts !== undefined) for (const row of decision.puts) this.#changedRows().put(row);
    if (decision.deletes !== undefined) for (const key of decision.deletes) this.#changedRows().delete(key);
    if (decision.events !== undefined) {
      for (const event of decision.events) {
        if (isReservedName(event.type)) throw new Error(`event name ${event.type} is reserved`);
        if (!this.#apply(event)) throw new Error(this.#refusal(event));
      }
    }
    if (decision.effects !== undefined) this.#add(decision.effects);
    return decision.wait === true ? stillWaiting : decision.reply;
  }

  /** A3: a message that was received before changes nothing, and is acknowledged again. A repeatable one is told by the kind itself. */
  #hear(envelope: Envelope): unknown {
    const { durability, repeatable } = this.#driver.definition;
    if (durability === "memory" || repeatable?.includes(envelope.message.type) === true)
      return this.#decide(envelope.message);
    const heard = this.inbox?.get(envelope.from) ?? this.#state.inbox.get(envelope.from);
    if (heard !== undefined && envelope.seq <= heard.seq) return undefined;
    this.#changed = true;
    this.inbox ??= new Map();
    const expiresAtMs = this.nowMs + this.#options.limits.inboxKeptMs;
    this.inbox.set(envelope.from, { seq: envelope.seq, expiresAtMs });
    return this.#decide(envelope.message);
  }

  /** A4: the timer must still be as it was when it was found due. */
  #fire(envelope: Envelope): void {
    const id = envelope.from;
    const changed = this.timers?.get(id);
    const timer = changed === undefined ? this.#state.timers.get(id) : changed;
    if (timer === undefined || timer === null || timer.dueMs !== envelope.seq) return;
    this.#setTimer(id, null);
    this.#changed = true;
    // T2.
    if (!this.#apply(timer.event)) this.events.pop();
  }

  /** Returns whether the machine took the event. */
  #apply(event: Message): boolean {
    this.events.push(event);
    this.snapshot = this.#driver.next(this.snapshot, event);
    if (!this.#driver.hasTaken) return false;
    this.#changed = true;
    if (this.#driver.hasActions) this.#perform();
    return true;
  }

  #refusal({ type }: Message): string {
    const { kind } = this.#driver.definition;
    return `${kind} decided ${type}, which its machine does not take in ${JSON.stringify(this.snapshot.value)}`;
  }

  #perform(): void {
    for (const action of this.#driver.takeActions()) {
      if (action.kind === "schedule") {
        this.#setTimer(action.id, { id: action.id, dueMs: this.nowMs + action.delayMs, event: action.event });
      } else if (action.kind === "cancel") {
        if (this.timers?.has(action.id) === true || this.#state.timers.has(action.id))
          this.#setTimer(action.id, null);
      } else {
        const effect = this.#driver.definition.effects[action.name];
        if (effect === undefined) throw new Error(`action ${action.name} is not among the effects`);
        this.#add(effect(action.params, this));
      }
    }
  }

  #add(effects: readonly Effect[]): void {
    for (const effect of effects) {
      if (effect.kind === "tell" && isReservedName(effect.message.type)) {
        throw new Error(`message name ${effect.message.type} is reserved`);
      }
      if (this.#traceparent !== null) this.traces[this.effects.length] = this.#traceparent;
      this.effects.push(effect);
      this.#changed = true;
    }
    if (this.effects.length > effectsPerCommitMax)
      throw new Error(`${this.effects.length} effects in one turn`);
  }

  #setTimer(id: string, timer: Timer | null): void {
    this.timers ??= new Map();
    this.timers.set(id, timer);
    if (timer !== null && this.timers.size + this.#state.timers.size > 2 * this.#options.limits.timersMax) {
      throw new Error(`more than ${this.#options.limits.timersMax} timers`);
    }
  }

  #changedRows(): TurnRows {
    this.#changed = true;
    return this.#rows();
  }

  #rows(): TurnRows {
    if (this.#driver.definition.durability === "memory")
      throw new Error("an actor without a journal has no rows");
    this.rows ??= new TurnRows([], this.nowMs);
    return this.rows;
  }
}
