// Keeps what was refused of a business's batches, for its push attempts.
//   K1. Only what comes from an authenticated request is kept: this is called behind every check of the request itself.
//   K2. The refusal is answered whether or not it could be kept, and as it would be otherwise.
//   K3. What says nothing about the batch is not kept: failures that pass, and the rules of the Idempotency-Key.

import type { AttemptCategory } from "../actors/messages/attempts.ts";
import { businessRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { toHex } from "../protocol/bytes.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import { boundedText } from "../protocol/result.ts";
import type { Refused } from "./answer.ts";
import type { Caller } from "./caller.ts";

export interface KeepRefusalDeps {
  readonly actors: Pick<ActorSystem, "ask">;
  readonly clock: Clock;
  readonly crypto: Pick<CryptoPort, "randomBytes">;
}

/** The request, and what is known of its batch. */
export interface RefusedAttempt {
  readonly caller: Caller;
  readonly collection: string;
  readonly source?: "api" | "bulk";
  readonly sealed?: { readonly pushId: string; readonly seal: { readonly seq: number } };
  readonly records?: number;
}

const categories: ReadonlyMap<ProblemCode, AttemptCategory> = new Map([
  ["request_invalid", "validation"],
  ["record_too_large", "validation"],
  ["type_not_publishable", "validation"],
  // What an import says of its upload.
  ["not_found", "validation"],
  ["upload_conflict", "validation"],
  ["seal_invalid", "seal"],
  ["seq_not_increasing", "seal"],
  ["rate_limited", "caps"],
  ["key_unknown", "authority"],
  ["mandate_missing", "authority"],
  ["out_of_scope", "authority"],
  ["source_not_allowed", "authority"],
  ["business_not_verified", "authority"],
] as const);

/** How long the answer may wait for it (K2). */
const keptWithinMs = 2_000;

/** Returns the refusal. */
export async function keepRefused(
  { actors, clock, crypto }: KeepRefusalDeps,
  attempt: RefusedAttempt,
  refusal: Refused,
): Promise<Refused> {
  const { code, reason, detail } = refusal.problem;
  const category = categories.get(code);
  if (category === undefined) return refusal;
  const { caller, collection, source = "api", sealed } = attempt;
  const refused = {
    at_ms: clock.now(),
    id: `ref_${toHex(crypto.randomBytes(12))}`,
    ...{ category, code, reason: reason ?? null, detail: boundedText(detail) },
    ...{ type: collection, source, key_id: caller.key.key_id },
    records: attempt.records ?? refusal.records ?? null,
    push_id: sealed?.pushId ?? null,
    seq: sealed?.seal.seq ?? null,
  };
  const command = { type: "refusal.keep", refused } as const;
  await actors.ask(businessRef(caller.party.uuid), command, { timeoutMs: keptWithinMs }).catch(() => null);
  return refusal;
}
