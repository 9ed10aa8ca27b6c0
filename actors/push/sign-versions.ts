// Rows and sidecars of a chunk, projected and signed together: two signatures for each record, and nothing left for later.

import type { JsonObject } from "../../protocol/canonical-json.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { type ProjectedRow, projectRecord } from "../../protocol/projection/project.ts";
import type { SidecarScope, SidecarV2 } from "../../protocol/sidecar.ts";
import {
  type SignedVersion,
  signRowsAndSidecars,
  type VersionSigners,
} from "../../protocol/signed-version.ts";
import type { PushFacts } from "../messages/push.ts";

export interface UnsignedVersion {
  readonly record: JsonObject;
  readonly recordId: string;
  readonly hash: string;
  readonly generation: number;
  readonly change: number;
  readonly isUpdate: boolean;
}

/** The same versions at the same instant produce the same text. */
export function signVersions(
  signers: VersionSigners,
  facts: PushFacts,
  versions: readonly UnsignedVersion[],
  publishedAtMs: number,
): Promise<readonly SignedVersion[]> {
  const publishedAt = formatTimestamp(publishedAtMs);
  const texts = versions.map((version) => ({
    row: project(signers, facts, version, publishedAtMs),
    sidecar: sidecarOf(facts, version, publishedAt),
  }));
  return signRowsAndSidecars(signers, texts);
}

function project(
  signers: VersionSigners,
  facts: PushFacts,
  version: UnsignedVersion,
  publishedAtMs: number,
): ProjectedRow {
  return projectRecord({
    collection: facts.collection,
    record: version.record,
    recordId: version.recordId,
    businessUuid: facts.business_uuid,
    hash: version.hash,
    certId: facts.cert_id,
    keyId: signers.projection.keyId,
    publishedAt: Math.floor(publishedAtMs / 1000),
    aiPolicyVersion: facts.ai_policy_version,
  });
}

function sidecarOf(facts: PushFacts, version: UnsignedVersion, publishedAt: string): SidecarV2 {
  return {
    v: 2,
    action: version.isUpdate ? "update" : "publish",
    ai_policy_version: facts.ai_policy_version,
    batch_id: facts.path === "A" ? facts.push_id : null,
    business_uuid: facts.business_uuid,
    cert_id: facts.cert_id,
    change: version.change,
    generation: version.generation,
    path: facts.path,
    published_at: publishedAt,
    received_at: facts.received_at,
    record_id: version.recordId,
    record_type: facts.collection,
    record_version: 1,
    scope: scopeOf(facts, version.record),
    seal_ok: true,
    sealed_at: facts.sealed_at,
    sealed_by_key_id: facts.key_id,
    sha256: version.hash,
    source: facts.source === "bulk" ? "import" : facts.source,
  };
}

function scopeOf(facts: PushFacts, record: JsonObject): SidecarScope {
  const permissions = [`publish:${facts.collection}`];
  if (facts.path === "A") {
    return {
      basis: "mandate",
      key_id: facts.key_id,
      kind: "system",
      mandate_id: facts.mandates?.[mandateAt(facts, record)]?.mandate_id ?? null,
      permissions,
    };
  }
  return facts.sealer === "hosted"
    ? { basis: "standard_publishing", key_id: facts.key_id, kind: "hosted", mandate_id: null, permissions }
    : { basis: "role", key_id: facts.key_id, kind: "passkey", mandate_id: null, permissions };
}

/** The place of the newest mandate that allows the record: every verifier judges the record by the one that its sidecar names. */
export function mandateAt({ mandates }: Pick<PushFacts, "mandates">, record: JsonObject): number {
  const countries = Array.isArray(record["countries"]) ? record["countries"] : [];
  const at = mandates?.findIndex((each) =>
    countries.every((country) => each.countries.includes(String(country))),
  );
  // A record that no mandate covers any more, although it has a generation, was judged under the same mandates.
  return Math.max(0, at ?? 0);
}
