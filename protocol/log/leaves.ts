// What becomes a leaf of the log, and under which hash (specification, «Events»). Anyone who holds a seal, a certificate, a key's entry
// in the register, a custody statement or a batch of receipts can compute its entry.

import { canonicalBytes, type JsonValue } from "../canonical-json.ts";
import type { Envelope } from "../dsse.ts";
import { hashOf, type Sha256 } from "../hash.ts";
import type { LogEntry } from "./entries.ts";

/** The hash of a signed envelope, or of anything else that is JSON: that of its canonical text. */
export function contentHash(value: JsonValue, sha256: Sha256): string {
  return hashOf(canonicalBytes(value), sha256);
}

/** The leaf of a seal: its hash as an object, whatever its signature is. */
export function sealLeafOf(envelope: Envelope, sha256: Sha256): string {
  return contentHash(envelope as unknown as JsonValue, sha256);
}

/** The seal of a batch, a record, an AI policy or a removal: the SHA-256 of the canonical seal object. */
export function sealEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "seal", subject: businessUuid };
}

/** A certificate, each time that one is issued. */
export function certificateEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "certificate", subject: businessUuid };
}

/** A custody statement, each time that one is issued. */
export function custodyEntry(businessUuid: string, leaf: string): LogEntry {
  return { leaf, leaf_type: "key_event", subject: businessUuid };
}

/** A key that was added to a business's register. Its id is the thumbprint of the public key (RFC 7638). */
export function keyAddedEntry(businessUuid: string, keyId: string, sha256: Sha256): LogEntry {
  const event = { v: 1, event: "key_added", business_uuid: businessUuid, key_id: keyId };
  return { leaf: contentHash(event, sha256), leaf_type: "key_event", subject: businessUuid };
}

/** A closed batch of a region's receipts, by the root over them. */
export function receiptBatchEntry(batch: {
  readonly region: string;
  readonly batch: string;
  readonly root: string;
}): LogEntry {
  return { leaf: batch.root, leaf_type: "receipt_batch", subject: `${batch.region}/${batch.batch}` };
}
