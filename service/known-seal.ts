// A seal that the service has accepted before, presented again: to ask for its outcome, a caller shows a seal of the
// business over the same bytes; what is in force now does not matter.

import type { KeyFacts } from "../actors/messages/business.ts";
import type { CryptoPort } from "../crypto/port.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { hashOf } from "../protocol/hash.ts";
import { refuse, type Verdict } from "../protocol/result.ts";
import type { SealV2 } from "../protocol/seal.ts";
import { verifySealer } from "../verifier/business-keys.ts";
import type { Trust } from "../verifier/trust.ts";
import { keysOf } from "./published-keys.ts";

export interface Sealed {
  readonly seal: SealV2;
  /** The key that the envelope names as its signer, if the business has it. */
  readonly key: KeyFacts | null;
}

/** The kinds of key that may seal a single record. */
const aloneSealers = ["passkey", "hosted"] as const;

export function judgeKnown(
  { crypto, trust }: { readonly crypto: CryptoPort; readonly trust: () => Trust },
  shown: { readonly uuid: string; readonly record: Uint8Array; readonly envelope: Envelope },
  { seal, key }: Sealed,
): Verdict<unknown> {
  if (seal.hash !== hashOf(shown.record, crypto.sha256)) {
    return refuse("hash_mismatch", "The seal covers other bytes.");
  }
  const rule = { keyId: seal.key_id, kinds: aloneSealers };
  return verifySealer(trust(), keysOf(shown.uuid, [key]), shown.envelope, rule);
}
