// Actors' journals on the model of Cassandra: the claim and commit protocol of the real adapter, statement by statement,
// so that a crash or another node can intervene between any two of them.
//   C1. Claim: serial read, conditional raise of the epoch, another serial read (it settles what a former owner left in
//       flight), then one read of the whole partition, lower-bounded by the snapshot.
//   C2. Commit: one conditional batch on epoch, head and operation. If it is refused but its own operation is in force,
//       it was applied.
//   C3. Rows are pruned within the fence, one commit after the snapshot that replaced them: reads do not rely on it.
// `guards` removes single guards, for simulations that must detect their absence; `missed` is called where a removed guard
// would have made a difference.

import {
  type Activation,
  type ActorCommit,
  type ActorHead,
  type ActorRef,
  type ActorStore,
  type CommitOutcome,
  type PartitionRow,
  type RowSelection,
  rowTable,
  StoreError,
} from "../../storage/actor-store.ts";
import type { ActorPartition, CasResult, Mutation, PartitionHead } from "./actor-partition.ts";
import type { Reach } from "./statements.ts";
import type { StoreClient } from "./store-model.ts";

/** Each is true in the real protocol. */
export interface ActorStoreGuards {
  readonly commitChecksEpoch: boolean;
  readonly commitChecksHead: boolean;
  readonly refusalComparesOperation: boolean;
  readonly claimRaisesConditionally: boolean;
  readonly claimReadsAgain: boolean;
  readonly replayIsLowerBounded: boolean;
  readonly pruneIsFenced: boolean;
  readonly refusesForeignHome: boolean;
}

export const allGuards: ActorStoreGuards = {
  commitChecksEpoch: true,
  commitChecksHead: true,
  refusalComparesOperation: true,
  claimRaisesConditionally: true,
  claimReadsAgain: true,
  replayIsLowerBounded: true,
  pruneIsFenced: true,
  refusesForeignHome: true,
};

/** Other claimers may intervene; each claimed the actor in the meantime, so many rounds are not expected. */
const claimRoundsMax = 8;

export function openSimActorStore(
  client: StoreClient,
  guards: ActorStoreGuards = allGuards,
  missed: () => void = () => {},
): ActorStore {
  return new SimActorStore(client, guards, missed);
}

class SimActorStore implements ActorStore {
  readonly createsActors = false;
  readonly #client: StoreClient;
  readonly #guards: ActorStoreGuards;
  readonly #missed: () => void;

  constructor(client: StoreClient, guards: ActorStoreGuards, missed: () => void) {
    this.#client = client;
    this.#guards = guards;
    this.#missed = missed;
  }

  async claim(ref: ActorRef, owner: string, firstEpoch = 1): Promise<Activation> {
    const { model, region } = this.#client;
    const partition = model.partition(ref);
    const first = await this.#serial(partition);
    const epoch = await this.#raise(partition, first, { owner, firstEpoch });
    const settled = this.#guards.claimReadsAgain ? await this.#serial(partition) : first;
    return this.#run("read", () => {
      const head = this.#guards.claimReadsAgain ? partition.plainRead() : { ...settled, home: region };
      if (partition.isBehind || head.op !== partition.head.op) this.#missed();
      model.witness.activated?.(partition, { ...head, epoch });
      return this.#activation(partition, { ...head, epoch, owner });
    });
  }

  async commit(commit: ActorCommit): Promise<CommitOutcome> {
    const { model } = this.#client;
    const partition = model.partition(commit.ref);
    const mutation = this.#mutationOf(commit, partition);
    const holds = (found: PartitionHead): boolean =>
      this.#passes("commitChecksEpoch", found.epoch === commit.epoch) &&
      this.#passes(
        "commitChecksHead",
        found.head === commit.expectedHead && found.op === commit.expectedOp,
      ) &&
      found.epoch > 0;
    if (!this.#guards.pruneIsFenced && commit.snapshot !== undefined) {
      const { seq } = commit.snapshot;
      this.#missed();
      this.#run("write", () => partition.prune(seq)).catch(() => {});
    }
    const { applied, found } = await this.#cas(partition, { holds, mutation }, commit);
    if (applied || (commit.forget && found.epoch === 0)) return { status: "applied" };
    if (!this.#passes("refusalComparesOperation", found.op !== commit.op)) {
      return { status: "applied" };
    }
    model.witness.refused?.(partition, commit, found);
    return { status: "refused", epoch: found.epoch, head: found.head, op: found.op };
  }

  readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]> {
    const { model } = this.#client;
    const partition = model.partition(ref);
    return this.#run("read", () => {
      if (partition.isBehind) model.witness.staleRead?.();
      const nowMs = model.now();
      return selections.flatMap((selection) => partition.select(selection, nowMs));
    });
  }

  async readHead(ref: ActorRef): Promise<ActorHead | null> {
    const head = await this.#serial(this.#client.model.partition(ref));
    return head.epoch === 0 ? null : headOf(head);
  }

  dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]> {
    const { model, region } = this.#client;
    return this.#run("read", () => {
      const due: { ref: ActorRef; wakeAtMs: number }[] = [];
      for (const { kind, id, hintedWakeMs, head } of model.partitions.values()) {
        if (hintedWakeMs === null || hintedWakeMs > nowMs || head.home !== region) continue;
        due.push({ ref: { kind, id }, wakeAtMs: hintedWakeMs });
      }
      return due.sort((a, b) => a.wakeAtMs - b.wakeAtMs).slice(0, limit);
    });
  }

  listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]> {
    const { model } = this.#client;
    return this.#run("read", () =>
      [...model.partitions.values()]
        .filter((each) => each.kind === kind && each.id > afterId && each.head.epoch > 0)
        .map(({ id }) => id)
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(0, limit),
    );
  }

  countActors(kind: string, max: number): Promise<number> {
    return this.listActors(kind, "", max).then((ids) => ids.length);
  }

  /** Whether a guard lets something pass: normally only if `isSound`; a removed guard lets everything pass. */
  #passes(guard: keyof ActorStoreGuards, isSound: boolean): boolean {
    if (isSound || this.#guards[guard]) return isSound;
    this.#missed();
    return true;
  }

  #run<T>(kind: "read" | "write", execute: () => T): Promise<T> {
    return this.#client.model.statements.run(this.#client.life, kind, execute);
  }

  #serial(partition: ActorPartition): Promise<PartitionHead> {
    const { model, life } = this.#client;
    const subject = { name: `${partition.kind}/${partition.id}` };
    return model.statements.run(life, "serial", () => partition.serialRead(model.coin), subject);
  }

  #cas(
    partition: ActorPartition,
    statement: { readonly holds: (found: PartitionHead) => boolean; readonly mutation: Mutation },
    commit: ActorCommit | null = null,
  ): Promise<CasResult> {
    const { model, life } = this.#client;
    const { witness } = model;
    const { epoch, owner } = statement.mutation.head;
    const onApplied = (found: PartitionHead): void => {
      if (commit !== null) witness.committed?.(partition, commit, found);
      else if (epoch !== undefined) witness.claimed?.(partition, epoch, owner ?? "");
    };
    const execute = (reach: Reach): CasResult =>
      partition.cas({ ...statement, onApplied }, reach, model.coin);
    const isHearing = commit?.puts.some((row) => row.rt === rowTable.inbox) === true;
    const isLogging = commit !== null && partition.kind === "log-sequencer";
    return model.statements.run(life, "cas", execute, {
      name: `${partition.kind}/${partition.id}`,
      isHearing,
      isLogging,
    });
  }

  /** Raises the epoch by one from the value that was read, or from the one to which another claimer raised it meanwhile. */
  async #raise(
    partition: ActorPartition,
    first: PartitionHead,
    { owner, firstEpoch }: { readonly owner: string; readonly firstEpoch: number },
  ): Promise<number> {
    const { region } = this.#client;
    let seen = first;
    for (let round = 0; round < claimRoundsMax; round += 1) {
      if (seen.home !== "" && seen.home !== region && this.#guards.refusesForeignHome) {
        throw new StoreError("not_applied", `${partition.kind}/${partition.id} is at home in ${seen.home}`);
      }
      const { epoch } = seen;
      const next = epoch === 0 ? firstEpoch : epoch + 1;
      const { applied, found } = await this.#cas(partition, {
        holds: (current) => this.#passes("claimRaisesConditionally", current.epoch === epoch),
        mutation: { head: { epoch: next, owner, home: region }, puts: [], deletes: [] },
      });
      if (applied) return next;
      seen = found;
    }
    throw new StoreError("not_applied", `${claimRoundsMax} others claimed ${partition.id} meanwhile`);
  }

  #activation(partition: ActorPartition, head: PartitionHead): Activation {
    const nowMs = this.#client.model.now();
    const isAfterSnapshot = (row: PartitionRow): boolean =>
      this.#passes("replayIsLowerBounded", row.k > head.snapshotSeq);
    return {
      head: headOf(head),
      events: partition.rows(rowTable.event, nowMs).filter(isAfterSnapshot),
      outbox: partition.rows(rowTable.outbox, nowMs),
      timers: partition.rows(rowTable.timer, nowMs),
      inbox: partition.rows(rowTable.inbox, nowMs),
    };
  }

  #mutationOf(commit: ActorCommit, partition: ActorPartition): Mutation {
    const { snapshot } = commit;
    return {
      head: {
        head: commit.expectedHead + 1,
        op: commit.op,
        wakeAtMs: commit.wakeAtMs,
        ...(snapshot === undefined
          ? {}
          : {
              snapshotSeq: snapshot.seq,
              snapshot: snapshot.body,
              schemaVersion: snapshot.schemaVersion,
            }),
      },
      ...(commit.forget ? { forget: true } : {}),
      puts: commit.puts,
      deletes: commit.deletes,
      // What the snapshot before this one contains (C3).
      ...(this.#guards.pruneIsFenced ? { pruneTo: partition.head.snapshotSeq } : {}),
    };
  }
}

function headOf({ home: _home, wakeAtMs: _wake, ...head }: PartitionHead): ActorHead {
  return head;
}
