// A batch of products on its way to the business surface, sealed and signed before any clock runs.

import { publishBody, type SealedBatch, sealBatch } from "../client/batch.ts";
import { productBytes } from "./products.ts";
import { type Caller, makeRequest } from "./requests.ts";

/** As bytes. */
export interface PreparedPush {
  readonly request: Uint8Array;
  readonly body: Uint8Array;
  readonly records: readonly Uint8Array[];
  readonly batch: SealedBatch;
}

/** A business as its next seal has to name it. */
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

/** A sealed batch of the products from `first` on, and its request, ready to be sent. */
export async function preparePushOf(
  businessUrl: string,
  { uuid, certId, aiPolicyVersion, caller }: Publisher,
  range: ProductRange,
): Promise<PreparedPush> {
  const records = Array.from({ length: range.count }, (_, index) => productBytes(range.first + index));
  const nowMs = Date.now();
  const facts = {
    businessUuid: uuid,
    certId,
    aiPolicyVersion,
    recordType: "products",
    // As the client does: greater than any before, and greater than the number of batches there can be.
    seq: nowMs,
    sealedAtMs: nowMs,
  };
  const batch = await sealBatch(records, facts, caller.key);
  const body = publishBody(batch.batch_seal, records);
  const request = await makeRequest(businessUrl, caller, {
    method: "POST",
    path: "/v1/publish/products",
    tag: "svc-push",
    body,
    headers: { "idempotency-key": batch.push_id },
  });
  return { request, body, records, batch };
}
