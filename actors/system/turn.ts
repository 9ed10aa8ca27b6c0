// One turn of an actor: up to a batch of messages decided in order over one state, none of it true before the
// commit. It is synchronous and pure; a turn that throws is discarded as a whole.
// Also the keyed rows that a turn sees.
//   T1. A decided event that the machine does not take is a bug of its kind, and the turn throws: a reply would tell the caller of
//       something that did not happen, beside rows that say it did. What the journal has was taken when it was written.
//       What it has is not judged again: a machine of a later release may pass over events of an earlier one.
//   T2. A timer's event that the machine does not take any more is no bug. Nobody decided it: the machine asked for it in another
//       state or context, and a guard may answer by the time it ends. A turn that threw would find the timer due again, until the
//       actor is quarantined. The timer is removed, and nothing else happens.

import type { AnyMachineSnapshot } from "xstate";
import { type PartitionRow, type RowKey, type RowSelection, rowTable } from "../../storage/actor-store.ts";
import type { Envelope } from "./activation.ts";
import type { ActorState, Heard, Timer } from "./actor-state.ts";
import { ClaimedNames, type MarkedClaim, type NameClaim } from "./claimed-names.ts";
import type { ActorView, Decision, Effect, Message } from "./definition.ts";
import type { KeptRows } from "./kept-rows.ts";
import { type ActorLimits, effectsPerCommitMax } from "./limits.ts";
import { isReservedName, type MachineDriver } from "./machine-driver.ts";

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
  /** By name, what its decisions have claimed. */
  readonly claims = new Map<string, MarkedClaim>();
  readonly #state: ActorState;
  readonly #options: TurnOptions;
  readonly #driver: MachineDriver;
  #changed = false;
  #traceparent: string | null = null;
  /** The command that is being decided. */
  #command: string | null = null;

  constructor(state: ActorState, options: TurnOptions) {
    this.#state = state;
    this.#options = options;
    this.#driver = options.driver;
    this.id = options.id;
    this.epoch = state.epoch;
    this.nowMs = options.nowMs;
    this.snapshot = state.snapshot;
    // The actions of the initial state become true with the first commit.
    if (state.op === "" && options.driver.definition.durability === "journal") this.begin();
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

  claimedUntil(name: string): number | undefined {
    const names = this.#names();
    return this.claims.get(name)?.untilMs ?? names.until(names.markOf(name));
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
      case "joined":
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
    this.#command = command.type;
    const decision: Decision<unknown> = this.#driver.definition.decide(command, this);
    if (decision.puts !== undefined) for (const row of decision.puts) this.#changedRows().put(row);
    if (decision.deletes !== undefined) for (const key of decision.deletes) this.#changedRows().delete(key);
    if (decision.claims !== undefined) for (const claim of decision.claims) this.#claim(claim);
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

  #claim({ name, untilMs }: NameClaim): void {
    this.claims.set(name, { mark: this.#names().markOf(name), untilMs });
    this.#changed = true;
  }

  /** Throws where the command may not look at names, so that its outcome does not depend on those that share its turn (W1). */
  #names(): ClaimedNames {
    const { names } = this.#state;
    const { claims } = this.#driver.definition;
    if (names === null || this.#command === null || !ClaimedNames.needs(claims, this.#command))
      throw new Error(`${this.#command} looks at names, which its kind does not say`);
    return names;
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

// The keyed rows that one turn sees: the loaded rows, overlaid by what its decisions have put and deleted so far.
//   W1. A decision sees exactly the rows that its own command selected, so its outcome does not depend on
//       which other commands happen to share its turn. Reading any other row is a bug of the kind.
//   W2. A row that has expired is not seen, whether or not the store has removed it yet.
//   W3. A commit either puts or deletes a key, never both.

/** Rows by table and `k/k2`; null for a deleted row. */
type Tables = Map<number, Map<string, PartitionRow | null>>;

export class TurnRows {
  readonly #loaded: Tables = new Map();
  readonly #changed: Tables = new Map();
  readonly #nowMs: number;
  readonly #matchers = new Map<RowSelection, (k: number, k2: string) => boolean>();
  /** The selections of the command that is being decided. */
  selections: readonly RowSelection[] = [];

  constructor(loaded: readonly PartitionRow[], nowMs: number) {
    this.#nowMs = nowMs;
    for (const row of loaded) tableOf(this.#loaded, row.rt).set(keyOf(row), row);
  }

  /** The row, or undefined if there is none. Throws for a row that was not selected (W1). */
  row(rt: number, k: number, k2: string): PartitionRow | undefined {
    if (!this.selections.some((selection) => selection.rt === rt && this.#isIn(selection, k, k2))) {
      throw new Error(`row ${rt}/${k}/${k2} was read and not selected`);
    }
    const row = this.#current(rt, `${k}/${k2}`);
    return row !== undefined && this.#isLive(row) ? row : undefined;
  }

  /** The selected rows of a table, in (k, k2) order. */
  rowsOf(rt: number): readonly PartitionRow[] {
    const found = new Map<string, PartitionRow>();
    for (const selection of this.selections) {
      if (selection.rt !== rt) continue;
      for (const row of this.#select(selection)) found.set(keyOf(row), row);
    }
    return [...found.values()].sort(compareRows);
  }

  put(row: PartitionRow): void {
    assertKeyed(row.rt);
    tableOf(this.#changed, row.rt).set(keyOf(row), row);
  }

  delete(key: RowKey): void {
    assertKeyed(key.rt);
    tableOf(this.#changed, key.rt).set(keyOf(key), null);
  }

  /** Adds the rows that the commit has to put and delete (W3). */
  collect(puts: PartitionRow[], deletes: RowKey[]): void {
    for (const [rt, table] of this.#changed) {
      for (const [key, row] of table) {
        if (row !== null) puts.push(row);
        else deletes.push(parseKey(rt, key));
      }
    }
  }

  /** Notes what the turn, which became true, has left (KR1). */
  keep(kept: KeptRows): void {
    const [puts, deletes]: [PartitionRow[], RowKey[]] = [[], []];
    this.collect(puts, deletes);
    kept.note(puts);
    kept.forget(deletes);
  }

  #current(rt: number, key: string): PartitionRow | undefined {
    const changed = this.#changed.get(rt)?.get(key);
    if (changed !== undefined) return changed ?? undefined;
    return this.#loaded.get(rt)?.get(key) ?? undefined;
  }

  #select(selection: RowSelection): PartitionRow[] {
    const rows = this.#merged(selection.rt).filter((row) => this.#isIn(selection, row.k, row.k2));
    return "keys" in selection ? rows : rows.slice(0, selection.limit);
  }

  #merged(rt: number): PartitionRow[] {
    const merged = new Map(this.#loaded.get(rt));
    for (const [key, row] of this.#changed.get(rt) ?? []) merged.set(key, row);
    const rows: PartitionRow[] = [];
    for (const row of merged.values()) if (row !== null && this.#isLive(row)) rows.push(row);
    return rows.sort(compareRows);
  }

  /** Whether a key is on the page: after its start and, if the store had more rows, up to the last one read. */
  #pageOf(
    selection: Exclude<RowSelection, { readonly keys: readonly string[] }>,
  ): (k: number, k2: string) => boolean {
    const start = selection.after ?? { k: -1, k2: "" };
    const stored: PartitionRow[] = [];
    for (const row of this.#loaded.get(selection.rt)?.values() ?? []) {
      if (row !== null && compareKeys(row.k, row.k2, start) > 0) stored.push(row);
    }
    const end = stored.sort(compareRows)[selection.limit - 1];
    return (k, k2) => compareKeys(k, k2, start) > 0 && (end === undefined || compareKeys(k, k2, end) <= 0);
  }

  #isIn(selection: RowSelection, k: number, k2: string): boolean {
    // Nearly every command selects one key of a table.
    if ("keys" in selection && selection.keys.length === 1) return selection.keys[0] === k2;
    return this.#matcher(selection)(k, k2);
  }

  #matcher(selection: RowSelection): (k: number, k2: string) => boolean {
    const known = this.#matchers.get(selection);
    if (known !== undefined) return known;
    let matches: (k: number, k2: string) => boolean;
    if ("keys" in selection) {
      const keys = new Set(selection.keys);
      matches = (_k, k2) => keys.has(k2);
    } else matches = this.#pageOf(selection);
    this.#matchers.set(selection, matches);
    return matches;
  }

  #isLive(row: PartitionRow): boolean {
    return row.expiresAtMs === undefined || row.expiresAtMs >= this.#nowMs;
  }
}

/** Merges the selections of all commands of a turn: keys are grouped by table, and equal pages are read once. */
export function mergeSelections(all: readonly (readonly RowSelection[])[]): readonly RowSelection[] {
  const keys = new Map<number, Set<string>>();
  const pages = new Map<string, RowSelection>();
  for (const selections of all) {
    for (const selection of selections) {
      assertKeyed(selection.rt);
      if ("keys" in selection) {
        const known = keys.get(selection.rt);
        if (known === undefined) keys.set(selection.rt, new Set(selection.keys));
        else for (const key of selection.keys) known.add(key);
      } else {
        const { after } = selection;
        pages.set(`${selection.rt}/${selection.limit}/${after?.k}/${after?.k2}`, selection);
      }
    }
  }
  const byKey = [...keys].flatMap(([rt, of]) => (of.size > 0 ? [{ rt, keys: [...of] }] : []));
  return [...byKey, ...pages.values()];
}

function assertKeyed(rt: number): void {
  if (rt < rowTable.firstKeyed) throw new Error(`table ${rt} belongs to the actor system`);
}

function tableOf(tables: Tables, rt: number): Map<string, PartitionRow | null> {
  const known = tables.get(rt);
  if (known !== undefined) return known;
  const table = new Map<string, PartitionRow | null>();
  tables.set(rt, table);
  return table;
}

function keyOf(key: { readonly k: number; readonly k2: string }): string {
  return `${key.k}/${key.k2}`;
}

function parseKey(rt: number, key: string): RowKey {
  const slash = key.indexOf("/");
  return { rt, k: Number(key.slice(0, slash)), k2: key.slice(slash + 1) };
}

function compareRows(a: PartitionRow, b: PartitionRow): number {
  return compareKeys(a.k, a.k2, b);
}

function compareKeys(k: number, k2: string, other: { readonly k: number; readonly k2: string }): number {
  if (k !== other.k) return k - other.k;
  return k2 < other.k2 ? -1 : k2 > other.k2 ? 1 : 0;
}
