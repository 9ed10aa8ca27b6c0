// The part of a fetched record that stays the same from one fetch to the next: everything but the source line and the
// receipt. Record, seal and sidecar are spliced in as stored, never parsed and re-serialised.

import type { PartyFacts, PolicyFacts } from "../../actors/messages/business.ts";
import type { DomainFacts } from "../../actors/messages/domains.ts";
import { parseBase64, parseUtf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { endpointDomains } from "../../protocol/keys/certificate.ts";
import { representUsNames } from "../../protocol/records/business-files.ts";
import type { VerifyPageAnswer } from "../../protocol/wire/verification.ts";
import type { RecordVersion, ServedRecord, StoredSeal } from "../../storage/record-store.ts";
import { type SignedRowFacts, signedRowFacts } from "./receipts.ts";

/** Number of hex digits of a Merkle node. */
const nodeDigits = 64;

export interface FetchedRecord {
  /** The text of the answer up to and including the quote that opens `source_line`. */
  readonly opening: string;
  readonly row: SignedRowFacts;
  readonly generation: number;
  readonly certId: string;
  readonly businessUuid: string;
  /** The status of a business file's endpoints; null for other types. */
  readonly endpoints: EndpointsStatus | null;
}

export interface RecordContext {
  /** The text from {@link policyText}. */
  readonly policy: string;
  /** What the transparency log is asked about the record's seal, `sha256:<hex>`. */
  readonly logLeaf: string;
  /** The status of a business file's endpoints; null for other types. */
  readonly endpoints: EndpointsStatus | null;
  /** The public base of the verification surface. */
  readonly verifyUrl: string;
}

/** A stored version as a fetch answers it, but for its receipt. Throws for a row that no node signed. */
export function openFetchedRecord(
  served: ServedRecord,
  { policy, logLeaf, endpoints, verifyUrl }: RecordContext,
): FetchedRecord {
  const { version } = served;
  const row = signedRowFacts(version.row);
  const record = textOf(version.bytes, version.record_id);
  const certificateUrl = `${verifyUrl}/v1/certificates/${version.business_uuid}`;
  const opening =
    `{"record_id":"${version.record_id}","business_uuid":"${version.business_uuid}","type":"${version.type}",` +
    `"published_at":"${formatTimestamp(version.published_at_ms)}","record":${record},` +
    `"seal":${sealText(version, served.seal)},"sidecar":${version.sidecar},"ai_policy":${policy}` +
    `${endpoints === null ? "" : businessFileText(record, endpoints)},` +
    `"provenance":{"certificate_url":${JSON.stringify(certificateUrl)},"projection_version":"${row.projection}",` +
    `"log_leaf":"${logLeaf}","source_line":"`;
  const { generation, cert_id: certId, business_uuid: businessUuid } = version;
  return { opening, row, generation, certId, businessUuid, endpoints };
}

/** The whole answer (specification, «Fetched record»). */
export function closeFetchedRecord(
  record: FetchedRecord,
  closing: { readonly sourceLine: string; readonly receipt: string },
): string {
  // A source line contains no character that JSON escapes.
  return `${record.opening}${closing.sourceLine}"},"receipt":${closing.receipt}}`;
}

/** Sealed bytes were read as strict UTF-8 before they were stored, so their text encodes to the same bytes. */
function textOf(bytes: Uint8Array, name: string): string {
  const text = parseUtf8(bytes);
  if (text === null) throw new Error(`The stored bytes of ${name} are not UTF-8.`);
  return text;
}

/** The seal of one record: its own envelope, or the batch's with the path from the record's leaf to the sealed root. */
export function sealText(version: Pick<RecordVersion, "leaf_index" | "proof">, seal: StoredSeal): string {
  if (version.leaf_index === null || seal.tree_size === null) return seal.envelope;
  // Converted in one go: a view of its own for every node would cost more than all of their digits.
  const hex = version.proof.toHex();
  let proof = "";
  for (let at = 0; at < hex.length; at += nodeDigits) {
    proof += `${at === 0 ? "" : ","}"sha256:${hex.slice(at, at + nodeDigits)}"`;
  }
  const place = `"leaf_index":${version.leaf_index},"tree_size":${seal.tree_size}`;
  return `{"batch_seal":${seal.envelope},${place},"proof":[${proof}]}`;
}

/** The `ai_policy` of a fetched record; null before one is sealed. */
export function policyText(policy: PolicyFacts | null): string {
  if (policy === null) return `{"version":0,"record":null,"seal":null}`;
  const record = parseBase64(policy.record_base64);
  if (record === null) throw new Error(`The AI policy record ${policy.record_id} is stored as base64.`);
  return `{"version":${policy.version},"record":${textOf(record, policy.record_id)},"seal":${policy.seal}}`;
}

/** `represent_us` and the items of `endpoints` of a business file, taken from the record's own text. */
function businessFileText(record: string, status: EndpointsStatus): string {
  const texts = representUsNames.map(
    (name) => `"${name}":${exactMember(record, "represent_us", name) ?? "null"}`,
  );
  const items = exactMember(record, "endpoints") ?? "[]";
  return `,"represent_us":{${texts.join(",")}},"endpoints":{"status":"${status}","items":${items}}`;
}

// Whether the service stands behind the endpoints of a business file, from what the register says of their domains.

/**
 * `suspended`: control of one of the domains was confirmed, and is lost. `unconfirmed`: none is lost, and one was never
 * confirmed, so the business may have named somebody else's.
 */
export type EndpointsStatus = Endpoints["status"];
type Endpoints = NonNullable<VerifyPageAnswer["endpoints"]>;

export type ShownDomain = Omit<DomainFacts, "since"> & { readonly since: string | null };

/** The domains of the endpoints in the stored bytes of a business file. */
export function domainsIn(bytes: Uint8Array): readonly string[] {
  return endpointDomains(JSON.parse(parseUtf8(bytes) ?? "null"));
}

/** What is known of each of the domains, in their order. */
export function domainsShown(
  domains: readonly string[],
  party: Pick<PartyFacts, "domains"> | null,
): readonly ShownDomain[] {
  const known = new Map(party?.domains?.map((each) => [each.domain, each]));
  return domains.map((domain) => {
    const never = { domain, status: "unconfirmed", since: null, confirmed_at: null } as const;
    return known.get(domain) ?? never;
  });
}

/** The worst status of all; `authorised` for none. */
export function endpointsStatus(shown: readonly Pick<ShownDomain, "status">[]): EndpointsStatus {
  const worst = (["suspended", "unconfirmed"] as const).find((bad) =>
    shown.some(({ status }) => status === bad),
  );
  return worst ?? "authorised";
}

/** Since when control of all of them is confirmed without a later look; null if one was never confirmed, or if there is none. */
export function allConfirmedAt(shown: readonly Pick<ShownDomain, "confirmed_at">[]): string | null {
  const times = shown.flatMap(({ confirmed_at }) => confirmed_at ?? []);
  return times.length === 0 || times.length < shown.length ? null : (times.toSorted()[0] ?? null);
}
