// Rows and sidecars of a chunk, projected and signed together: two signatures for each record, and nothing left for later.

import type { Signer } from "../../crypto/port.ts";
import { toBase64 } from "../../protocol/bytes.ts";
import type { JsonObject } from "../../protocol/canonical-json.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { MessagePacker } from "../../protocol/packed-messages.ts";
import { type ProjectedRow, projectedRowText, projectRecord } from "../../protocol/projection/project.ts";
import { signedRowText } from "../../protocol/row.ts";
import { type SidecarScope, type SidecarV2, sidecarPayloadText } from "../../protocol/sidecar.ts";
import type { PushFacts } from "../messages/push.ts";

export interface UnsignedVersion {
  readonly record: JsonObject;
  readonly recordId: string;
  readonly hash: string;
  readonly generation: number;
  readonly change: number;
  readonly isUpdate: boolean;
}

export interface SignedVersion {
  /** The exact signed text of the row. */
  readonly row: string;
  /** The sidecar envelope as JSON text. */
  readonly sidecar: string;
}

export interface VersionSigners {
  readonly projection: Signer;
  readonly sidecar: Signer;
}

/** Signatures are Ed25519 and therefore deterministic: the same versions at the same instant produce the same text. */
export async function signVersions(
  signers: VersionSigners,
  facts: PushFacts,
  versions: readonly UnsignedVersion[],
  publishedAtMs: number,
): Promise<readonly SignedVersion[]> {
  const rows = versions.map((version) => project(signers, facts, version, publishedAtMs));
  const texts = rows.map(projectedRowText);
  const publishedAt = formatTimestamp(publishedAtMs);
  const [rowMessages, sidecarMessages] = [new MessagePacker(), new MessagePacker()];
  for (const text of texts) rowMessages.addText(text);
  const payloads = versions.map((version) =>
    sidecarMessages.addEnvelope(
      payloadTypes["sidecar.v2"],
      sidecarPayloadText(sidecarOf(facts, version, publishedAt)),
    ),
  );
  const [rowSignatures, sidecarSignatures] = await Promise.all([
    signers.projection.signMany(rowMessages.pack()),
    signers.sidecar.signMany(sidecarMessages.pack()),
  ]);
  return versions.map((_, index) => {
    const rowSignature = rowSignatures[index];
    const sidecarSignature = sidecarSignatures[index];
    const payload = payloads[index];
    if (!rowSignature || !sidecarSignature || payload === undefined)
      throw new Error("A signer answered with too few signatures.");
    return {
      row: signedRowText(texts[index] as string, toBase64(rowSignature)),
      sidecar: sidecarEnvelope(payload, signers.sidecar.keyId, sidecarSignature),
    };
  });
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
    scope: scopeOf(facts),
    seal_ok: true,
    sealed_at: facts.sealed_at,
    sealed_by_key_id: facts.key_id,
    sha256: version.hash,
    source: facts.source === "bulk" ? "import" : facts.source,
  };
}

function scopeOf(facts: PushFacts): SidecarScope {
  const permissions = [`publish:${facts.collection}`];
  if (facts.path === "A") {
    return {
      basis: "mandate",
      key_id: facts.key_id,
      kind: "system",
      mandate_id: facts.mandate_id,
      permissions,
    };
  }
  return facts.sealer === "hosted"
    ? { basis: "standard_publishing", key_id: facts.key_id, kind: "hosted", mandate_id: null, permissions }
    : { basis: "role", key_id: facts.key_id, kind: "passkey", mandate_id: null, permissions };
}

/** The text of the envelope; the payload is given in base64. No part needs escaping. */
function sidecarEnvelope(payload: string, keyId: string, signature: Uint8Array): string {
  return `{"payloadType":"${payloadTypes["sidecar.v2"]}","payload":"${payload}","signatures":[{"keyid":"${keyId}","sig":"${toBase64(signature)}"}]}`;
}
