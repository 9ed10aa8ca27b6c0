// What is observed during a run: violations, coverage marks, and the facts that the checkers need at the end.

import { waitingLeaves } from "../../actors/log-sequencer/definition.ts";
import type { HeldReason } from "../../actors/messages/business.ts";
import type { PushFacts } from "../../actors/messages/push.ts";
import { type LedgerEvent, reservedFor } from "../../machines/ledger.ts";
import { chunkCount, chunkSize } from "../../machines/push.ts";
import { type ActorCommit, rowTable } from "../../storage/actor-store.ts";
import type { StoredCheckpoint } from "../../storage/log-store.ts";
import type { RecordVersion } from "../../storage/record-store.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { ActorPartition } from "../store/actor-partition.ts";
import type { StoreWitness } from "../store/store-model.ts";
import type { Faults } from "../world/faults.ts";
import { logIntervals } from "../world/variation.ts";

// The leaves that the log's sequencer acknowledged: each has a row from the commit that acknowledged it to the one that says where
// it went.
//   L1. Once faults have stopped and what they left has settled, a leaf waits no longer than its interval.
//   L2. What was acknowledged is in the log at the end (log.ts).

/** A timer may fire this much later than it is due, and what it begins may take as long. */
const graceMs = 2_000;

class LoggedLeaves {
  readonly #waitingSince = new Map<string, { readonly atMs: number; readonly isReceipts: boolean }>();
  readonly #acknowledged = new Set<string>();
  readonly #violate: (invariant: string, detail: string) => void;
  #settledFromMs = Number.POSITIVE_INFINITY;

  constructor(violate: (invariant: string, detail: string) => void) {
    this.#violate = violate;
  }

  get acknowledged(): ReadonlySet<string> {
    return this.#acknowledged;
  }

  /** What faults left has settled by then. */
  settlesBy(atMs: number): void {
    this.#settledFromMs = atMs;
  }

  /** Of the sequencer. */
  committed({ puts, deletes }: Pick<ActorCommit, "puts" | "deletes">, nowMs: number): void {
    for (const { rt, k2: leaf, body } of puts) {
      if (rt !== waitingLeaves.rt) continue;
      const { entry } = JSON.parse(body) as { readonly entry: { readonly leaf_type: string } };
      this.#waitingSince.set(leaf, { atMs: nowMs, isReceipts: entry.leaf_type === "receipt_batch" });
      this.#acknowledged.add(leaf);
    }
    for (const { rt, k2: leaf } of deletes) {
      if (rt !== waitingLeaves.rt) continue;
      const since = this.#waitingSince.get(leaf);
      this.#waitingSince.delete(leaf);
      if (since === undefined) continue;
      const intervalMs = since.isReceipts ? logIntervals.receiptsMs : logIntervals.leafMs;
      const lateMs = nowMs - Math.max(since.atMs + intervalMs, this.#settledFromMs) - graceMs;
      if (lateMs > 0) this.#violate("leaves-are-timely", `${leaf} waited ${lateMs} ms longer than it may`);
    }
  }
}

// Leaves staged for pushes, as the store holds them: an accepted push keeps its leaves until they are settled, and leaves
// that nobody accepts are removed once they are old.

/** Events of a push's journal that determine which leaves it still needs. */
type PushFact =
  | { readonly type: "push.accepted"; readonly facts: PushFacts }
  | { readonly type: "chunk.settled"; readonly chunk: number }
  | { readonly type: string };

/** After these events a push needs its leaves no more: it failed, or its hold ended. */
const overTypes: ReadonlySet<string> = new Set([
  "push.failed",
  "hold.rejected",
  "xstate.after.holdEnds.push.held",
]);

interface Needs {
  readonly records: number;
  /** The uploaded file that contains the records. */
  readonly file: string | null;
  settledChunks: number;
  isOver: boolean;
}

/** Keyed by the id of the push's actor, under which its leaves are staged as well. */
class StagedLeaves {
  readonly #needs = new Map<string, Needs>();
  readonly #hasLeaf: (id: string, leaf: number, file: string | null) => boolean;
  readonly #violate: (invariant: string, detail: string) => void;

  /** `hasLeaf`: whether a leaf, or the file that contains it, is staged in any region. */
  constructor(
    hasLeaf: (id: string, leaf: number, file: string | null) => boolean,
    violate: (invariant: string, detail: string) => void,
  ) {
    this.#hasLeaf = hasLeaf;
    this.#violate = violate;
  }

  happened(id: string, { type, ...rest }: PushFact): void {
    if (type === "push.accepted") {
      const { facts } = rest as { facts: PushFacts };
      this.#needs.set(id, {
        records: facts.records,
        file: facts.file?.name ?? null,
        settledChunks: 0,
        isOver: false,
      });
      this.#check(id, "was accepted");
      return;
    }
    const needs = this.#needs.get(id);
    if (needs === undefined) return;
    if (type === "chunk.settled")
      needs.settledChunks = Math.max(needs.settledChunks, (rest as { chunk: number }).chunk + 1);
    needs.isOver ||= overTypes.has(type) || needs.settledChunks === chunkCount(needs.records);
  }

  /** Called when staged leaves of the push were dropped. */
  dropped(id: string): void {
    this.#check(id, "was accepted before something was dropped,");
  }

  removed(file: string): void {
    for (const [id, needs] of this.#needs)
      if (needs.file === file) this.#check(id, "needs the file that was removed,");
  }

  isAccepted(id: string): boolean {
    return this.#needs.has(id);
  }

  #check(id: string, what: string): void {
    const needs = this.#needs.get(id);
    if (needs === undefined || needs.isOver) return;
    for (let leaf = needs.settledChunks * chunkSize; leaf < needs.records; leaf += 1) {
      if (this.#hasLeaf(id, leaf, needs.file)) continue;
      this.#violate("accepted-is-staged", `${id} ${what} and its leaf ${leaf} is not there`);
      return;
    }
  }
}

// Held pushes, by the journals of their businesses: nothing of one is published before it was confirmed, a hold is settled
// once, and only if what the push was sealed with is still in force.

/** Events of the journals of businesses and pushes that determine what becomes of holds. */
type HoldEvent =
  | { readonly type: "push.admitted"; readonly push_id: string; readonly held: boolean }
  | { readonly type: "hold.settled"; readonly push_id: string; readonly confirmed: boolean }
  | { readonly type: "push.finished" | "push.cancelled"; readonly push_id: string }
  | { readonly type: "key.revoked"; readonly key_id: string }
  | { readonly type: "policy.accepted"; readonly policy: { readonly version: number } }
  | ({ readonly type: "push.accepted"; readonly facts: PushFacts } & MayHold)
  | ({ readonly type: "push.prepared" } & MayHold);

interface MayHold {
  readonly held_reasons: readonly HeldReason[];
  readonly at_ms: number;
}

type Hold = "held" | "confirmed" | "ended";

class Holds {
  /** By the id of the push's actor, which begins with its business. */
  readonly #holds = new Map<string, Hold>();
  readonly #facts = new Map<string, PushFacts>();
  readonly #heldSinceMs = new Map<string, number>();
  readonly #revoked = new Set<string>();
  readonly #policies = new Map<string, number>();
  readonly #violate: (invariant: string, detail: string) => void;

  constructor(violate: (invariant: string, detail: string) => void) {
    this.#violate = violate;
  }

  /** An event of the actor with this id. */
  happened(id: string, event: { readonly type: string }): void {
    const known = event as HoldEvent;
    switch (known.type) {
      case "push.accepted":
        this.#facts.set(id, known.facts);
        this.#mayHold(id, known);
        break;
      case "push.prepared":
        this.#mayHold(id, known);
        break;
      case "push.admitted":
        if (known.held) this.#holds.set(`${id}.${known.push_id}`, "held");
        break;
      case "key.revoked":
        this.#revoked.add(`${id} ${known.key_id}`);
        break;
      case "policy.accepted":
        this.#policies.set(id, known.policy.version);
        break;
      case "hold.settled":
        this.#settled(id, known);
        break;
      case "push.finished":
      case "push.cancelled":
        this.#end(`${id}.${known.push_id}`);
        break;
      default:
    }
  }

  /** When the push was held, by its owner's clock. */
  heldSinceMs(id: string): number | undefined {
    return this.#heldSinceMs.get(id);
  }

  #mayHold(id: string, { held_reasons, at_ms }: MayHold): void {
    if (held_reasons.length > 0) this.#heldSinceMs.set(id, at_ms);
  }

  #settled(uuid: string, { push_id, confirmed }: Extract<HoldEvent, { type: "hold.settled" }>): void {
    const id = `${uuid}.${push_id}`;
    if (this.#holds.has(id) && this.#holds.get(id) !== "held")
      this.#violate("hold-settled-once", `the hold of ${id} was settled again`);
    this.#holds.set(id, confirmed ? "confirmed" : "ended");
    const facts = this.#facts.get(id);
    if (!confirmed || facts === undefined) return;
    if (this.#revoked.has(`${uuid} ${facts.key_id}`))
      this.#violate("hold-is-judged", `${id} was confirmed although its key is revoked`);
    const policy = this.#policies.get(uuid) ?? facts.ai_policy_version;
    if (policy !== facts.ai_policy_version)
      this.#violate(
        "hold-is-judged",
        `${id} names AI policy ${facts.ai_policy_version} and was confirmed under ${policy}`,
      );
  }

  #end(id: string): void {
    if (this.#holds.get(id) === "held") this.#holds.set(id, "ended");
  }

  wroteVersion({ business_uuid, seal_id, record_id }: RecordVersion): void {
    const hold = this.#holds.get(`${business_uuid}.${seal_id}`);
    if (hold === undefined || hold === "confirmed") return;
    this.#violate(
      "held-publishes-nothing",
      `${record_id} was published by ${seal_id}, whose hold is ${hold}`,
    );
  }
}

// What the ledgers of a world committed, as it happens, and what the companies received for it.
//   AC1. Money that is lent, returned and charged is counted for each holder by the commits alone, never by what a ledger says.

interface Lent {
  lent: number;
  returned: number;
  charged: number;
  untilMs: number;
}

interface Account {
  entered: number;
  balance: number;
  readonly holders: Map<string, Lent>;
  readonly available: { readonly atMs: number; readonly amount: number }[];
  /** Billable answers that were received, by keyid and nonce. */
  readonly received: Map<string, number>;
}

export interface ReceivedAnswer {
  readonly company: string;
  readonly keyId: string;
  readonly nonce: string;
  readonly price: number;
}

class Accounts {
  readonly #accounts = new Map<string, Account>();
  readonly #violate: (invariant: string, detail: string) => void;
  readonly #nowMs: () => number;

  constructor(nowMs: () => number, violate: (invariant: string, detail: string) => void) {
    this.#nowMs = nowMs;
    this.#violate = violate;
  }

  /** A ledger committed an event. */
  committed(company: string, event: LedgerEvent): void {
    const account = this.of(company);
    if (event.type === "money.entered") {
      account.entered += event.amount;
      account.balance += event.amount;
    } else if (event.type === "slice.leased") lend(account, event);
    else if (event.type === "charges.booked") this.#book(company, event);
    const amount = [...account.holders.values()].reduce(
      (rest, each) => rest - reservedOf(each),
      account.balance,
    );
    if (amount < 0) this.#violate("never-unpaid", `${-amount} of ${company} is lent out and was not paid in`);
    account.available.push({ atMs: this.#nowMs(), amount });
  }

  /** Every charge is of a holder that was lent money for it. */
  #book(company: string, event: Extract<LedgerEvent, { type: "charges.booked" }>): void {
    const { holders } = this.of(company);
    this.of(company).balance -= event.amount;
    for (const [name, used] of Object.entries(event.used)) {
      const holder = holders.get(name);
      if (holder === undefined || reservedOf(holder) < used)
        this.#violate(
          "charges-are-covered",
          `${used} is charged to ${company} for ${name}, which had ${holder === undefined ? "nothing" : reservedOf(holder)}`,
        );
      if (holder !== undefined) holder.charged += used;
    }
    if (event.more) return;
    for (const [name, { untilMs }] of holders)
      if (name.startsWith(`${event.region}/`) && untilMs < event.settled_ms) holders.delete(name);
  }

  received({ company, keyId, nonce, price }: ReceivedAnswer): void {
    const { received, entered } = this.of(company);
    received.set(`${keyId} ${nonce}`, price);
    const sum = [...received.values()].reduce((all, each) => all + each, 0);
    if (sum > entered)
      this.#violate("never-unpaid", `${company} received answers for ${sum}, ${entered} was paid in`);
  }

  /** The least that was available to a company since a moment, whatever nodes held. */
  leastAvailable(company: string, sinceMs: number): number {
    const { available } = this.of(company);
    const before = available.findLast(({ atMs }) => atMs < sinceMs)?.amount ?? 0;
    return Math.min(before, ...available.filter(({ atMs }) => atMs >= sinceMs).map(({ amount }) => amount));
  }

  of(company: string): Account {
    const known = this.#accounts.get(company);
    if (known !== undefined) return known;
    const account: Account = {
      entered: 0,
      balance: 0,
      holders: new Map(),
      available: [],
      received: new Map(),
    };
    this.#accounts.set(company, account);
    return account;
  }
}

function reservedOf(holder: Lent): number {
  return reservedFor({ ...holder, n: 0, given: 0, until_ms: holder.untilMs });
}

function lend(account: Account, event: Extract<LedgerEvent, { type: "slice.leased" }>): void {
  const known = account.holders.get(event.holder) ?? { lent: 0, returned: 0, charged: 0, untilMs: 0 };
  account.holders.set(event.holder, {
    lent: known.lent + event.amount,
    returned: known.returned + event.returned,
    charged: known.charged,
    untilMs: Math.max(known.untilMs, event.until_ms),
  });
}

export interface Violation {
  /** Stable name of the invariant, for example `one-writer`. */
  readonly invariant: string;
  readonly detail: string;
  /** Milliseconds since the start of the world. */
  readonly atMs: number;
}

const violationsMax = 20;

export class Observed implements StoreWitness {
  readonly violations: Violation[] = [];
  readonly marks = new Map<string, number>();
  /** Versions by `record_id/generation`, as first written. */
  readonly versions = new Map<string, RecordVersion>();
  /** The checkpoints of the log, in the order in which they were published. */
  readonly checkpoints: StoredCheckpoint[] = [];
  readonly staged: StagedLeaves;
  readonly holds: Holds;
  readonly accounts: Accounts;
  readonly leaves: LoggedLeaves;
  readonly #kernel: Kernel;
  readonly #faults: Faults;
  /** Actor → epoch that was claimed last. */
  readonly #epochs = new Map<string, number>();
  /** Actor and sender → sequence number received last. */
  readonly #heard = new Map<string, number>();
  /** Operations of commits that were sent with another → that one's. */
  readonly #together = new Map<string, string>();
  /** Operations of all commits that were applied. */
  readonly #applied = new Set<string>();
  /** Region, keyid and nonce → how many requests with it were begun, and how many of them were refused. */
  readonly refusals = new Map<string, { readonly begun: number; readonly refused: number }>();
  /** Region, keyid and nonce → incarnation that accepted it. */
  readonly #nonces = new Map<string, string>();

  /** `hasLeaf`: whether a leaf of a push, or the file that contains it, is staged in any region. */
  constructor(
    kernel: Kernel,
    faults: Faults,
    hasLeaf: (id: string, leaf: number, file: string | null) => boolean,
  ) {
    this.#kernel = kernel;
    this.#faults = faults;
    this.staged = new StagedLeaves(hasLeaf, (invariant, detail) => this.violate(invariant, detail));
    this.leaves = new LoggedLeaves((invariant, detail) => this.violate(invariant, detail));
    this.accounts = new Accounts(
      () => kernel.now(),
      (invariant, detail) => this.violate(invariant, detail),
    );
    this.holds = new Holds((invariant, detail) => this.violate(invariant, detail));
  }

  violate(invariant: string, detail: string): void {
    this.#kernel.tell(`VIOLATION ${invariant}`, () => detail);
    if (this.violations.length >= violationsMax) return;
    this.violations.push({ invariant, detail, atMs: this.#kernel.elapsed() });
  }

  /** Records that something worth reaching was reached. */
  mark(name: string): void {
    this.marks.set(name, (this.marks.get(name) ?? 0) + 1);
  }

  staleRead(): void {
    this.#faults.note("stale_read");
  }

  /** One writer: a commit follows the previous one and comes from the activation that claimed last. */
  committed(
    partition: ActorPartition,
    commit: ActorCommit,
    found: { readonly epoch: number; readonly head: number; readonly op: string },
  ): void {
    const name = `${partition.kind}/${partition.id}`;
    const head = commit.expectedHead + 1;
    this.#kernel.tell(`commit ${name}`, () => `head ${head} of epoch ${commit.epoch}: ${changesOf(commit)}`);
    this.#kernel.trace.number(head);
    this.#applied.add(commit.op);
    this.#checkHeard(name, commit);
    if (partition.kind === "log-sequencer") this.leaves.committed(commit, this.#kernel.now());
    for (const fact of eventsOf(commit)) {
      if (partition.kind === "push") this.staged.happened(partition.id, fact as PushFact);
      if (partition.kind === "ledger") this.accounts.committed(partition.id, fact as LedgerEvent);
      this.holds.happened(partition.id, fact);
      if (fact.type === "log.unwitnessed") this.mark("log.unwitnessed");
    }
    if (commit.epoch !== found.epoch)
      this.violate(
        "one-writer",
        `${name}: epoch ${commit.epoch} committed after epoch ${found.epoch} had claimed`,
      );
    if (commit.expectedHead !== found.head || commit.expectedOp !== found.op)
      this.violate(
        "one-writer",
        `${name}: a commit on head ${commit.expectedHead} was applied on head ${found.head}`,
      );
  }

  sentTogether({ op }: ActorCommit, others: readonly ActorCommit[]): void {
    for (const other of others) this.#together.set(other.op, op);
  }

  /** A message that its receiver took within its sender's commit was sent if it was received, and received if it was sent. */
  checkTogether(): void {
    for (const [other, first] of this.#together) {
      if (this.#applied.has(other)) this.mark("commit.joined");
      if (this.#applied.has(other) === this.#applied.has(first)) continue;
      const [done, left] = this.#applied.has(other) ? [other, first] : [first, other];
      this.violate("joined-whole", `${done} was applied without ${left}, with which it was sent`);
    }
  }

  /** An outbox message is received once, and those of one sender in order. */
  #checkHeard(name: string, { puts }: ActorCommit): void {
    for (const row of puts) {
      if (row.rt !== rowTable.inbox) continue;
      const key = `${name} ${row.k2}`;
      const known = this.#heard.get(key);
      if (known !== undefined && Number(row.body) <= known)
        this.violate("heard-once", `${name} heard message ${row.body} of ${row.k2} after message ${known}`);
      this.#heard.set(key, Number(row.body));
    }
  }

  /** One writer: every epoch is assigned to one activation. */
  claimed(partition: ActorPartition, epoch: number, owner: string): void {
    const name = `${partition.kind}/${partition.id}`;
    this.#kernel.tell(`claim ${name}`, () => `epoch ${epoch} for ${owner}`);
    if (epoch <= (this.#epochs.get(name) ?? 0))
      this.violate("one-writer", `${name}: epoch ${epoch} was claimed twice`);
    this.#epochs.set(name, epoch);
  }

  /** An applied commit is recognised as the owner's own, even if it is retried. */
  refused(partition: ActorPartition, commit: ActorCommit, found: { readonly op: string }): void {
    if (found.op === commit.op)
      this.violate(
        "own-commit-known",
        `${partition.kind}/${partition.id}: ${commit.op} is in force and was refused`,
      );
  }

  /** A claim returns everything that was committed before it. */
  activated(partition: ActorPartition, head: { readonly head: number; readonly op: string }): void {
    if (head.head === partition.head.head && head.op === partition.head.op) return;
    this.violate(
      "claim-is-complete",
      `${partition.kind}/${partition.id}: a claim returned head ${head.head}, head ${partition.head.head} was committed`,
    );
  }

  /** An accepted push keeps the file that contains its leaves. */
  removedFile(name: string): void {
    this.staged.removed(name);
  }

  publishedCheckpoint(checkpoint: StoredCheckpoint): void {
    this.#kernel.tell("checkpoint", () => `${checkpoint.size} leaves, ${checkpoint.root}`);
    this.checkpoints.push(checkpoint);
  }

  /** An accepted push keeps its leaves. */
  droppedStaged(id: string): void {
    this.#kernel.tell(`staged ${id} is dropped`);
    this.staged.dropped(id);
  }

  /** No record version is published twice, or with different content. */
  wroteVersion(version: RecordVersion): void {
    this.holds.wroteVersion(version);
    const key = `${version.record_id}/${version.generation}`;
    const known = this.versions.get(key);
    if (known === undefined) {
      this.versions.set(key, version);
      return;
    }
    this.mark("version.written_again");
    const same =
      known.seal_id === version.seal_id &&
      known.leaf_index === version.leaf_index &&
      known.hash === version.hash &&
      known.row === version.row &&
      known.sidecar === version.sidecar;
    if (!same)
      this.violate(
        "published-once",
        `${key} was written by leaf ${known.leaf_index} of ${known.seal_id} and by leaf ${version.leaf_index} of ${version.seal_id}`,
      );
  }

  /** A node begins to serve a request, or has refused it. */
  served(region: string, { keyId, nonce }: Signed, what: "begun" | "refused"): void {
    const key = `${region} ${keyId} ${nonce}`;
    const known = this.refusals.get(key) ?? { begun: 0, refused: 0 };
    this.refusals.set(key, { ...known, [what]: known[what] + 1 });
  }

  /** No nonce is accepted twice in a region. */
  nonceAccepted(region: string, request: Signed, by: string): void {
    const key = `${region} ${request.keyId} ${request.nonce}`;
    const known = this.#nonces.get(key);
    if (known !== undefined)
      this.violate(
        "nonce-once",
        `${request.nonce} of ${request.keyId} was accepted in ${region} by ${known} and by ${by}`,
      );
    this.#nonces.set(key, by);
  }
}

/** What distinguishes the requests of a key. */
interface Signed {
  readonly keyId: string;
  readonly nonce: string;
}

function eventsOf({ puts }: ActorCommit): readonly { readonly type: string }[] {
  return puts.flatMap((row) =>
    row.rt === rowTable.event ? (JSON.parse(row.body) as { e: readonly { type: string }[] }).e : [],
  );
}

/** Names of the events in a commit. */
function changesOf(commit: ActorCommit): string {
  const { puts, snapshot } = commit;
  const rows = puts.filter((row) => row.rt >= rowTable.firstKeyed).length;
  const names = eventsOf(commit)
    .map((event) => event.type)
    .join(", ");
  return `${names || "no events"}, ${rows} rows${snapshot === undefined ? "" : ", snapshot"}`;
}
