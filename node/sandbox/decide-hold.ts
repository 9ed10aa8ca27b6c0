// The decision of an owner about a held push, sealed as a person's authenticator would for a portal. Only a sandbox has such
// a passkey in a file: production knows no private half of any.

import type { PrivateJwk } from "../../crypto/private-jwk.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { type HoldDecision, holdDecisionPayload } from "../../protocol/hold-decision.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { PasskeyOrigins } from "../../protocol/passkey.ts";
import type { Sandbox } from "./sandbox-file.ts";
import { createSoftwarePasskey, type Sealer } from "./sealer.ts";

export interface OwnersDecision extends Pick<HoldDecision, "business_uuid" | "push_id" | "decision"> {
  /** Unix milliseconds. */
  readonly atMs: number;
}

/** Null if the business is none of the samples, so that the file has no passkey of it. */
export async function sealOwnersDecision(
  { anchors, businesses }: Sandbox,
  { atMs, ...decision }: OwnersDecision,
): Promise<Envelope | null> {
  const owner = businesses.find((each) => each.business_uuid === decision.business_uuid)?.owner;
  if (owner === undefined) return null;
  return sealDecision(ownersPasskey(owner.private_jwk, anchors.passkeys), { atMs, ...decision });
}

/** The passkey of an owner, whose private JWK was read from a file or has just been made. */
export function ownersPasskey(privateJwk: object, origins: PasskeyOrigins): Sealer {
  return createSoftwarePasskey({ ...privateJwk } as PrivateJwk, origins);
}

export function sealDecision(
  passkey: Pick<Sealer, "seal">,
  { atMs, ...decision }: OwnersDecision,
): Promise<Envelope> {
  const payload = holdDecisionPayload({ v: 1, ...decision, at: formatTimestamp(atMs) });
  return passkey.seal(payloadTypes["hold-decision.v1"], payload);
}
