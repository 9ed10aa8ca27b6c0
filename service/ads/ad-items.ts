// The items of a pool: everything that an item needs to verify alone, spliced together from what is stored and signed.
//   AI1. Record bytes, row and sidecar are those of the version, as stored; certificate, keys and AI policy are those in force.
//   AI2. What is cached belongs to one version of an ad, or is signed again after a minute, and at once if it does not have the
//        certificate or the key that a seal in the item names: an ad may be sealed under what is newer than what is cached.
//   AI3. An item is bytes of its version and of its advertiser, which are encoded once, around the few texts that belong to this pool.

import type { AdFacts, CampaignFacts } from "../../actors/messages/ads.ts";
import type { CertificateFacts, PolicyFacts } from "../../actors/messages/business.ts";
import type { Clock } from "../../crypto/port.ts";
import { parseUtf8, toBase64, utf8 } from "../../protocol/bytes.ts";
import { openStored, parseEnvelope } from "../../protocol/dsse.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { openCertificate } from "../../protocol/keys/certificate.ts";
import { decimalOf } from "../../protocol/price-list.ts";
import { openRow } from "../../protocol/row.ts";
import { openSeal } from "../../protocol/seal.ts";
import { BoundedMap, madeOnce } from "../../std/bounded-map.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { bodyText } from "../answer.ts";
import type { FoundAd } from "../register/ad-book.ts";
import type { Register } from "../register/register.ts";
import { policyText } from "../retrieval/fetched-record.ts";
import type { SignedRowFacts } from "../retrieval/receipts.ts";
import type { Verification } from "../verification/verification.ts";

export interface AdItemDeps {
  readonly records: RecordStore;
  readonly register: Register;
  readonly verification: Verification;
  /** The signed link of an image, by its hash. */
  readonly linkOf: (sha256: string) => string;
  readonly clock: Clock;
}

/** An item without its token. */
export interface AdItem {
  readonly found: FoundAd;
  readonly row: SignedRowFacts;
  /** The item's parts with this token, in their order. */
  readonly partsWith: (token: string) => readonly (string | Uint8Array)[];
}

/** Maximum numbers of cached versions and of cached advertisers. */
const versionsMax = 5_000;
const advertisersMax = 1_000;
const advertiserKeptMs = 60_000;

interface Version {
  /** The item up to the creative's images. */
  readonly opening: string;
  readonly images: readonly SealedImage[];
  readonly rowFacts: AdRowFacts;
  /** From the row up to its bits, and from there to the sidecar. */
  readonly rowOpening: Uint8Array;
  readonly rowClosing: Uint8Array;
  /** The item's opening in the last pool that it was in; null while there is none that may be used again. */
  last: Opening | null;
}

/** An item up to its token, and what else than the version it says. */
interface Opening {
  readonly campaign: CampaignFacts;
  readonly label: string;
  readonly matches: number;
  readonly bytes: Uint8Array;
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
  readonly label: string;
  /** Every issuance, newest first. */
  readonly certificates: readonly CertificateFacts[];
  readonly keys: string;
  /** Which keys these are. */
  readonly keyIds: ReadonlySet<string>;
  readonly readAtMs: number;
  /** The ends of its items, by the policy and the certificates that they have. */
  readonly closings: Map<string, Uint8Array>;
}

/** What the items of one advertiser have in common now. */
interface Offerer {
  readonly advertiser: Advertiser;
  readonly policy: PolicyInForce;
}

export interface AdItems {
  /** Whether the advertiser may be served: a business whose certificate is active. */
  isServed(businessUuid: string): boolean;
  /** The items of these ads, in their order; one whose version is not readable here yet is left out. */
  itemsOf(found: readonly FoundAd[]): Promise<readonly AdItem[]>;
  /** The label under which an advertiser's ads are shown. */
  labelOf(businessUuid: string): Promise<{ readonly text: string; readonly advertiser: string }>;
}

/** Makes the items of a pool: signed ads with what anyone needs to verify them offline. */
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
  const offererOf = async (uuid: string, sealers: readonly Sealer[]): Promise<Offerer | null> => {
    const policy = await policyOf(deps, uuid);
    const advertiser = await advertiserOf(
      uuid,
      policy.sealedBy === null ? sealers : [...sealers, policy.sealedBy],
    );
    return advertiser === null ? null : { advertiser, policy };
  };
  return {
    isServed: (uuid) => deps.register.certifiedNames.legalNameOf(uuid) !== null,
    labelOf: async (uuid) => ({
      text: labelText,
      advertiser: (await deps.register.party(uuid))?.legal_name ?? "",
    }),
    itemsOf: async (found) => {
      const read = await versionsOf(deps, versions, found);
      const sealers = new Map<string, Sealer[]>();
      for (const { found: each, version } of read) {
        const known = sealers.get(each.ad.business_uuid);
        if (known === undefined) sealers.set(each.ad.business_uuid, [version.rowFacts.sealedBy]);
        else known.push(version.rowFacts.sealedBy);
      }
      const offerers = new Map<string, Offerer | null>();
      await Promise.all(
        Array.from(sealers, async ([uuid, named]) => void offerers.set(uuid, await offererOf(uuid, named))),
      );
      return read.flatMap(({ found: each, version }) => {
        const offerer = offerers.get(each.ad.business_uuid) ?? null;
        return offerer === null ? [] : [itemOf(deps, each, { version, ...offerer })];
      });
    },
  };
}

const labelText = "Sponsored";

function nameOf({ ad_id, generation }: AdFacts): string {
  return `${ad_id}/${generation}`;
}

interface ReadAd {
  readonly found: FoundAd;
  readonly version: Version;
}

/** The ads whose versions are readable, with them. */
async function versionsOf(
  deps: AdItemDeps,
  versions: BoundedMap<string, Version>,
  found: readonly FoundAd[],
): Promise<readonly ReadAd[]> {
  const known = found.map(({ ad }) => versions.get(nameOf(ad)));
  const missing = found.filter((_, at) => known[at] === undefined).map(({ ad }) => ad);
  if (missing.length > 0) await load(deps, versions, missing);
  return found.flatMap((each, at) => {
    const version = known[at] ?? versions.get(nameOf(each.ad));
    return version === undefined ? [] : [{ found: each, version }];
  });
}

async function load(
  { records }: AdItemDeps,
  versions: BoundedMap<string, Version>,
  ads: readonly AdFacts[],
): Promise<void> {
  const missing = ads.map(({ ad_id, generation, hash }) => ({ record_id: ad_id, generation, hash }));
  const [rows, origins] = await Promise.all([records.readRows(missing), records.readOrigins(missing)]);
  const rowOf = new Map(rows.map((row) => [`${row.record_id}/${row.generation}`, row.row]));
  for (const { record_id, generation, bytes, sidecar } of origins) {
    const row = rowOf.get(`${record_id}/${generation}`);
    const record = parseUtf8(bytes);
    if (row === undefined || row === "" || record === null) continue;
    const { images } = JSON.parse(record) as { readonly images: readonly SealedImage[] };
    const { opening, closing } = openRow(row);
    versions.set(`${record_id}/${generation}`, {
      opening: `{"ad_id":"${record_id}","creative":{${creativeOf(record)},"images":`,
      images,
      rowFacts: rowFactsOf(row),
      rowOpening: utf8(`","row":${opening}`),
      last: null,
      rowClosing: utf8(`${closing},"record_base64":"${toBase64(bytes)}","sidecar":${sidecar}`),
    });
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
    origin: adl_origin,
    projection: adl_proj,
    signature: adl_row_sig,
    sealedBy,
    aiPolicyVersion: ai_policy_version,
  };
}

async function readAdvertiser(deps: AdItemDeps, uuid: string): Promise<Advertiser | null> {
  const readAtMs = deps.clock.now();
  // Before the certificates: the one that the keys name must be among them.
  const keys = await deps.verification.businessKeys(uuid);
  const certificates = await deps.register.certificates(uuid);
  if (certificates.length === 0 || keys.kind === "problem") return null;
  const text = bodyText(keys.body);
  const signed = exactMember(text, "signed");
  if (signed === null) return null;
  const published = JSON.parse(text) as { readonly keys: readonly { readonly key_id: string }[] };
  const keyIds = new Set(published.keys.map(({ key_id }) => key_id));
  const label = JSON.stringify({ text: labelText, advertiser: certifiedName(certificates[0]) });
  return { label, certificates, keys: signed, keyIds, readAtMs, closings: new Map() };
}

/** The name under which an item shows its advertiser is on the certificate in the item, where a verifier finds it. */
function certifiedName(facts: CertificateFacts | undefined): string {
  const opened = openStored(facts?.envelope ?? "null", openCertificate);
  if (!opened.ok) throw new Error(`The stored certificate ${facts?.cert_id} cannot be read.`);
  return opened.value.certificate.legal_name;
}

function hasSealer({ certificates, keyIds }: Advertiser, { certId, keyId }: Sealer): boolean {
  return keyIds.has(keyId) && certificates.some(({ cert_id }) => cert_id === certId);
}

interface PolicyInForce {
  readonly bitsText: string;
  readonly version: number;
  /** Of version 0 as of any other. */
  readonly text: string;
  /** Null for version 0. */
  readonly sealedBy: Sealer | null;
}

type SealedPolicy = Pick<PolicyInForce, "text" | "sealedBy">;

const noPolicy: SealedPolicy = { text: policyText(null), sealedBy: null };

async function policyOf({ register }: AdItemDeps, uuid: string): Promise<PolicyInForce> {
  const { version, bitsText } = register.policyInForce(uuid);
  const policy = version === 0 ? null : await register.policy(uuid, version);
  return { bitsText, version, ...(policy === null ? noPolicy : sealedPolicyOf(policy)) };
}

const sealedPolicyOf = madeOnce(
  (facts: PolicyFacts): SealedPolicy => ({
    text: policyText(facts),
    sealedBy: sealerOf(JSON.parse(facts.seal) as JsonValue),
  }),
);

function itemOf(
  deps: AdItemDeps,
  found: FoundAd,
  { version, advertiser, policy }: Offerer & { readonly version: Version },
): AdItem {
  const { rowFacts, rowOpening, rowClosing } = version;
  const opening = openingOf(deps, found, { version, label: advertiser.label });
  const closing = closingOf(advertiser, policy, rowFacts.sealedBy);
  return {
    found,
    row: rowFacts,
    partsWith: (token) => [opening, token, rowOpening, policy.bitsText, rowClosing, closing],
  };
}

/** Links to images are of this pool alone. */
function openingOf(
  { linkOf }: AdItemDeps,
  { campaign, matches }: FoundAd,
  { version, label }: { readonly version: Version; readonly label: string },
): Uint8Array {
  const { opening, images, last } = version;
  if (last?.campaign === campaign && last.label === label && last.matches === matches) return last.bytes;
  const linked = images.map((image) => ({ ...image, url: linkOf(image.sha256) }));
  const price = JSON.stringify({
    amount: decimalOf(BigInt(campaign.net_price)),
    currency: campaign.currency,
  });
  const bytes = utf8(
    `${opening}${JSON.stringify(linked)}},"label":${label},"net_price":${price},` +
      `"keyword_matches":${matches},"render_token":"`,
  );
  if (images.length === 0) version.last = { campaign, label, matches, bytes };
  return bytes;
}

/** From the AI policy to the end of an item: the same for all items that need the same certificates. */
function closingOf(
  { certificates, keys, closings }: Advertiser,
  { text, version, sealedBy }: PolicyInForce,
  adSealedBy: Sealer,
): Uint8Array {
  const named = [adSealedBy, sealedBy];
  const oldest = certificates.findLastIndex(({ cert_id }) => named.some((each) => each?.certId === cert_id));
  // A policy is known by its version for as long as an advertiser is cached.
  const name = `${version}/${sealedBy === null ? "none" : "sealed"}/${oldest}`;
  const known = closings.get(name);
  if (known !== undefined) return known;
  const shown = certificatesText(certificates.slice(0, oldest + 1 || 1));
  const bytes = utf8(`,"ai_policy":${text},${shown},"keys":${keys}}`);
  closings.set(name, bytes);
  return bytes;
}

/** The issuance in force, and the earlier ones back to the oldest that a seal in the item names. */
function certificatesText(certificates: readonly CertificateFacts[]): string {
  const [inForce, ...earlier] = certificates.map(({ envelope }) => envelope);
  const history = earlier.length === 0 ? "" : `,"certificate_history":[${earlier.join(",")}]`;
  return `"certificate":${inForce}${history}`;
}

/** Null for what is no seal. */
function sealerOf(envelope: JsonValue): Sealer | null {
  const parsed = parseEnvelope(envelope);
  const seal = parsed.ok ? openSeal(parsed.value) : parsed;
  return seal.ok ? { certId: seal.value.cert_id, keyId: seal.value.key_id } : null;
}
