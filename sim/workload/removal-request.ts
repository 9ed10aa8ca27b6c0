// A withdrawal or deletion by a sealed document, which is sent again, exactly the same, until it is answered.

import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { World } from "../world/world.ts";
import type { WorldParts } from "../world/world-parts.ts";
import type { Heard } from "./client.ts";
import type { Journal, Removal } from "./journal.ts";
import { momentOf } from "./key-standing.ts";

/** How often a removal is sent that is not answered. */
const removalsMax = 4;

/** `send` sends the body once, and returns null if it was not answered. */
export async function removeRecord(
  { world, journal }: { readonly world: World; readonly journal: Journal },
  given: Pick<Removal, "action" | "recordId"> & { readonly business: SimBusiness; readonly key: SimSigner },
  send: (body: Uint8Array) => Promise<Heard | null>,
): Promise<void> {
  const { parts, observed } = world;
  const policyVersion = journal.policyVersion(given.business);
  const { document, body } = sealRemoval(parts, { ...given, policyVersion });
  const { business, recordId, action, key } = given;
  const removal: Removal = {
    ...{ business, recordId, action, document, keyId: key.keyId, sent: momentOf(world) },
    ...{ acknowledgedAt: null, isRemoved: false },
  };
  journal.removals.push(removal);
  for (let attempt = 0; attempt < removalsMax; attempt += 1) {
    const heard = await send(body);
    if (heard === null) continue;
    observed.mark(`remove.${heard.code}`);
    removal.acknowledgedAt = parts.kernel.events;
    removal.isRemoved = heard.status === 200;
    return;
  }
}

interface SealedRemoval {
  readonly body: Uint8Array;
  /** Hash of the document. */
  readonly document: string;
}

function sealRemoval(
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
