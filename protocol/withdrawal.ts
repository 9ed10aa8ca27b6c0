// Withdrawal and deletion: the compact JSON document that takes a record out of serving, sealed with seal format 2 over its
// exact bytes (specification, «Seals»).
// Also the decision on a held push, sealed with a passkey.

import {
  type Envelope,
  malformed,
  openEnvelope,
  type PayloadFormat,
  parseObject,
  parsePayload,
  payloadTypes,
  readPayload,
} from "./dsse.ts";
import { canonicalBytes } from "./json/canonical-json.ts";
import type { Verdict } from "./reason-codes.ts";
import { closed, literal, oneOf, timestamp, uuid } from "./shape.ts";
import { pushId, recordId } from "./wire/push.ts";

export interface Withdrawal {
  readonly record_id: string;
  readonly action: "withdraw" | "delete";
  readonly at: string;
}

export const withdrawalShape = closed<Withdrawal>({
  record_id: recordId,
  action: oneOf(["withdraw", "delete"]),
  at: timestamp,
});

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

export interface HoldDecision {
  readonly v: 1;
  readonly business_uuid: string;
  readonly push_id: string;
  readonly decision: "confirm" | "reject";
  readonly at: string;
}

export const holdDecisionFormat: PayloadFormat<HoldDecision> = {
  version: 1,
  versions: [1],
  shape: closed<HoldDecision>({
    v: literal(1),
    business_uuid: uuid,
    push_id: pushId,
    decision: oneOf(["confirm", "reject"]),
    at: timestamp,
  }),
};

/** Reads the payload of a hold decision. */
export function parseHoldDecision(payload: Uint8Array): Verdict<HoldDecision> {
  return parsePayload(payload, holdDecisionFormat);
}

/** Opens a decision's envelope. It only reads: the signature is not verified. */
export function openHoldDecision(envelope: Envelope): Verdict<HoldDecision> {
  const payload = openEnvelope(envelope, payloadTypes["hold-decision.v1"]);
  return payload.ok ? parseHoldDecision(payload.value) : payload;
}

/** The payload bytes to seal. */
export function holdDecisionPayload(decision: HoldDecision): Uint8Array {
  return canonicalBytes({ ...decision });
}
