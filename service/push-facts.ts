// The facts of a push that came as a sealed batch: what stays true of it, whatever becomes of it.

import type { PushFacts, PushMandate } from "../actors/messages/push.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import type { Caller } from "./caller.ts";
import { publishedType, type SealedBatch } from "./publish-batch.ts";

/** Where the records of a batch come from. */
export type BatchSource =
  | { readonly source: "api" }
  | { readonly source: "bulk"; readonly file: NonNullable<PushFacts["file"]> };

export interface AdmittedBatch {
  readonly sealed: SealedBatch;
  readonly source: BatchSource;
  readonly mandates: readonly PushMandate[];
  readonly receivedAtMs: number;
  readonly ownNames: readonly string[];
  readonly number: number;
  /** Batches of up to this many records are processed within the request. */
  readonly inlineMax: number;
}

export function batchFacts(
  { caller }: { readonly caller: Caller },
  { sealed, source, mandates, receivedAtMs, ownNames, number, inlineMax }: AdmittedBatch,
): PushFacts {
  const { seal, pushId } = sealed;
  const isInline = source.source === "api" && seal.tree_size <= inlineMax;
  return {
    push_id: pushId,
    business_uuid: caller.party.uuid,
    path: "A",
    key_id: caller.key.key_id,
    sealer: "system",
    collection: publishedType,
    seq: seal.seq,
    mode: isInline ? "inline" : "queued",
    records: seal.tree_size,
    cert_id: seal.cert_id,
    ai_policy_version: seal.ai_policy_version,
    sealed_at: seal.sealed_at,
    received_at: formatTimestamp(receivedAtMs),
    mandates,
    number,
    own_names: ownNames,
    ...source,
  };
}
