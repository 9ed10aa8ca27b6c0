// Seals a document about ads with an owner's passkey, as a portal does.

import { nativeCrypto } from "../../crypto/native.ts";
import { type Envelope, payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { Sealer } from "./sealer.ts";

interface SealedFacts {
  readonly record: Uint8Array;
  /** What is in force for the business now. */
  readonly context: { readonly cert_id: string | null; readonly ai_policy_version: number };
  readonly atMs: number;
}

export function sealAlone(
  passkey: Pick<Sealer, "seal" | "keyId">,
  { record, context, atMs }: SealedFacts,
): Promise<Envelope> {
  const payload = sealPayload({
    ...{ v: 2, key_id: passkey.keyId, cert_id: context.cert_id ?? "" },
    hash: hashOf(record, nativeCrypto.sha256),
    sealed_at: formatTimestamp(atMs),
    record_type: "ads",
    ai_policy_version: context.ai_policy_version,
  });
  return passkey.seal(payloadTypes["seal.v2"], payload);
}
