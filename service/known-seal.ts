// A seal that the service accepted before, shown again: whoever asks for its outcome shows a seal of the business over the
// same bytes, and what is in force now is nothing to it.

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
  /** The key that the envelope names as its signer, where the business has it. */
  readonly key: KeyFacts | null;
}

/** Who may seal one record alone. */
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
