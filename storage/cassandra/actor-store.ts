// Actor journals in Cassandra: one partition per actor, written by conditional batches only. It meets the port's
// obligations S1–S8, and creates no actors (S9).
//   F1. A commit is one conditional batch and nothing else, apart from an occasional hint (wake-hints, H1), which is
//       written before it. A refusal shows the operation at the head: if it is the commit's own, the commit was applied
//       (S3).
//   F2. A commit whose outcome is unknown is reported as such; no plain read follows it until a conditional write or a
//       serial read of the same partition has completed or discarded it. The caller's next steps are always one of these
//       two.
//   F3. Deletes and puts of one commit never name the same key: within a batch the delete would win.
//   F4. With `replicateBeforeAck` a commit of a party's actor is acknowledged once the other regions have it as well;
//       actors that belong to a region are lost with it, and need no other region. The commit's level counts replicas of
//       all regions together, so a takeover queries every remaining replica.
//   F5. What is forgotten has no head any more, and no row. Its name is deleted as of the moment before, so that the name of a later actor
//       stays.
//
// A batch in one partition is not limited by Cassandra's batch size thresholds, but by half a commit log segment (16 MiB
// by default); the largest commit of the actor system is well below that.

import { Buffer } from "node:buffer";
import { randomUUID } from "node:crypto";
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
} from "../actor-store.ts";
import { type ClaimRules, claimActor } from "./actor-claim.ts";
import {
  ActorClaim,
  ClaimCache,
  encodeBody,
  fromOperation,
  neverWakes,
  readRowsThrough,
  readSelection,
  readStatics,
  readThrough,
  type Statics,
  toOperation,
} from "./actor-rows.ts";
import {
  type CassandraSession,
  type Consistency,
  type CqlParam,
  type CqlResult,
  executeAll,
  type Statement,
} from "./session.ts";
import { needsHint, WakeHints, wasSlow } from "./wake-hints.ts";

export interface CassandraActorStoreOptions {
  /** This node's region; also the name of the session's data centre. */
  readonly region: string;
  /** Unix milliseconds, for expiry and wake-up hints. */
  readonly now: () => number;
  /** Whether the actor may live in `home` now; called before a region becomes an actor's home. By default always true. */
  readonly homeAllowed?: (ref: ActorRef, home: string) => boolean;
  /** Regions declared dead whose actors this region takes over. None by default. */
  readonly deadRegions?: () => ReadonlySet<string>;
  /** The party that the actor belongs to, for {@link CassandraActorStore.actorsOf}; null if it belongs to none. */
  readonly partyOf?: (ref: ActorRef) => string | null;
  /** Whether actors of the kind are listed (N1); by default all are. One that belongs to a party has to be. */
  readonly isListed?: (kind: string) => boolean;
  /** Acknowledges a commit only once other regions have it (F4). */
  readonly replicateBeforeAck?: boolean;
}

export interface CassandraActorStore extends ActorStore {
  /**
   * Makes another region the actor's home; this region must be its current home. Idempotent. The actor's current
   * activation is fenced off. Throws {@link StoreError}.
   */
  handOver(ref: ActorRef, to: string): Promise<void>;
  /** All actors of a party that were ever claimed, in any region. */
  actorsOf(party: string): Promise<readonly ActorRef[]>;
}

export function openCassandraActorStore(
  session: CassandraSession,
  options: CassandraActorStoreOptions,
): CassandraActorStore {
  return new ActorJournals(session, options);
}

class ActorJournals implements CassandraActorStore {
  readonly createsActors = false;
  readonly joinsCommits = false;
  readonly #session: CassandraSession;
  readonly #options: CassandraActorStoreOptions;
  readonly #rules: Omit<ClaimRules, "firstEpoch">;
  readonly #hints: WakeHints;
  readonly #names: ActorNames;
  readonly #tracks = new ClaimCache();

  constructor(session: CassandraSession, options: CassandraActorStoreOptions) {
    const { region, now, homeAllowed, deadRegions, partyOf, isListed, replicateBeforeAck } = options;
    this.#session = session;
    this.#options = options;
    this.#hints = new WakeHints(session, { now, consistency: "LOCAL_QUORUM" });
    this.#names = actorNames(session, {
      partyOf: partyOf ?? (() => null),
      isListed: isListed ?? (() => true),
    });
    this.#rules = {
      region,
      consistency: "LOCAL_QUORUM",
      homeAllowed: homeAllowed ?? (() => true),
      deadRegions: deadRegions ?? (() => new Set()),
      takeoverConsistency: replicateBeforeAck === true ? "ALL" : "LOCAL_QUORUM",
      announce: (ref) => this.#names.write(ref, this.#levelOf(ref)),
    };
  }

  async claim(ref: ActorRef, owner: string, firstEpoch = 1): Promise<Activation> {
    this.#tracks.forget(ref);
    const rules = { ...this.#rules, firstEpoch, consistency: this.#levelOf(ref) };
    const { activation, statics, arrived } = await claimActor(this.#session, rules, ref, owner);
    const { wakeAtMs, outboxLow } = statics;
    if (arrived && wakeAtMs !== null) await this.#writeHint(ref, wakeAtMs);
    const { epoch, head } = activation.head;
    const outbox = activation.outbox.map((row) => row.k);
    this.#tracks.set(ref, new ActorClaim({ epoch, head, outboxLow, outbox, wakeAtMs }));
    return activation;
  }

  async commit(commit: ActorCommit): Promise<CommitOutcome> {
    if (commit.forget) return this.#forget(commit);
    const { ref, wakeAtMs } = commit;
    const sinceMs = this.#options.now();
    const track = this.#tracks.before(commit);
    await this.#hint(commit, track, sinceMs);
    const statements = commitBatch(commit, track, sinceMs);
    const options = { consistency: this.#levelOf(ref), idempotent: false };
    const result = await this.#session.batch(statements, options);
    if (!result.applied) {
      const refused = refusalOf(result);
      if (refused.op !== commit.op) {
        this.#tracks.forget(ref);
        return refused;
      }
      await this.#ensureReplicated(commit);
    }
    track?.follow(commit);
    if (wakeAtMs !== null && wasSlow(sinceMs, this.#options.now())) await this.#rewriteHint(commit);
    return { status: "applied" };
  }

  async readRows(ref: ActorRef, selections: readonly RowSelection[]): Promise<readonly PartitionRow[]> {
    const track = this.#tracks.get(ref);
    const found = await Promise.all(
      selections.map((selection) => readSelection(this.#session, ref, selection, track)),
    );
    return found.length === 1 ? (found[0] ?? []) : found.flat();
  }

  async readHead(ref: ActorRef): Promise<ActorHead | null> {
    const statics = await readStatics(this.#session, ref, "LOCAL_SERIAL");
    if (statics === null) return null;
    const { epoch, owner, head, op, snapshotSeq, snapshot, schemaVersion } = statics;
    return { epoch, owner, head, op, snapshotSeq, snapshot, schemaVersion };
  }

  dueActors(nowMs: number, limit: number): Promise<readonly { ref: ActorRef; wakeAtMs: number }[]> {
    return this.#hints.due([this.#options.region, ...this.#rules.deadRegions()], nowMs, limit);
  }

  listActors(kind: string, afterId: string, limit: number): Promise<readonly string[]> {
    return this.#names.list(kind, afterId, limit);
  }

  countActors(kind: string, max: number): Promise<number> {
    return this.#names.count(kind, max);
  }

  actorsOf(party: string): Promise<readonly ActorRef[]> {
    return this.#names.ofParty(party);
  }

  async handOver(ref: ActorRef, to: string): Promise<void> {
    this.#tracks.forget(ref);
    await handOverActor(this.#session, {
      ref,
      region: this.#options.region,
      to,
      introduce: async (wakeAtMs) => {
        await Promise.all([
          this.#names.write(ref, "EACH_QUORUM"),
          wakeAtMs === null ? null : this.#hints.write(to, ref, wakeAtMs, "EACH_QUORUM"),
        ]);
      },
    });
  }

  /** See F4. */
  #levelOf(ref: ActorRef): "LOCAL_QUORUM" | "EACH_QUORUM" {
    const { replicateBeforeAck, partyOf } = this.#options;
    return replicateBeforeAck === true && partyOf?.(ref) !== null ? "EACH_QUORUM" : "LOCAL_QUORUM";
  }

  /** See F5. A hint that is left leads nowhere, and is removed when it is found. */
  async #forget({ ref, epoch, expectedHead, expectedOp }: ActorCommit): Promise<CommitOutcome> {
    this.#tracks.forget(ref);
    const beforeUs = this.#options.now() * 1_000;
    const of: CqlParam[] = [ref.kind, ref.id];
    const statements = [
      { cql: cql.forgetHead, params: [...of, epoch, expectedHead, fromOperation(expectedOp)] },
      { cql: cql.forgetRows, params: of },
    ];
    const options = { consistency: this.#levelOf(ref), idempotent: false };
    const result = await this.#session.batch(statements, options);
    const refused = result.applied ? null : refusalOf(result);
    if (refused !== null && refused.epoch > 0) return refused;
    await this.#names.remove(ref, { beforeUs, consistency: this.#levelOf(ref) }).catch((error: unknown) => {
      // The actor is gone: the caller sends the same again, and the name goes then.
      if (!(error instanceof StoreError)) throw error;
      throw new StoreError("unknown", error.message, { cause: error });
    });
    return { status: "applied" };
  }

  #writeHint(ref: ActorRef, wakeAtMs: number): Promise<void> {
    return this.#hints.write(this.#options.region, ref, wakeAtMs, this.#levelOf(ref));
  }

  /** A commit is not sent without its hint (F1), so nothing is applied, whatever became of the hint. */
  async #hint(commit: ActorCommit, track: ActorClaim | undefined, nowMs: number): Promise<void> {
    const { ref, wakeAtMs } = commit;
    if (wakeAtMs === null || !needsHint(wakeAtMs, track?.hintAtMs ?? null, nowMs)) return;
    try {
      await this.#writeHint(ref, wakeAtMs);
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new StoreError("not_applied", `no wake-up hint was written: ${error.message}`, { cause: error });
    }
    if (track !== undefined) track.hintAtMs = wakeAtMs;
  }

  /** The commit is applied: if the hint fails now, the caller resends the commit, and thereby the hint. */
  async #rewriteHint({ ref, wakeAtMs }: ActorCommit): Promise<void> {
    try {
      await this.#writeHint(ref, wakeAtMs ?? 0);
    } catch (error) {
      this.#tracks.forget(ref);
      if (!(error instanceof StoreError)) throw error;
      throw new StoreError("unknown", `no wake-up hint was written: ${error.message}`, { cause: error });
    }
  }

  /** F4, for a commit applied by an earlier attempt whose replication is unknown. */
  async #ensureReplicated(commit: ActorCommit): Promise<void> {
    if (this.#levelOf(commit.ref) === "LOCAL_QUORUM") return;
    try {
      await readRowsThrough(this.#session, commit.ref, [...commit.puts, ...commit.deletes], "EACH_QUORUM");
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      throw new StoreError("unknown", error.message, { cause: error });
    }
  }
}

const ofActor = "WHERE kind = ? AND id = ?";
const fence = "IF epoch = ? AND head = ? AND op = ?";
const cql = {
  advance: `UPDATE actor SET head = ?, op = ?, wake_at = ?, outbox_low = ? ${ofActor} ${fence}`,
  snapshot: `UPDATE actor SET head = ?, op = ?, wake_at = ?, outbox_low = ?, snap_seq = ?, snap = ?, schema_v = ?
    ${ofActor} ${fence}`,
  put: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, ?, ?, ?, ?)",
  putExpiring: "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, ?, ?, ?, ?) USING TTL ?",
  remove: `DELETE FROM actor ${ofActor} AND rt = ? AND k = ? AND k2 = ?`,
  prune: `DELETE FROM actor ${ofActor} AND rt = ${rowTable.event} AND k <= ?`,
  forgetHead: `UPDATE actor SET epoch = NULL, owner = NULL, claim = NULL, head = NULL, op = NULL, snap_seq = NULL, snap = NULL,
    schema_v = NULL, wake_at = NULL, outbox_low = NULL, home = NULL, moved_from = NULL ${ofActor} ${fence}`,
  forgetRows: `DELETE FROM actor ${ofActor} AND rt >= 0`,
} as const;

function commitBatch(
  commit: ActorCommit,
  track: ActorClaim | undefined,
  nowMs: number,
): readonly Statement[] {
  const { ref, epoch, expectedHead, expectedOp, op, wakeAtMs, snapshot } = commit;
  const { kind, id } = ref;
  const head: CqlParam[] = [expectedHead + 1, op, wakeAtMs ?? neverWakes, outboxLow(commit, track)];
  const fenced: CqlParam[] = [kind, id, epoch, expectedHead, fromOperation(expectedOp)];
  const statements: Statement[] = [];
  if (snapshot === undefined) statements.push({ cql: cql.advance, params: [...head, ...fenced] });
  else {
    const body = new TextEncoder().encode(snapshot.body);
    const params = [...head, snapshot.seq, body, snapshot.schemaVersion, ...fenced];
    statements.push({ cql: cql.snapshot, params }, { cql: cql.prune, params: [kind, id, snapshot.seq] });
  }
  for (const key of commit.deletes) {
    statements.push({ cql: cql.remove, params: [kind, id, key.rt, key.k, key.k2] });
  }
  for (const row of commit.puts) {
    const params = [kind, id, row.rt, row.k, row.k2, encodeBody(row)];
    const ttl = row.expiresAtMs === undefined ? null : ttlSeconds(row.expiresAtMs, nowMs);
    if (ttl === null) statements.push({ cql: cql.put, params });
    else statements.push({ cql: cql.putExpiring, params: [...params, ttl] });
  }
  return statements;
}

/** Left unset, and so unchanged in the store, if it does not change. */
function outboxLow(commit: ActorCommit, track: ActorClaim | undefined): number | undefined {
  if (track === undefined) return commit.puts.some((row) => row.rt === rowTable.outbox) ? 0 : undefined;
  const { low } = track.nextOutbox(commit);
  return low === track.outboxLow ? undefined : low;
}

/** Rows are kept this much longer than requested, because clocks of nodes differ (S6). */
const ttlSpareSeconds = 10;
/** Cassandra refuses expiry beyond 2038 by default; rows that last longer than this never expire. */
const ttlMaxSeconds = 5 * 366 * 86_400;

function ttlSeconds(expiresAtMs: number, nowMs: number): number | null {
  const seconds = Math.ceil((expiresAtMs - nowMs) / 1_000) + ttlSpareSeconds;
  return seconds > ttlMaxSeconds ? null : Math.max(seconds, 1);
}

/** An actor that was never claimed has no row to report. */
function refusalOf(result: CqlResult): Extract<CommitOutcome, { status: "refused" }> {
  const row = result.rows[0] ?? {};
  return {
    status: "refused",
    epoch: Number(row["epoch"] ?? 0),
    head: Number(row["head"] ?? 0),
    op: toOperation(row["op"]),
  };
}

// Hands an actor over from its home to another region, while both regions are up.
//   V1. First the epoch is raised, so that nothing more is written; then everything is brought to a quorum of every
//       region; finally the home is changed. Until then the actor belongs to this region, from then on to the other.
//   V2. The move is resumable: repeating it continues from whichever step was reached.
//   V3. If all goes well each step is one statement, and nothing is read twice: a party may have thousands of actors. A
//       step whose outcome is unknown, or that was overtaken by another write, is checked again.

export interface HandOver {
  readonly ref: ActorRef;
  /** The actor's home. */
  readonly region: string;
  readonly to: string;
  /** Writes what leads every region to the actor: its names, and when the other region has to wake it. */
  readonly introduce: (wakeAtMs: number | null) => Promise<void>;
}

const attemptsMax = 8;

const moveCql = {
  fence:
    "UPDATE actor SET epoch = ?, owner = '', claim = ? WHERE kind = ? AND id = ? IF epoch = ? AND home = ?",
  leave: `UPDATE actor SET epoch = ?, claim = ?, home = ?, moved_from = ? WHERE kind = ? AND id = ?
    IF epoch = ? AND home = ?`,
} as const;

/** Returns when the other region is the actor's home, or if there is no such actor. Throws {@link StoreError}. */
async function handOverActor(session: CassandraSession, move: HandOver): Promise<void> {
  const { ref, region, to } = move;
  if (to === region) return;
  const claim = randomUUID();
  for (let attempt = 1; attempt <= attemptsMax; attempt += 1) {
    const seen = await readStatics(session, ref, "LOCAL_SERIAL");
    if (seen === null || seen.home === to) return;
    if (seen.home !== region) {
      const message = `${ref.kind}/${ref.id} is not ${region}'s to hand over: its home is ${seen.home}`;
      throw new StoreError("not_applied", message);
    }
    if (seen.claim !== claim) {
      const params = [seen.epoch + 1, claim, ref.kind, ref.id, seen.epoch, region];
      if (!(await step(session, moveCql.fence, params, "LOCAL_QUORUM"))) continue;
    }
    const fenced = await readThrough(session, ref, "EACH_QUORUM");
    // Somebody claimed it meanwhile, or the fence was written over something with a later timestamp.
    if (fenced?.claim !== claim) continue;
    await move.introduce(fenced.wakeAtMs);
    if (await step(session, moveCql.leave, leaveParams(move, fenced), "EACH_QUORUM")) return;
  }
  throw new StoreError("unknown", `${ref.kind}/${ref.id} was not handed over in ${attemptsMax} attempts`);
}

function leaveParams({ ref, region, to }: HandOver, seen: Statics): readonly (string | number)[] {
  return [seen.epoch + 1, randomUUID(), to, region, ref.kind, ref.id, seen.epoch, region];
}

/** One conditional write. It also returns false when the outcome is unknown: the next read tells what became of it. */
async function step(
  session: CassandraSession,
  cqlText: string,
  params: readonly (string | number)[],
  consistency: Consistency,
): Promise<boolean> {
  try {
    return (await session.execute(cqlText, params, { consistency, idempotent: false })).applied;
  } catch (error) {
    if (!(error instanceof StoreError) || error.effect === "not_applied") throw error;
    return false;
  }
}

// The directory of actors: lists beside the partitions, written before an actor's first claim, and removed after it is forgotten.
//   N1. A kind whose actors are soon forgotten is not in it: a read of its lists would walk over all that were removed.

/** Number of partitions over which the ids of a kind are spread. */
const buckets = 16;

const namesCql = {
  name: "INSERT INTO actor_name (kind, bucket, id) VALUES (?, ?, ?)",
  ofParty: "INSERT INTO actor_of_party (party, kind, id) VALUES (?, ?, ?)",
  removeName: "DELETE FROM actor_name USING TIMESTAMP ? WHERE kind = ? AND bucket = ? AND id = ?",
  removeOfParty: "DELETE FROM actor_of_party USING TIMESTAMP ? WHERE party = ? AND kind = ? AND id = ?",
  list: "SELECT id FROM actor_name WHERE kind = ? AND bucket = ? AND id > ? LIMIT ?",
  count: "SELECT COUNT(*) AS known FROM actor_name WHERE kind = ? AND bucket = ?",
  party: "SELECT kind, id FROM actor_of_party WHERE party = ?",
} as const;

type ActorNames = ReturnType<typeof actorNames>;

function actorNames(
  session: CassandraSession,
  { partyOf, isListed }: Required<Pick<CassandraActorStoreOptions, "partyOf" | "isListed">>,
) {
  return {
    write: async (ref: ActorRef, consistency: Consistency): Promise<void> => {
      if (!isListed(ref.kind)) return;
      const options = { consistency, idempotent: true };
      const party = partyOf(ref);
      await Promise.all([
        session.execute(namesCql.name, [ref.kind, bucketOf(ref.id), ref.id], options),
        party === null ? null : session.execute(namesCql.ofParty, [party, ref.kind, ref.id], options),
      ]);
    },
    /** Removes the names as of an instant: those written later, for another actor of this name, stay. */
    remove: async (
      ref: ActorRef,
      { beforeUs, consistency }: { readonly beforeUs: number; readonly consistency: Consistency },
    ): Promise<void> => {
      if (!isListed(ref.kind)) return;
      const options = { consistency, idempotent: true };
      const party = partyOf(ref);
      const [name, ofParty] = [
        [beforeUs, ref.kind, bucketOf(ref.id), ref.id],
        [beforeUs, party, ref.kind, ref.id],
      ];
      await Promise.all([
        session.execute(namesCql.removeName, name, options),
        party === null ? null : session.execute(namesCql.removeOfParty, ofParty, options),
      ]);
    },
    /** Returns ids in the order of their UTF-8 bytes, which is the engine's own order. */
    list: async (kind: string, afterId: string, limit: number): Promise<readonly string[]> => {
      const found = await Promise.all(
        Array.from({ length: buckets }, (_, bucket) =>
          executeAll(session, namesCql.list, [kind, bucket, afterId, limit], { idempotent: true }),
        ),
      );
      return found
        .flat()
        .map((row) => String(row["id"]))
        .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
        .slice(0, limit);
    },
    /** One partition after another: a count reads all of it, and must not take the engine's attention from requests. */
    count: async (kind: string, max: number): Promise<number> => {
      let count = 0;
      for (let bucket = 0; bucket < buckets && count < max; bucket += 1) {
        const { rows } = await session.execute(namesCql.count, [kind, bucket], { idempotent: true });
        count += Number(rows[0]?.["known"] ?? 0);
      }
      return Math.min(count, max);
    },
    ofParty: async (party: string): Promise<readonly ActorRef[]> => {
      const rows = await executeAll(session, namesCql.party, [party], { idempotent: true });
      return rows.map((row) => ({ kind: String(row["kind"]), id: String(row["id"]) }));
    },
  };
}

function bucketOf(id: string): number {
  let mixed = 0;
  for (let at = 0; at < id.length; at += 1) mixed = (Math.imul(mixed, 31) + id.charCodeAt(at)) | 0;
  return ((mixed % buckets) + buckets) % buckets;
}
