// Documents signed by a single working key of the service: receipts, sidecars, statements, published keys.

import { type Envelope, openEnvelope, pae } from "../protocol/dsse.ts";
import { verifyOne } from "../protocol/hybrid.ts";
import type { KeyEntry } from "../protocol/key-set.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import { windowFault } from "./key-window.ts";
import { type Trust, type WorkingUse, workingKey } from "./trust.ts";

export interface ExpectedSignature extends WorkingUse {
  /** The instant at which the key must have been valid. */
  readonly at: string;
}

/**
 * Verifies the single signature of an envelope whose payload has already been read as the expected type. Refuses with
 * `envelope_malformed` for more than one signature, `key_unknown` for a key that may not sign this (another use, another
 * region, not in the key set), `signature_invalid`, `key_not_valid` or `key_compromised`. Returns the key.
 */
export function verifyWorking(
  trust: Trust,
  envelope: Envelope,
  expected: ExpectedSignature,
): Verdict<KeyEntry> {
  const [signature, ...others] = envelope.signatures;
  if (signature === undefined || others.length > 0) {
    return refuse("envelope_malformed", "The document carries exactly one signature.");
  }
  const key = workingKey(trust, signature.keyid, expected);
  if (key === null) return refuse("key_unknown", `Key ${signature.keyid} may not sign this document.`);
  const payload = openEnvelope(envelope, envelope.payloadType);
  if (!payload.ok) return payload;
  if (!verifyOne(trust.verify, key.public_key, pae(envelope.payloadType, payload.value), signature)) {
    return refuse("signature_invalid", "The signature does not verify.");
  }
  return windowFault(key, expected.at) ?? ok(key);
}
