// A sealed withdrawal or deletion, with everything needed to send exactly the same document again.

import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { WorldParts } from "../world/world-parts.ts";

export interface SealedRemoval {
  readonly body: Uint8Array;
  /** Hash of the document. */
  readonly document: string;
}

export function sealRemoval(
  { crypto, kernel }: WorldParts,
  given: {
    readonly business: SimBusiness;
    readonly key: SimSigner;
    readonly recordId: string;
    readonly action: "withdraw" | "delete";
    readonly policyVersion: number;
  },
): SealedRemoval {
  const { business, key, recordId: record_id, action } = given;
  const at = formatTimestamp(kernel.now());
  const bytes = utf8(JSON.stringify({ record_id, action, at }));
  const document = hashOf(bytes, crypto.sha256);
  const payload = sealPayload({
    ...{ v: 2, key_id: key.keyId, cert_id: business.certId, hash: document, sealed_at: at },
    ...{ record_type: "products", ai_policy_version: given.policyVersion },
  });
  const type = payloadTypes["seal.v2"];
  const seal = makeEnvelope(type, payload, [{ keyid: key.keyId, sig: key.signNow(pae(type, payload)) }]);
  return { document, body: utf8(JSON.stringify({ document_base64: toBase64(bytes), seal })) };
}
