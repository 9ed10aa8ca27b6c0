// The directory of actors: lists beside the partitions, written before an actor's first claim, and removed after it is forgotten.
//   N1. A kind whose actors are soon forgotten is not in it: a read of its lists would walk over all that were removed.

import { Buffer } from "node:buffer";
import type { ActorRef } from "../actor-store.ts";
import { type CassandraSession, type Consistency, executeAll } from "./session.ts";

/** Number of partitions over which the ids of a kind are spread. */
const buckets = 16;

const cql = {
  name: "INSERT INTO actor_name (kind, bucket, id) VALUES (?, ?, ?)",
  ofParty: "INSERT INTO actor_of_party (party, kind, id) VALUES (?, ?, ?)",
  removeName: "DELETE FROM actor_name USING TIMESTAMP ? WHERE kind = ? AND bucket = ? AND id = ?",
  removeOfParty: "DELETE FROM actor_of_party USING TIMESTAMP ? WHERE party = ? AND kind = ? AND id = ?",
  list: "SELECT id FROM actor_name WHERE kind = ? AND bucket = ? AND id > ? LIMIT ?",
  count: "SELECT COUNT(*) AS known FROM actor_name WHERE kind = ? AND bucket = ?",
  party: "SELECT kind, id FROM actor_of_party WHERE party = ?",
} as const;

export class ActorNames {
  readonly #session: CassandraSession;
  readonly #partyOf: (ref: ActorRef) => string | null;
  readonly #isListed: (kind: string) => boolean;

  constructor(
    session: CassandraSession,
    options: {
      readonly partyOf: (ref: ActorRef) => string | null;
      readonly isListed: (kind: string) => boolean;
    },
  ) {
    this.#session = session;
    this.#partyOf = options.partyOf;
    this.#isListed = options.isListed;
  }

  async write(ref: ActorRef, consistency: Consistency): Promise<void> {
    if (!this.#isListed(ref.kind)) return;
    const options = { consistency, idempotent: true };
    const party = this.#partyOf(ref);
    await Promise.all([
      this.#session.execute(cql.name, [ref.kind, bucketOf(ref.id), ref.id], options),
      party === null ? null : this.#session.execute(cql.ofParty, [party, ref.kind, ref.id], options),
    ]);
  }

  /** Removes the names as of an instant: those written later, for another actor of this name, stay. */
  async remove(
    ref: ActorRef,
    { beforeUs, consistency }: { readonly beforeUs: number; readonly consistency: Consistency },
  ): Promise<void> {
    if (!this.#isListed(ref.kind)) return;
    const options = { consistency, idempotent: true };
    const party = this.#partyOf(ref);
    const [name, ofParty] = [
      [beforeUs, ref.kind, bucketOf(ref.id), ref.id],
      [beforeUs, party, ref.kind, ref.id],
    ];
    await Promise.all([
      this.#session.execute(cql.removeName, name, options),
      party === null ? null : this.#session.execute(cql.removeOfParty, ofParty, options),
    ]);
  }

  /** Returns ids in the order of their UTF-8 bytes, which is the engine's own order. */
  async list(kind: string, afterId: string, limit: number): Promise<readonly string[]> {
    const found = await Promise.all(
      Array.from({ length: buckets }, (_, bucket) =>
        executeAll(this.#session, cql.list, [kind, bucket, afterId, limit], { idempotent: true }),
      ),
    );
    return found
      .flat()
      .map((row) => String(row["id"]))
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
      .slice(0, limit);
  }

  /** One partition after another: a count reads all of it, and must not take the engine's attention from requests. */
  async count(kind: string, max: number): Promise<number> {
    let count = 0;
    for (let bucket = 0; bucket < buckets && count < max; bucket += 1) {
      const { rows } = await this.#session.execute(cql.count, [kind, bucket], { idempotent: true });
      count += Number(rows[0]?.["known"] ?? 0);
    }
    return Math.min(count, max);
  }

  async ofParty(party: string): Promise<readonly ActorRef[]> {
    const rows = await executeAll(this.#session, cql.party, [party], { idempotent: true });
    return rows.map((row) => ({ kind: String(row["kind"]), id: String(row["id"]) }));
  }
}

function bucketOf(id: string): number {
  let mixed = 0;
  for (let at = 0; at < id.length; at += 1) mixed = (Math.imul(mixed, 31) + id.charCodeAt(at)) | 0;
  return ((mixed % buckets) + buckets) % buckets;
}
