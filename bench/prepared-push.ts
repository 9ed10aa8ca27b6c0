// A batch of products for the business surface, sealed and signed before any clock runs.

import { publishBody, type SealedBatch, sealBatch } from "../client/batch.ts";
import { productBytes } from "./products.ts";
import { type Caller, makeRequest } from "./requests.ts";

/** A sealed batch and its request as bytes. */
export interface PreparedPush {
  readonly request: Uint8Array;
  readonly body: Uint8Array;
  readonly records: readonly Uint8Array[];
  readonly batch: SealedBatch;
}

/** A business with the values that its next seal must name. */
export interface Publisher {
  readonly uuid: string;
  readonly certId: string;
  readonly aiPolicyVersion: number;
  readonly caller: Caller;
}

/** Products by their numbers. */
export interface ProductRange {
  readonly first: number;
  readonly count: number;
}

/** Seals a batch of the products from `first` on, and makes its request, ready to be sent. */
export async function preparePushOf(
  businessUrl: string,
  { uuid, certId, aiPolicyVersion, caller }: Publisher,
  range: ProductRange,
  path = "/v1/publish/products",
): Promise<PreparedPush> {
  const records = Array.from({ length: range.count }, (_, index) => productBytes(range.first + index));
  const nowMs = Date.now();
  const facts = {
    businessUuid: uuid,
    certId,
    aiPolicyVersion,
    recordType: "products",
    // As in the client: greater than any earlier one, and greater than the possible number of batches.
    seq: nowMs,
    sealedAtMs: nowMs,
  };
  const batch = await sealBatch(records, facts, caller.key);
  const body = publishBody(batch.batch_seal, records);
  const request = await makeRequest(businessUrl, caller, {
    method: "POST",
    path,
    tag: "svc-push",
    body,
    headers: { "idempotency-key": batch.push_id },
  });
  return { request, body, records, batch };
}
