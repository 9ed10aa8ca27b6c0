// What operators read of the purges of a business: every deletion and every purge that the law ordered, in their order, when the bytes are
// to be purged, and the proof once they are. All of it comes from the business's journal. And how they order such a purge.

import type { RegisterAct } from "../../actors/messages/protocol.ts";
import { businessRef } from "../../actors/messages/refs.ts";
import {
  appliedAt,
  type HeldDeletion,
  type Purge,
  type Purged,
  type PurgeOrder,
} from "../../actors/messages/removal.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { hashOf, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp, isHash, isRecordId, isUuidV4 } from "../../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { HeldDeletionsAnswer } from "../../protocol/wire/removal.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { answerJson, type Outcome } from "../answer.ts";
import { RegisterRefused } from "../register/parties.ts";
import type { Register } from "../register/register.ts";

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
  /** Of a purge that the law ordered; null for a deletion by the business. */
  readonly ground: string | null;
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

/** The deletions and ordered purges of a business after the one with this number, oldest first. */
export async function readPurges(
  { actors, clock }: Actors & Platform,
  businessUuid: string,
  after: number,
): Promise<PurgePage> {
  const business = businessRef(businessUuid);
  const { places } = await actors.ask(business, { type: "removals.list", after, limit: pageMax });
  const found = await Promise.all(
    places.map(({ document_hash }) => actors.ask(business, { type: "removal.read", document_hash })),
  );
  const nowMs = clock.now();
  const purges = found.flatMap(({ removal, order, purged }) => {
    if (order !== null) return [stateOf(order, { ...momentsOf(order), purged, nowMs })];
    if (removal?.purge_at_ms === undefined) return [];
    const moments = { dueMs: removal.purge_at_ms, deleted_at: appliedAt(removal), ground: null };
    return [stateOf(removal, { ...moments, purged, nowMs })];
  });
  return { purges, next_after: places.length < pageMax ? null : (places.at(-1)?.number ?? null) };
}

/** An order is due at once. */
function momentsOf({ ordered_at, ground }: PurgeOrder) {
  return { dueMs: Date.parse(ordered_at), deleted_at: ordered_at, ground };
}

interface StateFacts extends Pick<PurgeState, "deleted_at" | "ground"> {
  readonly dueMs: number;
  readonly purged: Purged | null;
  readonly nowMs: number;
}

function stateOf(
  { record_id, collection, generation, document_hash, number }: Omit<Purge, "due_ms" | "deleted_at_ms">,
  { deleted_at, ground, dueMs, purged, nowMs }: StateFacts,
): PurgeState {
  return {
    record_id,
    collection,
    generation,
    document_hash,
    number,
    ground,
    deleted_at,
    due_at: formatTimestamp(dueMs),
    limit_at: formatTimestamp(Date.parse(deleted_at) + limitMs),
    state: purged !== null ? "purged" : dueMs <= nowMs ? "due" : "owed",
    proof: purged === null ? null : proofOf(purged),
  };
}

function proofOf({ purged_at_ms, versions, regions }: Purged): PurgeProof {
  return { purged_at: formatTimestamp(purged_at_ms), versions, regions };
}

/** What an operator is told of an order. */
export interface OrderedPurge {
  readonly record_id: string;
  readonly business_uuid: string;
  /** The newest version that it concerns. */
  readonly generation: number;
  readonly ground: string;
  readonly ordered_at: string;
  readonly proof: PurgeProof | null;
}

type Ordered = Result<{ readonly changed: boolean; readonly subject: OrderedPurge }, "unknown">;

/**
 * Has a record deleted and its bytes purged at once, without a document of its business, because the law orders it. The ground is
 * published on the record's verify page, with the proof once the bytes are gone. Refusals are thrown as {@link RegisterRefused}.
 */
export async function orderPurge(
  { actors, records, clock, crypto }: Actors & Platform & { readonly records: RecordStore },
  {
    record_id,
    ground,
    act,
  }: { readonly record_id: string; readonly ground: string; readonly act: RegisterAct },
): Promise<Ordered> {
  const head = isRecordId(record_id) ? await records.readHead(record_id) : null;
  if (head === null) return refuse("unknown", "No record has this id here.");
  const business = businessRef(head.business_uuid);
  const at = formatTimestamp(clock.now());
  const text = JSON.stringify({ record_id, action: "purge", ground, at });
  const document_hash = hashOf(utf8(text), crypto.sha256);
  const reply = await actors.ask(business, { type: "purge.order", record_id, ground, document_hash, act });
  if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
  const { orders } = await actors.ask(business, { type: "purge.orders", record_id });
  const newest = orders.at(-1);
  if (newest === undefined)
    throw new Error(`The purge of ${record_id} was ordered, and its business does not know it.`);
  const read = { type: "removal.read", document_hash: newest.document_hash } as const;
  const { purged } = await actors.ask(business, read);
  const { generation, ordered_at } = newest;
  return ok({
    changed: reply.changed === true,
    subject: {
      record_id,
      business_uuid: head.business_uuid,
      generation,
      ground: newest.ground,
      ordered_at,
      proof: purged === null ? null : proofOf(purged),
    },
  });
}

// Deletions that were received after a certificate was revoked for compromise: a thief of the keys may have sealed them, so an operator
// decides. The business and the operators read which wait, and what became of the others.

type Shown = HeldDeletionsAnswer["deletions"][number];
type Found<T> = Promise<Result<T, "unknown">>;

export interface HeldDeletions {
  /** A page, in the order of their hashes, after the one with this hash. */
  ofBusiness(uuid: string, after: string): Found<HeldDeletionsAnswer>;
  /** Refusals by the business's actor are thrown as {@link RegisterRefused}. */
  decide(request: {
    readonly business_uuid: string;
    readonly document_hash: string;
    readonly released: boolean;
    readonly act: RegisterAct;
  }): Found<{ readonly changed: boolean; readonly subject: Shown }>;
}
const unknown = refuse("unknown", "This business has no deletion with this hash that waits or waited.");

/** For operators: the deletions that are held, and decisions about them. */
export function createHeldDeletions(deps: Actors & { readonly register: Register }): HeldDeletions {
  const { actors, register } = deps;
  const isBusiness = async (uuid: string): Promise<boolean> =>
    isUuidV4(uuid) && (await register.party(uuid))?.kind === "business";
  return {
    ofBusiness: async (uuid, after) =>
      (await isBusiness(uuid)) ? ok(await pageOf(deps, uuid, after)) : unknown,
    decide: async ({ business_uuid: uuid, document_hash, released, act }) => {
      if (!isHash(document_hash) || !(await isBusiness(uuid))) return unknown;
      const business = businessRef(uuid);
      const read = { type: "removal.read", document_hash } as const;
      const { held } = await actors.ask(business, read);
      if (held === null) return unknown;
      const { record_id } = held;
      const decide = { type: "deletion.decide", record_id, document_hash, released, act } as const;
      const reply = await actors.ask(business, decide);
      if (reply.status === "refused") throw new RegisterRefused(reply.code, reply.detail);
      const { held: after } = await actors.ask(business, read);
      return ok({ changed: reply.changed === true, subject: shown(after ?? held) });
    },
  };
}

async function pageOf({ actors }: Actors, uuid: string, after: string): Promise<HeldDeletionsAnswer> {
  const command = { type: "deletions.held", after, limit: pageMax } as const;
  const { deletions } = await actors.ask(businessRef(uuid), command);
  const next = deletions.length < pageMax ? null : (deletions.at(-1)?.document_hash ?? null);
  return { deletions: deletions.map(shown), next_after: next };
}

function shown({ record_id, document_hash, at, sealed, decided }: HeldDeletion): Shown {
  const state = decided === null ? "held" : decided.released ? "released" : "rejected";
  return {
    record_id,
    document_hash,
    at,
    received_at: sealed.received_at,
    state,
    decided_at: decided?.at ?? null,
  };
}

/** GET /v1/held-deletions: a page of the caller's own. */
export async function readOwnHeldDeletions(
  deps: Actors,
  businessUuid: string,
  after: string | null,
): Promise<Outcome> {
  return answerJson(200, await pageOf(deps, businessUuid, after ?? ""));
}
