// An ad as a pool serves it, verified with nothing but what is in its item (specification, «POST /v1/ads/pool»: each item
// verifies on its own).
//   A1. What is shown counts as sealed only where the bytes in the item are the row's origin.
//   A2. The advertiser's name is that of its certificate in force. The price, the matched keywords, the token and the addresses
//       of the pictures are the service's own; the report names them as what no signature covers. A picture is known by its hash.
//   A3. The keys and the certificate are as of the instant at which the service signed them. What was revoked later is in a
//       later item, so keys from more than a day before the pool was served prove nothing about it.

import { hashOf, parseBase64, parseUtf8, utf8 } from "../protocol/bytes.ts";
import { parseObject, readPayload } from "../protocol/dsse.ts";
import { parseTimestamp, recordType } from "../protocol/identifiers.ts";
import { canonicalBytes, canonicalize, type JsonValue } from "../protocol/json/canonical-json.ts";
import { exactMember } from "../protocol/json/strict-json.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import type { IndexRow } from "../protocol/row.ts";
import { openSeal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/signed-version.ts";
import { type AdItem, adItem } from "../protocol/wire/ad-requests.ts";
import { isObject } from "../std/json-pointer.ts";
import { verifyBusinessKeys } from "./business-keys.ts";
import { verifyCertificate, verifyCertificates } from "./certificate.ts";
import type { FetchedPolicy } from "./fetched-record.ts";
import {
  type Check,
  checkOf,
  type Report,
  reportOf,
  sealCheckOf,
  unchecked,
  unsignedChecks,
} from "./members.ts";
import { verifyPolicyBits } from "./policy-bits.ts";
import { verifyProjection, verifyRowSignature, verifySidecar } from "./row.ts";
import { verifySeal } from "./seal.ts";
import { nothingChecked, type SealReport, type SealVerdict } from "./seal-report.ts";
import { policySeal, type ServedBusiness, staleness, timelineOf } from "./served-business.ts";
import type { Trust } from "./trust.ts";

export interface AdEvidence {
  /** The bytes of pictures that were fetched, by their address in the item or by their hash. */
  readonly images?: ReadonlyMap<string, Uint8Array>;
  /** When the pool was served, according to its verified receipt. */
  readonly servedAt?: string;
}

/**
 * Checks the item of an ad, as the exact bytes that a pool served or as parsed JSON. The checks are `row`, `origin_hash`, `seal`,
 * `projection`, `creative`, `images` and `ai_policy_bits`, in this order; `images` is `not_checked` unless the bytes of every picture
 * are given. `unsigned/…` names each member that no signature covers. A failed check `item` alone is reported if the item has another form, and one of `row` alone if its projection is not
 * known. The AI policy record is taken in the spelling whose hash its seal names: canonical, as it was read, or exactly
 * as it stands in the bytes.
 */
export function verifyAdItem(trust: Trust, value: JsonValue | Uint8Array, evidence: AdEvidence = {}): Report {
  const parsed = parseItem(trust, value);
  if (!parsed.ok) {
    const name = parsed.code === "projection_unknown" ? "row" : "item";
    return reportOf([checkOf(name, parsed)]);
  }
  const { item, bytes } = parsed.value;
  const row = rowOf(trust, item, evidence);
  const origin = originOf(trust, item.row, bytes);
  const { seal, bits, advertiser } = businessChecks(trust, parsed.value, evidence);
  return reportOf([
    checkOf("row", row, () => `Row of ${item.ad_id}.`),
    checkOf("origin_hash", origin),
    seal,
    checkOf("projection", verifyProjection(trust, item.row, bytes)),
    origin.ok
      ? checkOf("creative", creativeOf(item, { bytes, advertiser }))
      : unchecked("creative", "Needs the bytes that the row was made from."),
    imagesCheck(trust, item, evidence),
    bits,
    ...unsignedChecks("ad_item", unsigned),
  ]);
}

/** What every item has that no signature covers. */
const unsigned = [
  "/creative/images/*/url",
  ...(["/net_price", "/keyword_matches", "/render_token", "/row/ai_policy_bits/action"] as const),
] as const;

interface ParsedItem {
  readonly item: AdItem;
  readonly bytes: Uint8Array;
  readonly policy: FetchedPolicy;
}

function parseItem(trust: Trust, value: JsonValue | Uint8Array): Verdict<ParsedItem> {
  const text = value instanceof Uint8Array ? parseUtf8(value) : null;
  const parsed: Verdict<JsonValue> = value instanceof Uint8Array ? parseObject(value) : ok(value);
  if (!parsed.ok) return parsed;
  const read = readPayload(adItem, parsed.value);
  if (!read.ok) return unknownProjection(trust, parsed.value) ?? read;
  const item = read.value;
  const bytes = parseBase64(item.record_base64);
  if (bytes === null) throw new Error("The shape of an item lets nothing pass that is not base64.");
  const { version, record, seal } = item.ai_policy;
  if ((version === 0) !== (record === null) || (record === null) !== (seal === null)) {
    const detail = "An AI policy is served with its record and its seal, and version 0 without them.";
    return refuse("payload_malformed", detail, "/ai_policy");
  }
  return ok({ item, bytes, policy: policyOf(trust, item, text) });
}

/** A row of a projection that is not known has members that are not known either. */
function unknownProjection(trust: Trust, item: JsonValue): Verdict<never> | null {
  const row = isObject(item) ? verifyRowSignature(trust, item["row"] ?? null) : null;
  return row?.ok === false && row.code === "projection_unknown" ? row : null;
}

function policyOf({ sha256 }: Trust, { ai_policy: policy }: AdItem, text: string | null): FetchedPolicy {
  const { version, record, seal } = policy;
  if (record === null || seal === null) return { version, bytes: null, seal: null };
  const canonical = canonicalBytes(record);
  const exact = text === null ? null : exactMember(text, "ai_policy", "record");
  const spellings = [canonical, utf8(JSON.stringify(record)), ...(exact === null ? [] : [utf8(exact)])];
  const opened = openSeal(seal);
  const isSealed = (bytes: Uint8Array) => opened.ok && opened.value.hash === hashOf(bytes, sha256);
  return { version, bytes: spellings.find(isSealed) ?? canonical, seal };
}

function rowOf(trust: Trust, { ad_id: adId, row }: AdItem, { servedAt }: AdEvidence): Verdict<IndexRow> {
  const verdict = verifyRowSignature(trust, row as JsonValue, servedAt);
  if (!verdict.ok) return verdict;
  if (recordType(row.record_id) !== "ads")
    return refuse("record_type_mismatch", "The row is not of an ad.", "/row/record_id");
  return row.record_id === adId ? verdict : refuse("hash_mismatch", "The row is of another ad.", "/ad_id");
}

function originOf({ sha256 }: Trust, row: IndexRow, bytes: Uint8Array): Verdict<void> {
  return hashOf(bytes, sha256) === row.adl_origin
    ? ok(undefined)
    : refuse("hash_mismatch", "The row was made from other bytes.", "/row/adl_origin");
}

/** What needs the certificate and the keys of the advertiser. */
function businessChecks(
  trust: Trust,
  { item, bytes, policy }: ParsedItem,
  { servedAt = null }: { readonly servedAt?: string | null },
): { readonly seal: Check; readonly bits: Check; readonly advertiser: string | null } {
  const business = businessOf(trust, item);
  if (!business.ok) {
    const why = "Needs the certificate and the keys of the advertiser.";
    return { seal: checkOf("seal", business), bits: unchecked("ai_policy_bits", why), advertiser: null };
  }
  const advertiser = business.value.certificates.issuances[0]?.certificate.legal_name ?? null;
  const stale = staleness(business.value.keys, servedAt);
  if (stale !== null)
    return { seal: unchecked("seal", stale), bits: unchecked("ai_policy_bits", stale), advertiser };
  const served = policySeal(trust, policy, business.value);
  const seal = sealOf(trust, { item, bytes }, { business: business.value, policy: served });
  return {
    seal: sealCheckOf(
      "seal",
      seal,
      (found) => `Sealed at ${found.sealed_at} by the ${found.key_kind} key ${found.key_id}.`,
    ),
    bits: checkOf("ai_policy_bits", bitsOf(trust, item, { business: business.value, policy, seal })),
    advertiser,
  };
}

/** The certificate in force and the keys; the issuances must include the one that the keys name, which `verifySeal` checks. */
function businessOf(trust: Trust, item: AdItem): Verdict<ServedBusiness> {
  const { business_uuid: uuid } = item.row;
  const newest = verifyCertificate(trust, item.certificate);
  if (!newest.ok) return newest;
  const envelopes = [item.certificate, ...(item.certificate_history ?? [])];
  const certificates = verifyCertificates(trust, uuid, envelopes);
  if (!certificates.ok) return certificates;
  if (certificates.value.issuances[0]?.certId !== newest.value.certId) {
    const detail = "Another issuance than the certificate in force is the newest.";
    return refuse("certificate_unknown", detail, "/certificate");
  }
  const keys = verifyBusinessKeys(trust, uuid, item.keys);
  return keys.ok ? ok({ certificates: certificates.value, keys: keys.value }) : keys;
}

interface Sealed {
  readonly business: ServedBusiness;
  readonly policy: Verdict<SealReport | null>;
}

function sealOf(
  trust: Trust,
  { item, bytes }: Pick<ParsedItem, "item" | "bytes">,
  { business, policy }: Sealed,
): SealVerdict {
  const { row } = item;
  const policies = timelineOf(policy);
  const verdict = verifySeal(trust, {
    ...business,
    document: "ad",
    bytes,
    seal: row["adl_origin_seal"] as JsonValue,
    sidecar: item.sidecar,
    ...(policies === null ? {} : { policies }),
  });
  if (!verdict.ok) return verdict;
  const fault = rowFault(row, verdict.value) ?? sidecarFault(trust, item, verdict.value);
  return fault === null ? verdict : { ...fault, claimed: null, checks: nothingChecked };
}

/** Why a valid seal is not the one that the row states. */
function rowFault(row: IndexRow, seal: SealReport): Refusal<ReasonCode> | null {
  if (seal.format !== 2) return refuse("version_unknown", "An ad must be sealed in format 2.");
  if (seal.cert_id !== row.adl_origin_cert)
    return refuse("certificate_unknown", "The row names another certificate than the seal.");
  return seal.ai_policy_version === row.ai_policy_version
    ? null
    : refuse("ai_policy_version_mismatch", "The row names another AI policy version than the seal.");
}

/** The sidecar is of this version of this ad, under this seal, which `verifySeal` compared it with. */
function sidecarFault(
  trust: Trust,
  { row, sidecar }: AdItem,
  { sidecar: judged }: SealReport,
): Refusal<ReasonCode> | null {
  if (judged?.ok === false) return judged;
  const stated: Verdict<Sidecar> = verifySidecar(trust, sidecar, {
    record_id: row.record_id,
    business_uuid: row.business_uuid,
  });
  if (!stated.ok) return stated;
  const publishedAt = Math.floor((parseTimestamp(stated.value.published_at) ?? 0) / 1000);
  return publishedAt === row.published_at
    ? null
    : refuse("hash_mismatch", "The sidecar is of another version than the row.", "/published_at");
}

/** The members of the sealed ad that are shown under the same name. */
const shownMembers = ["headline", "body", "display_domain", "destination_url"] as const;
const imageMembers = ["sha256", "media_type", "width", "height", "alt"] as const;

/** Whether every text, link and picture shown is the sealed one, and the advertiser's name the certified one, where that is known. */
function creativeOf(
  { creative, label }: AdItem,
  { bytes, advertiser }: { readonly bytes: Uint8Array; readonly advertiser: string | null },
): Verdict<void> {
  const ad = parseObject(bytes);
  if (!ad.ok) return ad;
  for (const name of shownMembers) {
    if (ad.value[name] !== creative[name]) return otherThanSealed(`/${name}`);
  }
  if ((ad.value["call_to_action"] ?? null) !== creative.call_to_action)
    return otherThanSealed("/call_to_action");
  const { images } = ad.value;
  const sealed = Array.isArray(images) ? (images as readonly JsonValue[]) : [];
  if (sealed.length !== creative.images.length) return otherThanSealed("/images");
  for (const [index, shown] of creative.images.entries()) {
    const { url: _, ...image } = shown;
    const picked = Object.fromEntries(imageMembers.map((name) => [name, image[name] as JsonValue]));
    if (canonicalize(picked) !== canonicalize(sealed[index] as JsonValue))
      return otherThanSealed(`/images/${index}`);
  }
  return advertiser === null || label.advertiser === advertiser
    ? ok(undefined)
    : refuse("hash_mismatch", "The certificate names the advertiser otherwise.", "/label/advertiser");
}

function otherThanSealed(pointer: string): Verdict<never> {
  return refuse("hash_mismatch", "What is shown is not what was sealed.", `/creative${pointer}`);
}

/** Each picture that was fetched, against the hash that the row's signature covers for its place. */
function imagesCheck(trust: Trust, { creative, row }: AdItem, { images: fetched }: AdEvidence): Check {
  const hashes = row["adl_creative"] as readonly JsonValue[];
  if (hashes.length !== creative.images.length) {
    const detail = "The row lists other pictures than are shown.";
    return checkOf("images", refuse("hash_mismatch", detail, "/row/adl_creative"));
  }
  let missing = 0;
  for (const [index, { url, sha256 }] of creative.images.entries()) {
    const bytes = fetched?.get(url) ?? fetched?.get(sha256);
    if (sha256 !== hashes[index] || (bytes !== undefined && hashOf(bytes, trust.sha256) !== sha256)) {
      const detail = "The picture is not the one that was sealed.";
      return checkOf("images", refuse("hash_mismatch", detail, `/creative/images/${index}`));
    }
    if (bytes === undefined) missing += 1;
  }
  if (missing > 0)
    return unchecked("images", `The bytes of ${missing} of ${hashes.length} pictures are not given.`);
  return checkOf("images", ok(hashes.length), (count) =>
    count === 0 ? "The ad has none." : `${count} are those sealed.`,
  );
}

function bitsOf(
  trust: Trust,
  { row }: AdItem,
  given: {
    readonly business: ServedBusiness;
    readonly policy: FetchedPolicy;
    readonly seal: SealVerdict;
  },
): Verdict<unknown> {
  const { business, policy, seal } = given;
  const { version, bytes } = policy;
  const evidence = bytes === null ? null : { ...business, bytes, seal: policy.seal };
  const verdict = verifyPolicyBits(trust, row["ai_policy_bits"] as JsonValue, evidence);
  if (!verdict.ok) return verdict;
  if (verdict.value.bits.ai_policy_version !== version)
    return refuse(
      "ai_policy_version_mismatch",
      "The bits are of another AI policy version than the item names.",
    );
  // Versions only increase, so the one in force cannot be older than the one that the ad was sealed under.
  const sealedUnder = seal.ok ? (seal.value.ai_policy_version ?? 0) : 0;
  return sealedUnder > version
    ? refuse(
        "ai_policy_version_mismatch",
        `The ad was sealed under AI policy version ${sealedUnder}, the item names ${version}.`,
      )
    : verdict;
}
