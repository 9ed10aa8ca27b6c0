// What is observed during a run: violations, coverage marks, and the facts that the checkers need at the end.

import type { LedgerEvent } from "../../machines/ledger.ts";
import { type ActorCommit, rowTable } from "../../storage/actor-store.ts";
import type { StoredCheckpoint } from "../../storage/log-store.ts";
import type { RecordVersion } from "../../storage/record-store.ts";
import type { Kernel } from "../kernel/kernel.ts";
import type { ActorPartition } from "../store/actor-partition.ts";
import type { StoreWitness } from "../store/store-model.ts";
import type { Faults } from "../world/faults.ts";
import { Accounts } from "./accounts.ts";
import { Holds } from "./holds.ts";
import { LoggedLeaves } from "./logged-leaves.ts";
import { type PushFact, StagedLeaves } from "./staged-leaves.ts";

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
