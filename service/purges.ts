// What operators read of the purges of a business: every deletion in its order, when its bytes are to be purged, and the proof
// once they are. All of it comes from the business's journal.

import { businessRef } from "../actors/messages/refs.ts";
import type { Purged, Removal } from "../actors/messages/removal.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";

const dayMs = 86_400_000;
/** Within this time of a deletion its bytes are purged (specification, «Limits»). */
export const limitMs = 30 * dayMs;
/** Number of removals of which one page is made; withdrawals among them are left out. */
const pageMax = 100;

export interface PurgeState {
  readonly record_id: string;
  readonly collection: string;
  /** The newest version that the deletion concerns; all before it are concerned as well. */
  readonly generation: number;
  readonly document_hash: string;
  readonly number: number;
  readonly deleted_at: string;
  readonly due_at: string;
  readonly limit_at: string;
  readonly state: "owed" | "due" | "purged";
  readonly proof: PurgeProof | null;
}

export interface PurgeProof {
  readonly purged_at: string;
  readonly versions: readonly { readonly generation: number; readonly hash: string }[];
  /** The regions whose index confirmed. */
  readonly regions: readonly string[];
}

export interface PurgePage {
  readonly purges: readonly PurgeState[];
  /** The number after which the next page begins; null on the last. */
  readonly next_after: number | null;
}

export interface PurgeReadDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly clock: { now(): number };
}

/** The deletions of a business after the one with this number, oldest first. */
export async function readPurges(
  { actors, clock }: PurgeReadDeps,
  businessUuid: string,
  after: number,
): Promise<PurgePage> {
  const business = businessRef(businessUuid);
  const { places } = await actors.ask(business, { type: "removals.list", after, limit: pageMax });
  const found = await Promise.all(
    places.map(({ document_hash }) => actors.ask(business, { type: "removal.read", document_hash })),
  );
  const purges = found.flatMap(({ removal, purged }) =>
    removal?.purge_at_ms === undefined
      ? []
      : [stateOf(removal, { dueMs: removal.purge_at_ms, purged, nowMs: clock.now() })],
  );
  return { purges, next_after: places.length < pageMax ? null : (places.at(-1)?.number ?? null) };
}

function stateOf(
  removal: Removal,
  {
    dueMs,
    purged,
    nowMs,
  }: { readonly dueMs: number; readonly purged: Purged | null; readonly nowMs: number },
): PurgeState {
  const { record_id, collection, generation, document_hash, number, received_at } = removal;
  return {
    ...{ record_id, collection, generation, document_hash, number, deleted_at: received_at },
    due_at: formatTimestamp(dueMs),
    limit_at: formatTimestamp(Date.parse(received_at) + limitMs),
    state: purged !== null ? "purged" : dueMs <= nowMs ? "due" : "owed",
    proof: purged === null ? null : proofOf(purged),
  };
}

function proofOf({ purged_at_ms, versions, regions }: Purged): PurgeProof {
  return { purged_at: formatTimestamp(purged_at_ms), versions, regions };
}
