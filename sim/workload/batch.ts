// A sealed batch, with everything needed to send exactly the same batch again.

import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { hashOf } from "../../protocol/hash.ts";
import { formatTimestamp, pushIdOf } from "../../protocol/identifiers.ts";
import { leafHash, merkleRoot } from "../../protocol/merkle.ts";
import { sealPayload } from "../../protocol/seal.ts";
import type { SimSigner } from "../crypto/sim-crypto.ts";
import type { SimBusiness } from "../world/setup.ts";
import type { WorldParts } from "../world/world-parts.ts";
import type { Moment } from "./key-standing.ts";
import { type ProductChoice, productBytes } from "./product.ts";

export interface SentLeaf {
  readonly choice: ProductChoice;
  readonly recordId: string;
  readonly hash: string;
}

export interface SentBatch {
  readonly pushId: string;
  readonly business: SimBusiness;
  readonly key: SimSigner;
  readonly seq: number;
  readonly body: Uint8Array;
  readonly leaves: readonly SentLeaf[];
  readonly idempotencyKey: string;
  /** Position in the world's events when it was first sent. */
  readonly sentAt: number;
  readonly sealedAtMs: number;
  /** When it was first sent, which may be long after it was sealed. */
  firstSent: Moment;
  /** Position at which a 200 or 202 was received; null before. */
  acknowledgedAt: number | null;
  /** Results of the first 200 that was received. */
  results: readonly HeardResult[] | null;
  /** Reported as complete, held or failed. */
  settled: boolean;
  /** The code of a refusal that a retry does not change. */
  refused: string | null;
}

export interface HeardResult {
  readonly leaf_index: number;
  readonly outcome: string;
  readonly record_id: string | null;
  readonly version: number | null;
}

export function sealBatch(
  parts: WorldParts,
  given: {
    readonly business: SimBusiness;
    readonly key: SimSigner;
    readonly seq: number;
    readonly products: readonly ProductChoice[];
    readonly policyVersion: number;
    readonly idempotencyKey: string;
  },
): SentBatch {
  const { business, key, seq, products } = given;
  const { crypto, kernel } = parts;
  const records = products.map(productBytes);
  const leaves = records.map((record) => leafHash(record, crypto.sha256));
  const payload = sealPayload({
    v: 2,
    key_id: key.keyId,
    cert_id: business.certId,
    root: `sha256:${merkleRoot(leaves, crypto.sha256).toHex()}`,
    tree_size: records.length,
    seq,
    sealed_at: formatTimestamp(kernel.now()),
    record_type: "products",
    ai_policy_version: given.policyVersion,
  });
  const type = payloadTypes["batch-seal.v2"];
  const seal = makeEnvelope(type, payload, [{ keyid: key.keyId, sig: key.signNow(pae(type, payload)) }]);
  const items = records.map((record) => `"${toBase64(record)}"`).join(",");
  return {
    ...{ business, key, seq, idempotencyKey: given.idempotencyKey },
    pushId: pushIdOf(business.uuid, payload, crypto.sha256),
    body: utf8(`{"batch_seal":${JSON.stringify(seal)},"records":[${items}]}`),
    leaves: products.map((choice, index) => ({
      choice,
      recordId: parts.recordIdOf(business.uuid, "products", choice.id),
      hash: hashOf(records[index] as Uint8Array, crypto.sha256),
    })),
    sentAt: kernel.events,
    sealedAtMs: kernel.now(),
    firstSent: { at: kernel.events, ms: kernel.now() },
    acknowledgedAt: null,
    results: null,
    settled: false,
    refused: null,
  };
}

/** Whether an answer has come that ends the business's interest in it. */
export const isDone = ({ acknowledgedAt, refused }: SentBatch): boolean =>
  acknowledgedAt !== null || refused !== null;
