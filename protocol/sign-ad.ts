// The signed row and sidecar of one version of an ad, as the publishing of ads needs them.

import type { Envelope } from "./dsse.ts";
import { formatTimestamp } from "./identifiers.ts";
import { projectAd } from "./projection/project.ts";
import type { ParsedAd } from "./records/parse-record.ts";
import type { SealV2 } from "./seal.ts";
import {
  type SidecarScope,
  type SidecarV2,
  type SignedVersion,
  signRowsAndSidecars,
  type VersionSigners,
} from "./signed-version.ts";

export interface AdVersion {
  /** The ad, read from the exact bytes that were sealed. */
  readonly ad: ParsedAd;
  readonly adId: string;
  readonly businessUuid: string;
  /** The envelope of the seal, and what it says. */
  readonly envelope: Envelope;
  readonly seal: SealV2;
  /** Whether a person's passkey sealed or a key that is held for the business. */
  readonly sealer: "passkey" | "hosted";
  /** Counts the versions of the ad from 1. */
  readonly generation: number;
  /** The place of this version among the changes of the business. */
  readonly change: number;
  readonly source: SidecarV2["source"];
  readonly receivedAtMs: number;
  readonly publishedAtMs: number;
}

/** Signs the row and the sidecar of a version. An ad is sealed alone, on path B. The same version produces the same text. */
export async function signAdVersion(signers: VersionSigners, version: AdVersion): Promise<SignedVersion> {
  const { ad, adId, businessUuid, seal, envelope } = version;
  const row = projectAd({
    record: ad,
    recordId: adId,
    businessUuid,
    hash: seal.hash,
    certId: seal.cert_id,
    keyId: signers.projection.keyId,
    publishedAt: Math.floor(version.publishedAtMs / 1000),
    aiPolicyVersion: seal.ai_policy_version,
    seal: envelope,
  });
  const [signed] = await signRowsAndSidecars(signers, [{ row, sidecar: sidecarOf(version) }]);
  if (signed === undefined) throw new Error("One version is signed once.");
  return signed;
}

function sidecarOf({ adId, businessUuid, seal, ...version }: AdVersion): SidecarV2 {
  return {
    v: 2,
    action: version.generation > 1 ? "update" : "publish",
    ai_policy_version: seal.ai_policy_version,
    batch_id: null,
    business_uuid: businessUuid,
    cert_id: seal.cert_id,
    change: version.change,
    generation: version.generation,
    path: "B",
    published_at: formatTimestamp(version.publishedAtMs),
    received_at: formatTimestamp(version.receivedAtMs),
    record_id: adId,
    record_type: "ads",
    record_version: 1,
    scope: scopeOf(seal.key_id, version.sealer),
    seal_ok: true,
    sealed_at: seal.sealed_at,
    sealed_by_key_id: seal.key_id,
    sha256: seal.hash,
    source: version.source,
  };
}

function scopeOf(keyId: string, sealer: AdVersion["sealer"]): SidecarScope {
  return {
    basis: sealer === "hosted" ? "standard_publishing" : "role",
    key_id: keyId,
    kind: sealer,
    mandate_id: null,
    permissions: ["publish:ads"],
  };
}
