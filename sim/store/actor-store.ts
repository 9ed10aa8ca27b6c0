// Actors' journals on the model of Cassandra: the claim and commit protocol of the real adapter, statement by statement,
// so that a crash or another node can intervene between any two of them.
//   C1. Claim: serial read, conditional raise of the epoch, another serial read (it settles what a former owner left in
//       flight), then one read of the whole partition, lower-bounded by the snapshot.
//   C2. Commit: one conditional batch on epoch, head and operation. If it is refused but its own operation is in force,
//       it was applied.
//   C3. Rows are pruned within the fence, one commit after the snapshot that replaced them: reads do not rely on it.
//   C4. A store within its node's own process, as SQLite is, applies the commits of several actors in one step.
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
  rowTable,
  StoreError,
} from "../../storage/actor-store.ts";
import type { ActorPartition, CasResult, Mutation, PartitionHead } from "./actor-partition.ts";
import type { Reach } from "./statements.ts";
import { readPlainly, type StoreClient } from "./store-model.ts";

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
  const { model, life, region } = client;
  const { witness } = model;
  /** Whether a guard lets something pass: normally only if `isSound`; a removed guard lets everything pass. */
  const passes = (guard: keyof ActorStoreGuards, isSound: boolean): boolean => {
    if (isSound || guards[guard]) return isSound;
    missed();
    return true;
  };
  const read = <T>(execute: () => T): Promise<T> => readPlainly(client, execute);
  const serial = (partition: ActorPartition): Promise<PartitionHead> => {
    const subject = { name: `${partition.kind}/${partition.id}` };
    return model.statements.run(life, "serial", () => partition.serialRead(model.coin), subject);
  };
  const activationOf = (partition: ActorPartition, head: PartitionHead): Activation => {
    const nowMs = model.now();
    const isAfterSnapshot = (row: PartitionRow): boolean =>
      passes("replayIsLowerBounded", row.k > head.snapshotSeq);
    return {
      head: headOf(head),
      events: partition.rows(rowTable.event, nowMs).filter(isAfterSnapshot),
      outbox: partition.rows(rowTable.outbox, nowMs),
      timers: partition.rows(rowTable.timer, nowMs),
      inbox: partition.rows(rowTable.inbox, nowMs),
    };
  };
  const listActors: ActorStore["listActors"] = (kind, afterId, limit) =>
    read(() =>
      [...model.partitions.values()]
        .filter((each) => each.kind === kind && each.id > afterId && each.head.epoch > 0)
        .map(({ id }) => id)
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(0, limit),
    );
  return {
    createsActors: false,
    joinsCommits: model.isEmbedded,
    claim: async (ref, owner, firstEpoch = 1) => {
      const partition = model.partition(ref);
      const first = await serial(partition);
      const epoch = await raise(client, { partition, first, owner, firstEpoch, guards, passes });
      const settled = guards.claimReadsAgain ? await serial(partition) : first;
      return read(() => {
        const head = guards.claimReadsAgain ? partition.plainRead() : { ...settled, home: region };
        if (partition.isBehind || head.op !== partition.head.op) missed();
        witness.activated?.(partition, { ...head, epoch });
        return activationOf(partition, { ...head, epoch, owner });
      });
    },
    commit: async (commit) => {
      const { with: others = [] } = commit;
      if (others.length > 0) return commitTogether(client, commit, others);
      const partition = model.partition(commit.ref);
      // What the snapshot before this one contains (C3).
      const pruned = guards.pruneIsFenced ? { pruneTo: partition.head.snapshotSeq } : {};
      const mutation = { ...mutationOf(commit), ...pruned };
      const holds = (found: PartitionHead): boolean => {
        const { head, op } = found;
        return (
          passes("commitChecksEpoch", found.epoch === commit.epoch) &&
          passes("commitChecksHead", head === commit.expectedHead && op === commit.expectedOp) &&
          found.epoch > 0
        );
      };
      if (!guards.pruneIsFenced && commit.snapshot !== undefined) {
        const { seq } = commit.snapshot;
        missed();
        model.statements.run(life, "write", () => partition.prune(seq)).catch(() => {});
      }
      const { applied, found } = await cas(client, partition, { holds, mutation }, commit);
      if (applied || (commit.forget && found.epoch === 0)) return { status: "applied" };
      if (!passes("refusalComparesOperation", found.op !== commit.op)) return { status: "applied" };
      witness.refused?.(partition, commit, found);
      return { status: "refused", epoch: found.epoch, head: found.head, op: found.op };
    },
    readRows: (ref, selections) => {
      const partition = model.partition(ref);
      return read(() => {
        if (partition.isBehind) witness.staleRead?.();
        const nowMs = model.now();
        return selections.flatMap((selection) => partition.select(selection, nowMs));
      });
    },
    readHead: async (ref) => {
      const head = await serial(model.partition(ref));
      return head.epoch === 0 ? null : headOf(head);
    },
    dueActors: (nowMs, limit) =>
      read(() => {
        const due: { ref: ActorRef; wakeAtMs: number }[] = [];
        for (const { kind, id, hintedWakeMs, head } of model.partitions.values()) {
          if (hintedWakeMs === null || hintedWakeMs > nowMs || head.home !== region) continue;
          due.push({ ref: { kind, id }, wakeAtMs: hintedWakeMs });
        }
        return due.sort((a, b) => a.wakeAtMs - b.wakeAtMs).slice(0, limit);
      }),
    listActors,
    countActors: (kind, max) => listActors(kind, "", max).then((ids) => ids.length),
  };
}

function cas(
  { model, life }: StoreClient,
  partition: ActorPartition,
  statement: { readonly holds: (found: PartitionHead) => boolean; readonly mutation: Mutation },
  commit: ActorCommit | null = null,
): Promise<CasResult> {
  const { epoch, owner } = statement.mutation.head;
  const onApplied = (found: PartitionHead): void => {
    if (commit !== null) model.witness.committed?.(partition, commit, found);
    else if (epoch !== undefined) model.witness.claimed?.(partition, epoch, owner ?? "");
  };
  const execute = (reach: Reach): CasResult => partition.cas({ ...statement, onApplied }, reach, model.coin);
  const isHearing = commit?.puts.some((row) => row.rt === rowTable.inbox) === true;
  const isLogging = commit !== null && partition.kind === "log-sequencer";
  const name = `${partition.kind}/${partition.id}`;
  return model.statements.run(life, "cas", execute, { name, isHearing, isLogging });
}

/** C4. */
function commitTogether(
  { model, life }: StoreClient,
  commit: ActorCommit,
  others: readonly ActorCommit[],
): Promise<CommitOutcome> {
  const follows = ({ ref, epoch, expectedHead, expectedOp }: ActorCommit): boolean => {
    const { head } = model.partition(ref);
    return head.epoch === epoch && head.head === expectedHead && head.op === expectedOp;
  };
  const refused = (each: ActorCommit) => {
    const { epoch, head, op } = model.partition(each.ref).head;
    return { status: "refused", epoch, head, op } as const;
  };
  const execute = (): CommitOutcome => {
    if (!follows(commit)) {
      const outcome = refused(commit);
      return outcome.op === commit.op ? { status: "applied" } : outcome;
    }
    const other = others.find((each) => !follows(each));
    if (other !== undefined) return { ...refused(other), other };
    for (const each of [commit, ...others]) {
      const partition = model.partition(each.ref);
      const found = { ...partition.head };
      partition.apply({ ...mutationOf(each), pruneTo: found.snapshotSeq });
      model.witness.committed?.(partition, each, found);
    }
    return { status: "applied" };
  };
  const { kind, id } = commit.ref;
  const isLogging = others.some(({ ref }) => ref.kind === "log-sequencer");
  return model.statements.run(life, "cas", execute, { name: `${kind}/${id}`, isLogging });
}

interface Claim {
  readonly partition: ActorPartition;
  readonly first: PartitionHead;
  readonly owner: string;
  readonly firstEpoch: number;
  readonly guards: ActorStoreGuards;
  readonly passes: (guard: keyof ActorStoreGuards, isSound: boolean) => boolean;
}

/** Raises the epoch by one from the value that was read, or from the one to which another claimer raised it meanwhile. */
async function raise(client: StoreClient, claim: Claim): Promise<number> {
  const { partition, first, owner, firstEpoch, guards, passes } = claim;
  const { region } = client;
  let seen = first;
  for (let round = 0; round < claimRoundsMax; round += 1) {
    if (seen.home !== "" && seen.home !== region && guards.refusesForeignHome) {
      throw new StoreError("not_applied", `${partition.kind}/${partition.id} is at home in ${seen.home}`);
    }
    const { epoch } = seen;
    const next = epoch === 0 ? firstEpoch : epoch + 1;
    const { applied, found } = await cas(client, partition, {
      holds: (current) => passes("claimRaisesConditionally", current.epoch === epoch),
      mutation: { head: { epoch: next, owner, home: region }, puts: [], deletes: [] },
    });
    if (applied) return next;
    seen = found;
  }
  throw new StoreError("not_applied", `${claimRoundsMax} others claimed ${partition.id} meanwhile`);
}

function mutationOf({ expectedHead, op, wakeAtMs, snapshot, puts, deletes, forget }: ActorCommit): Mutation {
  const head = { head: expectedHead + 1, op, wakeAtMs };
  const taken = snapshot && {
    snapshotSeq: snapshot.seq,
    snapshot: snapshot.body,
    schemaVersion: snapshot.schemaVersion,
  };
  return { head: { ...head, ...taken }, ...(forget ? { forget } : {}), puts, deletes };
}

function headOf({ home: _home, wakeAtMs: _wake, ...head }: PartitionHead): ActorHead {
  return head;
}
