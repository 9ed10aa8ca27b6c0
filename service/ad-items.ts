// The items of a pool: everything that an item needs to verify alone, spliced together from what is stored and signed.
//   AI1. Record bytes, row and sidecar are those of the version, as stored; certificate, keys and AI policy are those in force.
//   AI2. What is cached belongs to one version of an ad, or is signed again after a minute, and at once if it does not have the
//        certificate or the key that a seal in the item names: an ad may be sealed under what is newer than what is cached.

import type { AdFacts } from "../actors/messages/ads.ts";
import type { CertificateFacts, PolicyFacts } from "../actors/messages/business.ts";
import { parseUtf8, toBase64 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { exactMember } from "../protocol/exact-member.ts";
import { decimalOf } from "../protocol/money.ts";
import { serveRow } from "../protocol/row.ts";
import { openSeal } from "../protocol/seal.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import type { RecordStore } from "../storage/record-store.ts";
import type { FoundAd } from "./ad-book.ts";
import { policyText } from "./fetched-record.ts";
import type { SignedRowFacts } from "./receipts.ts";
import type { Register } from "./register.ts";
import type { Verification } from "./verification.ts";

export interface AdItemDeps {
  readonly records: Pick<RecordStore, "readRows" | "readOrigins">;
  readonly register: Pick<Register, "certificates" | "party" | "policyInForce" | "policy">;
  readonly verification: Pick<Verification, "businessKeys">;
  /** The signed link of an image, by its hash. */
  readonly linkOf: (sha256: string) => string;
  readonly clock: { readonly now: () => number };
}

/** An item without its token. */
export interface AdItem {
  readonly found: FoundAd;
  readonly row: SignedRowFacts;
  /** The text of the item up to its token, and from there on. */
  readonly opening: string;
  readonly closing: string;
}

/** Maximum numbers of cached versions and of cached advertisers. */
const versionsMax = 5_000;
const advertisersMax = 1_000;
const advertiserKeptMs = 60_000;

interface Version {
  /** The creative's members before its images. */
  readonly creative: string;
  readonly recordBase64: string;
  readonly row: string;
  readonly rowFacts: AdRowFacts;
  readonly sidecar: string;
  readonly images: readonly SealedImage[];
}

interface AdRowFacts extends SignedRowFacts {
  /** What the ad's seal names. */
  readonly sealedBy: Sealer;
}

/** What a seal names: the issuance of the certificate, and the key. */
interface Sealer {
  readonly certId: string;
  readonly keyId: string;
}

interface SealedImage {
  readonly sha256: string;
  readonly media_type: string;
  readonly width: number;
  readonly height: number;
  readonly alt: string;
}

interface Advertiser {
  readonly legalName: string;
  /** Every issuance, newest first. */
  readonly certificates: readonly CertificateFacts[];
  readonly keys: string;
  /** Which keys these are. */
  readonly keyIds: ReadonlySet<string>;
  readonly readAtMs: number;
}

export interface AdItems {
  /** Whether the advertiser may be served: a business whose certificate is active. */
  isServed(businessUuid: string): Promise<boolean>;
  /** The items of these ads, in their order; one whose version is not readable here yet is left out. */
  itemsOf(found: readonly FoundAd[]): Promise<readonly AdItem[]>;
  /** The label under which an advertiser's ads are shown. */
  labelOf(businessUuid: string): Promise<{ readonly text: string; readonly advertiser: string }>;
}

export function createAdItems(deps: AdItemDeps): AdItems {
  const versions = new BoundedMap<string, Version>(versionsMax);
  const advertisers = new BoundedMap<string, Advertiser>(advertisersMax);
  const advertiserOf = async (uuid: string, named: readonly Sealer[]): Promise<Advertiser | null> => {
    const known = advertisers.get(uuid);
    const isNew = known !== undefined && deps.clock.now() - known.readAtMs < advertiserKeptMs;
    if (isNew && named.every((each) => hasSealer(known, each))) return known;
    const read = await readAdvertiser(deps, uuid);
    if (read !== null) advertisers.set(uuid, read);
    return read;
  };
  return {
    isServed: async (uuid) => (await deps.register.certificates(uuid))[0]?.status === "active",
    labelOf: async (uuid) => ({
      text: labelText,
      advertiser: (await deps.register.party(uuid))?.legal_name ?? "",
    }),
    itemsOf: async (found) => {
      await load(
        deps,
        versions,
        found.map(({ ad }) => ad),
      );
      const items = await Promise.all(
        found.map(async (each) => {
          const version = versions.get(nameOf(each.ad));
          if (version === undefined) return null;
          const policy = await policyOf(deps, each.ad.business_uuid);
          const named = [version.rowFacts.sealedBy, ...(policy.sealedBy === null ? [] : [policy.sealedBy])];
          const advertiser = await advertiserOf(each.ad.business_uuid, named);
          return advertiser === null ? null : itemOf(deps, each, { version, advertiser, policy });
        }),
      );
      return items.filter((item) => item !== null);
    },
  };
}

const labelText = "Sponsored";

function nameOf({ ad_id, generation }: AdFacts): string {
  return `${ad_id}/${generation}`;
}

/** Reads the versions that are not cached. */
async function load(
  { records }: AdItemDeps,
  versions: BoundedMap<string, Version>,
  ads: readonly AdFacts[],
): Promise<void> {
  const missing = ads
    .filter((ad) => versions.get(nameOf(ad)) === undefined)
    .map(({ ad_id, generation, hash }) => ({ record_id: ad_id, generation, hash }));
  if (missing.length === 0) return;
  const [rows, origins] = await Promise.all([records.readRows(missing), records.readOrigins(missing)]);
  const rowOf = new Map(rows.map((row) => [`${row.record_id}/${row.generation}`, row.row]));
  for (const { record_id, generation, bytes, sidecar } of origins) {
    const row = rowOf.get(`${record_id}/${generation}`);
    const record = parseUtf8(bytes);
    if (row === undefined || row === "" || record === null) continue;
    const { images } = JSON.parse(record) as { readonly images: readonly SealedImage[] };
    const version = {
      ...{ creative: creativeOf(record), images, row, rowFacts: rowFactsOf(row), sidecar },
      recordBase64: toBase64(bytes),
    };
    versions.set(`${record_id}/${generation}`, version);
  }
}

/** Values as the record has them. */
function creativeOf(record: string): string {
  const names = ["headline", "body", "call_to_action", "display_domain", "destination_url"];
  return names.map((name) => `"${name}":${exactMember(record, name) ?? "null"}`).join(",");
}

/** The row of an ad has members among those with which other rows begin, and is read once. */
function rowFactsOf(row: string): AdRowFacts {
  const { adl_origin, adl_origin_seal, adl_proj, adl_row_sig, ai_policy_version } = JSON.parse(row) as {
    readonly adl_origin: string;
    readonly adl_origin_seal: JsonValue;
    readonly adl_proj: string;
    readonly adl_row_sig: string;
    readonly ai_policy_version: number;
  };
  const sealedBy = sealerOf(adl_origin_seal);
  if (sealedBy === null) throw new Error("The row of an ad has its seal.");
  return {
    ...{ origin: adl_origin, projection: adl_proj, signature: adl_row_sig },
    ...{ sealedBy, aiPolicyVersion: ai_policy_version },
  };
}

async function readAdvertiser(deps: AdItemDeps, uuid: string): Promise<Advertiser | null> {
  const readAtMs = deps.clock.now();
  const party = await deps.register.party(uuid);
  // Before the certificates: the one that the keys name must be among them.
  const keys = await deps.verification.businessKeys(uuid);
  const certificates = await deps.register.certificates(uuid);
  if (certificates.length === 0 || party === null || keys.kind === "problem") return null;
  const text = String(keys.body);
  const signed = exactMember(text, "signed");
  if (signed === null) return null;
  const published = JSON.parse(text) as { readonly keys: readonly { readonly key_id: string }[] };
  const keyIds = new Set(published.keys.map(({ key_id }) => key_id));
  return { legalName: party.legal_name, certificates, keys: signed, keyIds, readAtMs };
}

function hasSealer({ certificates, keyIds }: Advertiser, { certId, keyId }: Sealer): boolean {
  return keyIds.has(keyId) && certificates.some(({ cert_id }) => cert_id === certId);
}

interface PolicyInForce {
  readonly bitsText: string;
  /** Null for version 0. */
  readonly policy: PolicyFacts | null;
  readonly sealedBy: Sealer | null;
}

async function policyOf({ register }: AdItemDeps, uuid: string): Promise<PolicyInForce> {
  const { version, bitsText } = register.policyInForce(uuid);
  const policy = version === 0 ? null : await register.policy(uuid, version);
  const sealedBy = policy === null ? null : sealerOf(JSON.parse(policy.seal) as JsonValue);
  return { bitsText, policy, sealedBy };
}

function itemOf(
  deps: AdItemDeps,
  found: FoundAd,
  {
    version,
    advertiser,
    policy: { policy, bitsText, sealedBy },
  }: { readonly version: Version; readonly advertiser: Advertiser; readonly policy: PolicyInForce },
): AdItem {
  const { ad, campaign, matches } = found;
  const images = version.images.map((image) => ({ ...image, url: deps.linkOf(image.sha256) }));
  const creative = `{${version.creative},"images":${JSON.stringify(images)}}`;
  const price = { amount: decimalOf(BigInt(campaign.net_price)), currency: campaign.currency };
  return {
    found,
    row: version.rowFacts,
    opening:
      `{"ad_id":"${ad.ad_id}","creative":${creative},` +
      `"label":${JSON.stringify({ text: labelText, advertiser: advertiser.legalName })},` +
      `"net_price":${JSON.stringify(price)},"keyword_matches":${matches},"render_token":"`,
    closing:
      `","row":${serveRow(version.row, bitsText)},"record_base64":"${version.recordBase64}",` +
      `"sidecar":${version.sidecar},"ai_policy":${policyText(policy)},` +
      `${certificatesText(advertiser.certificates, [version.rowFacts.sealedBy, sealedBy])},` +
      `"keys":${advertiser.keys}}`,
  };
}

/** The issuance in force, and the earlier ones back to the oldest that a seal in the item names. */
function certificatesText(
  certificates: readonly CertificateFacts[],
  named: readonly (Sealer | null)[],
): string {
  const oldest = certificates.findLastIndex(({ cert_id }) => named.some((each) => each?.certId === cert_id));
  const [inForce, ...earlier] = certificates.slice(0, oldest + 1 || 1).map(({ envelope }) => envelope);
  const history = earlier.length === 0 ? "" : `,"certificate_history":[${earlier.join(",")}]`;
  return `"certificate":${inForce}${history}`;
}

/** Null for what is no seal. */
function sealerOf(envelope: JsonValue): Sealer | null {
  const parsed = parseEnvelope(envelope);
  const seal = parsed.ok ? openSeal(parsed.value) : parsed;
  return seal.ok ? { certId: seal.value.cert_id, keyId: seal.value.key_id } : null;
}
