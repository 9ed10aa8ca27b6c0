// Actor journals in memory, for tests and the simulator. The store meets the port's obligations S1–S9 as far as a store
// without a disk can (its contents are the "disk": discard the system, keep the store), and lets a script decide what
// happens to each call: loss before, loss after, delay.

import {
  type Activation,
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type CommitOutcome,
  type PartitionRow,
  type RowKey,
  type RowSelection,
  rowTable,
  StoreError,
} from "../actor-store.ts";

export type StoreOperation =
  | "claim"
  | "commit"
  | "readRows"
  | "readHead"
  | "dueActors"
  | "listActors"
  | "countActors";

/** What a scripted failure does: `before` is known not to apply; the other two look alike to the caller. */
export type StoreFault = "before" | "unknown_not_applied" | "unknown_applied";

export interface StoreCall {
  readonly operation: StoreOperation;
  readonly ref: ActorRef | null;
  readonly commit: ActorCommit | null;
}

/** Intercepts calls between caller and store. `apply` does the work, immediately and at most once per call. */
export type StoreInterceptor = <T>(call: StoreCall, apply: () => T) => Promise<T>;

export interface MemoryActorStoreOptions {
  /** Returns Unix milliseconds; expired rows are forgotten as soon as permitted, the strictest reading of S6. */
  readonly now?: () => number;
  readonly intercept?: StoreInterceptor;
}

interface Partition {
  readonly ref: ActorRef;
  head: ActorHead;
  wakeAtMs: number | null;
  readonly rows: PartitionRows;
}

export class MemoryActorStore implements ActorStore {
  readonly createsActors: boolean = true;
  readonly joinsCommits: boolean = true;
  readonly #partitions = new Map<string, Partition>();
  readonly #now: () => number;
  readonly #faults: { operation: StoreOperation; fault: StoreFault }[] = [];
  readonly #calls = new Map<StoreOperation, number>();
  /** May be replaced at any time. */
  intercept: StoreInterceptor | undefined;

  constructor(options: MemoryActorStoreOptions = {}) {
    this.#now = options.now ?? (() => 0);
    this.intercept = options.intercept;
  }

  /** Makes the next call of `operation` that has no fault yet fail with `fault`; repeated calls queue up. */
  failNext(operation: StoreOperation, fault: StoreFault): void {
    this.#faults.push({ operation, fault });
  }

  /** How often an operation was called, failures included. */
  callsOf(operation: StoreOperation): number {
    return this.#calls.get(operation) ?? 0;
  }

  claim(ref: ActorRef, owner: string, firstEpoch = 1): Promise<Activation> {
    return this.#call({ operation: "claim", ref, commit: null }, () => {
      const key = keyOf(ref);
      const partition = this.#partitions.get(key) ?? emptyPartition(ref, firstEpoch - 1);
      this.#partitions.set(key, partition);
      partition.head = { ...partition.head, epoch: partition.head.epoch + 1, owner };
      const nowMs = this.#now();
      const of = (rt: number): PartitionRow[] => partition.rows.of(rt, nowMs);
      return {
        head: partition.head,
        events: of(rowTable.event).filter((event) => event.k > partition.head.snapshotSeq),
        outbox: of(rowTable.outbox),
        timers: of(rowTable.timer),
        inbox: of(rowTable.inbox),
      };
    });
  }

  commit(commit: ActorCommit): Promise<CommitOutcome> {
    return this.#call({ operation: "commit", ref: commit.ref, commit }, () => this.#commit(commit));
  }

  readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]> {
    return this.#call({ operation: "readRows", ref, commit: null }, () => {
      const partition = this.#partitions.get(keyOf(ref));
      const nowMs = this.#now();
      return selections.flatMap((selection) => partition?.rows.select(selection, nowMs) ?? []);
    });
  }

  readHead(ref: ActorRef): Promise<ActorHead | null> {
    const call: StoreCall = { operation: "readHead", ref, commit: null };
    return this.#call(call, () => this.#partitions.get(keyOf(ref))?.head ?? null);
  }

  dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]> {
    return this.#call({ operation: "dueActors", ref: null, commit: null }, () =>
      [...this.#partitions.values()]
        .flatMap(({ ref, wakeAtMs }) => (wakeAtMs !== null && wakeAtMs <= nowMs ? [{ ref, wakeAtMs }] : []))
        .sort((a, b) => a.wakeAtMs - b.wakeAtMs)
        .slice(0, limit),
    );
  }

  listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]> {
    return this.#call({ operation: "listActors", ref: null, commit: null }, () =>
      [...this.#partitions.values()]
        .filter(({ ref }) => ref.kind === kind && ref.id > afterId)
        .map(({ ref }) => ref.id)
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(0, limit),
    );
  }

  countActors(kind: string, max: number): Promise<number> {
    return this.#call({ operation: "countActors", ref: null, commit: null }, () =>
      Math.min(max, [...this.#partitions.values()].filter(({ ref }) => ref.kind === kind).length),
    );
  }

  /** S10. */
  #commit(commit: ActorCommit): CommitOutcome {
    const others = commit.with ?? [];
    const other = others.find((each) => !this.#follows(each));
    if (other === undefined || !this.#follows(commit)) {
      const outcome = this.#commitOne(commit);
      if (other === undefined && outcome.status === "applied")
        for (const each of others) this.#commitOne(each);
      return outcome;
    }
    const { epoch = 0, head = 0, op = "" } = this.#partitions.get(keyOf(other.ref))?.head ?? {};
    return { status: "refused", epoch, head, op, other };
  }

  #follows({ ref, epoch, expectedHead, expectedOp }: ActorCommit): boolean {
    const head = this.#partitions.get(keyOf(ref))?.head;
    return head?.epoch === epoch && head.head === expectedHead && head.op === expectedOp;
  }

  #commitOne(commit: ActorCommit): CommitOutcome {
    const { creates } = commit;
    const known = this.#partitions.get(keyOf(commit.ref));
    const partition = known ?? (creates === undefined ? undefined : newPartition(commit, creates));
    if (partition === undefined)
      return commit.forget ? { status: "applied" } : { status: "refused", epoch: 0, head: 0, op: "" };
    const { epoch, head, op } = partition.head;
    if (known !== undefined && creates !== undefined)
      return op === commit.op ? { status: "applied" } : { status: "refused", epoch, head, op };
    if (epoch !== commit.epoch || head !== commit.expectedHead || op !== commit.expectedOp) {
      return op === commit.op ? { status: "applied" } : { status: "refused", epoch, head, op };
    }
    if (commit.forget) {
      this.#partitions.delete(keyOf(commit.ref));
      return { status: "applied" };
    }
    this.#partitions.set(keyOf(commit.ref), partition);
    partition.head = { ...partition.head, head: head + 1, op: commit.op };
    partition.wakeAtMs = commit.wakeAtMs;
    partition.rows.change(commit);
    if (commit.snapshot !== undefined) {
      const { seq, body, schemaVersion } = commit.snapshot;
      partition.head = { ...partition.head, snapshotSeq: seq, snapshot: body, schemaVersion };
      partition.rows.prune(seq);
    }
    return { status: "applied" };
  }

  #call<T>(call: StoreCall, apply: () => T): Promise<T> {
    this.#calls.set(call.operation, this.callsOf(call.operation) + 1);
    const scripted = this.#faults.findIndex((fault) => fault.operation === call.operation);
    if (scripted >= 0) {
      const fault = this.#faults.splice(scripted, 1)[0]?.fault;
      if (fault === "unknown_applied") apply();
      const effect = fault === "before" ? "not_applied" : "unknown";
      return Promise.reject(new StoreError(effect, `scripted failure of ${call.operation}: ${fault}`));
    }
    if (this.intercept !== undefined) return this.intercept(call, apply);
    return Promise.resolve(apply());
  }
}

function emptyPartition(ref: ActorRef, epoch: number): Partition {
  const head = { epoch, owner: "", head: 0, op: "", snapshotSeq: 0, snapshot: null, schemaVersion: 0 };
  return {
    ref: { kind: ref.kind, id: ref.id },
    head,
    wakeAtMs: null,
    rows: new PartitionRows(),
  };
}

function newPartition({ ref, epoch }: ActorCommit, owner: string): Partition {
  const partition = emptyPartition(ref, epoch);
  return { ...partition, head: { ...partition.head, owner } };
}

function keyOf(ref: ActorRef): string {
  return `${ref.kind}/${ref.id}`;
}

/** The rows of one partition, by table. */
export class PartitionRows {
  readonly #tables = new Map<number, Map<string, PartitionRow>>();
  readonly #deleted = new DeletedRows();

  /** Rows of a table in (k, k2) order, without those expired at `nowMs`. */
  of(rt: number, nowMs: number): PartitionRow[] {
    const table = this.#tables.get(rt);
    if (table === undefined) return [];
    const rows: PartitionRow[] = [];
    for (const [key, row] of table) {
      if (row.expiresAtMs !== undefined && row.expiresAtMs < nowMs) {
        table.delete(key);
        this.#deleted.delete(row);
      } else rows.push(row);
    }
    return rows.sort(compareKeys);
  }

  /**
   * The rows of a selection, of those with a `k` above `least`. Those that it names by their text key are found whatever their
   * number.
   */
  select(selection: RowSelection, nowMs: number, least = -1): readonly PartitionRow[] {
    const rows = this.of(selection.rt, nowMs).filter((row) => row.k > least);
    if ("keys" in selection) {
      const wanted = new Set(selection.keys);
      return rows.filter((row) => wanted.has(row.k2));
    }
    const { after, limit } = selection;
    const rest = after === undefined ? rows : rows.filter((row) => compareKeys(row, after) > 0);
    const found = rest.slice(0, limit);
    this.#deleted.check(selection, found);
    return found;
  }

  change({ puts, deletes }: Pick<ActorCommit, "puts" | "deletes">): void {
    for (const key of deletes) {
      this.#tables.get(key.rt)?.delete(`${key.k}/${key.k2}`);
      this.#deleted.delete(key);
    }
    for (const row of puts) {
      const table = this.#tables.get(row.rt) ?? new Map<string, PartitionRow>();
      this.#tables.set(row.rt, table.set(`${row.k}/${row.k2}`, row));
      this.#deleted.put(row);
    }
  }

  /** Removes event rows up to `sequence`. */
  prune(sequence: number): void {
    const events = this.#tables.get(rowTable.event);
    for (const [key, row] of events ?? []) if (row.k <= sequence) events?.delete(key);
  }

  clear(): void {
    this.#tables.clear();
  }
}

function compareKeys(a: Place, b: Place): number {
  return isBefore(a, b) ? -1 : isBefore(b, a) ? 1 : 0;
}

// The rows of a partition that were deleted and that Cassandra still keeps as tombstones: a page passes over those that lie before
// its last row. Stores that lack tombstones count them, so that a test fails where a real store would get slower and then refuse.
//   TR1. A page passes over a bounded number of deleted rows, however many there are: what is deleted in order is read from behind it.

/** A batch of the log, the most rows that one commit deletes, may be passed over once. */
export const passedOverMax = 1_024;

class DeletedRows {
  readonly #ofTable = new Map<number, Map<string, RowKey>>();

  delete({ rt, k, k2 }: RowKey): void {
    const keys = this.#ofTable.get(rt) ?? new Map<string, RowKey>();
    this.#ofTable.set(rt, keys.set(`${k}/${k2}`, { rt, k, k2 }));
  }

  put({ rt, k, k2 }: RowKey): void {
    this.#ofTable.get(rt)?.delete(`${k}/${k2}`);
  }

  /** Throws where the page `found` passes over more than {@link passedOverMax} (TR1). Reads by keys pass over none. */
  check(selection: RowSelection, found: readonly PartitionRow[]): void {
    const keys = this.#ofTable.get(selection.rt);
    if ("keys" in selection || keys === undefined || keys.size <= passedOverMax) return;
    const { after, limit } = selection;
    const last = found.length < limit ? undefined : found.at(-1);
    let passed = 0;
    for (const key of keys.values())
      if ((after === undefined || isBefore(after, key)) && (last === undefined || isBefore(key, last)))
        passed += 1;
    if (passed > passedOverMax)
      throw new Error(`A page of table ${selection.rt} passes over ${passed} rows that were deleted.`);
  }
}

type Place = Pick<RowKey, "k" | "k2">;

function isBefore(a: Place, b: Place): boolean {
  return a.k === b.k ? a.k2 < b.k2 : a.k < b.k;
}
