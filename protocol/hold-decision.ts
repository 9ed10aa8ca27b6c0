// Hold decision: an owner or admin of a business confirms or rejects one held push, sealed with a passkey (specification,
// «States and transitions»: an owner or admin confirms in the business portal).

import { canonicalBytes } from "./canonical-json.ts";
import { type Envelope, openEnvelope, payloadTypes } from "./dsse.ts";
import { type PayloadFormat, parsePayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import { closed, literal, oneOf, timestamp, uuid } from "./shape.ts";
import { pushId } from "./wire/push.ts";

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
