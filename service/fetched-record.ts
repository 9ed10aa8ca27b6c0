// The part of a fetched record that stays the same from one fetch to the next: everything but the source line and the
// receipt. Record, seal and sidecar are spliced in as they are stored, never parsed and printed again.

import type { PolicyFacts } from "../actors/messages/business.ts";
import { concatBytes, parseBase64, utf8 } from "../protocol/bytes.ts";
import { exactMember } from "../protocol/exact-member.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { representUsNames } from "../protocol/records/business-files.ts";
import type { RecordVersion, ServedRecord, StoredSeal } from "../storage/record-store.ts";
import { type SignedRowFacts, signedRowFacts } from "./receipts.ts";

const nodeLength = 32;

export interface FetchedRecord {
  /** UTF-8 of the answer up to and with the quote that opens `source_line`. */
  readonly opening: Uint8Array;
  readonly row: SignedRowFacts;
  readonly certId: string;
  readonly businessUuid: string;
}

/** `verifyUrl` is the public base of the verification surface; `policy` the one in force, null before one is sealed. */
export function openFetchedRecord(
  served: ServedRecord,
  policy: PolicyFacts | null,
  verifyUrl: string,
): FetchedRecord {
  const { version } = served;
  const row = signedRowFacts(version.row);
  const certificateUrl = `${verifyUrl}/v1/certificates/${version.business_uuid}`;
  const opening = concatBytes(
    utf8(
      `{"record_id":"${version.record_id}","business_uuid":"${version.business_uuid}","type":"${version.type}",` +
        `"published_at":"${formatTimestamp(version.published_at_ms)}","record":`,
    ),
    version.bytes,
    utf8(`,"seal":${sealText(version, served.seal)},"sidecar":${version.sidecar},"ai_policy":`),
    policyBytes(policy),
    version.type === "business_files" ? businessFileBytes(version.bytes) : new Uint8Array(),
    // A seal's place in the transparency log is not known before its leaf is sequenced there.
    utf8(
      `,"provenance":{"certificate_url":${JSON.stringify(certificateUrl)},"projection_version":"${row.projection}",` +
        `"log_leaf":null,"source_line":"`,
    ),
  );
  return { opening, row, certId: version.cert_id, businessUuid: version.business_uuid };
}

/** The whole answer (specification, «Fetched record»). */
export function closeFetchedRecord(
  record: FetchedRecord,
  closing: { readonly sourceLine: string; readonly receipt: string },
): Uint8Array {
  // A source line holds no character that JSON escapes.
  return concatBytes(record.opening, utf8(`${closing.sourceLine}"},"receipt":${closing.receipt}}`));
}

/** The seal of one record: its own envelope, or the batch's with the path from the record's leaf to the sealed root. */
export function sealText(version: Pick<RecordVersion, "leaf_index" | "proof">, seal: StoredSeal): string {
  if (version.leaf_index === null || seal.tree_size === null) return seal.envelope;
  const proof: string[] = [];
  for (let at = 0; at < version.proof.length; at += nodeLength) {
    proof.push(`"sha256:${version.proof.subarray(at, at + nodeLength).toHex()}"`);
  }
  const place = `"leaf_index":${version.leaf_index},"tree_size":${seal.tree_size}`;
  return `{"batch_seal":${seal.envelope},${place},"proof":[${proof.join(",")}]}`;
}

function policyBytes(policy: PolicyFacts | null): Uint8Array {
  if (policy === null) return utf8(`{"version":0,"record":null,"seal":null}`);
  const record = parseBase64(policy.record_base64);
  if (record === null) throw new Error(`The AI policy record ${policy.record_id} is stored as base64.`);
  return concatBytes(utf8(`{"version":${policy.version},"record":`), record, utf8(`,"seal":${policy.seal}}`));
}

/**
 * `represent_us` and `endpoints` of a business file, from the record's own text. The status of the endpoints says
 * whether the service still stands behind them: it is `authorised`, for this service has no domain assurance that
 * could suspend them.
 */
function businessFileBytes(bytes: Uint8Array): Uint8Array {
  const text = new TextDecoder().decode(bytes);
  const texts = representUsNames.map(
    (name) => `"${name}":${exactMember(text, "represent_us", name) ?? "null"}`,
  );
  const items = exactMember(text, "endpoints") ?? "[]";
  return utf8(`,"represent_us":{${texts.join(",")}},"endpoints":{"status":"authorised","items":${items}}`);
}
