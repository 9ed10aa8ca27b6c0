// Withdrawal and deletion: the compact JSON document that takes a record out of serving, sealed with seal format 2 over its
// exact bytes (specification, «Seals»).
// Also the decision on a held push, sealed with a passkey.

import {
  type Envelope,
  malformed,
  openPayload,
  type PayloadOf,
  parseObject,
  payloadTypes,
  readPayload,
  soleFormat,
} from "./dsse.ts";
import { canonicalBytes } from "./json/canonical-json.ts";
import type { Verdict } from "./reason-codes.ts";
import { literal, type Of, object, oneOf, timestamp, uuid } from "./shape.ts";
import { pushId, recordId } from "./wire/push.ts";

export const withdrawalShape = object({
  record_id: recordId,
  action: oneOf(["withdraw", "delete"]),
  at: timestamp,
});
export type Withdrawal = Of<typeof withdrawalShape>;

/** Reads a withdrawal document: strict, closed and compact (no white space; members in any order). */
export function parseWithdrawal(bytes: Uint8Array): Verdict<Withdrawal> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const read = readPayload(withdrawalShape, parsed.value);
  if (read.ok && JSON.stringify(parsed.value).length !== bytes.length)
    return malformed("The document is not compact JSON.", "");
  return read;
}

// Hold decision: an owner or admin of a business confirms or rejects one held push, sealed with a passkey (specification,
// «States and transitions»: an owner or admin confirms in the business portal).

export const holdDecisionFormat = soleFormat(
  object({
    v: literal(1),
    business_uuid: uuid,
    push_id: pushId,
    decision: oneOf(["confirm", "reject"]),
    at: timestamp,
  }),
);
export type HoldDecision = PayloadOf<typeof holdDecisionFormat>;

/** Opens a decision's envelope. It only reads: the signature is not verified. */
export function openHoldDecision(envelope: Envelope): Verdict<HoldDecision> {
  return openPayload(envelope, payloadTypes["hold-decision.v1"], holdDecisionFormat);
}

/** The payload bytes to seal. */
export function holdDecisionPayload(decision: HoldDecision): Uint8Array {
  return canonicalBytes({ ...decision });
}
