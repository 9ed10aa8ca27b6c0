// Rows: that the service projected exactly this row from the record (signature), and that running the projection
// specification on the record again gives the same row.

import { hashOf, parseBase64, utf8 } from "../protocol/bytes.ts";
import { parseEnvelope, parseObject } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../protocol/json/canonical-json.ts";
import type { KeyEntry } from "../protocol/keys/key-set.ts";
import {
  type ProjectionSpecification,
  project,
  projectionByName,
  unsignedFields,
} from "../protocol/projection/project.ts";
import type { ReasonCode, Verdict } from "../protocol/reason-codes.ts";
import { ok, type Refusal, refuse } from "../protocol/result.ts";
import { type IndexRow, parseRow, rowSigningText, serveTimeMembers } from "../protocol/row.ts";
import type { BatchSeal, Seal } from "../protocol/seal.ts";
import { openSidecar, type Sidecar } from "../protocol/signed-version.ts";
import { type Trust, type TrustedKeys, verifyWorking, workingKey } from "./trust.ts";

/**
 * Verifies the signature of a row, as served or as stored (parsed JSON). `servedAt` is the instant given by a verified
 * receipt, if there is one; without it, a row signed by a key that was ever compromised is refused. Refuses with
 * `payload_malformed`, `projection_unknown`, `key_unknown`, `row_signature_invalid`, `key_not_valid` or
 * `key_compromised`.
 */
export function verifyRowSignature(
  trust: TrustedKeys,
  value: JsonValue,
  servedAt?: string,
): Verdict<IndexRow> {
  const row = parseRow(value);
  if (!row.ok) return row;
  const specification = specificationOf(row.value);
  if (!specification.ok) return specification;
  const key = workingKey(trust, row.value.adl_key_id, { use: "projection", region: null });
  if (key === null)
    return refuse("key_unknown", `Key ${row.value.adl_key_id} may not sign rows.`, "/adl_key_id");
  const signature = parseBase64(row.value.adl_row_sig);
  const message = signedText(row.value);
  if (message === null) return refuse("payload_malformed", "The row has no canonical form.");
  if (signature === null || !trust.verify(key.public_key, message, signature)) {
    return refuse("row_signature_invalid", "The row's signature does not verify.", "/adl_row_sig");
  }
  return keyFault(key, row.value, servedAt) ?? row;
}

/** Null for a row that RFC 8785 gives no text: it is parsed by its reader, and no judge of JSON has seen it. */
function signedText(row: IndexRow): Uint8Array | null {
  try {
    return utf8(rowSigningText(row, unsignedFields));
  } catch {
    return null;
  }
}

/**
 * Runs the row's projection again on the exact record bytes. Bytes other than the row's origin are `hash_mismatch`; so
 * is a row that differs from the projection, reported at the differing member. An unknown projection is
 * `projection_unknown`, never guessed.
 */
export function verifyProjection(trust: TrustedKeys, row: IndexRow, bytes: Uint8Array): Verdict<void> {
  const specification = specificationOf(row);
  if (!specification.ok) return specification;
  if (hashOf(bytes, trust.sha256) !== row.adl_origin) {
    return refuse("hash_mismatch", "The row was projected from other bytes.", "/adl_origin");
  }
  const record = parseObject(bytes);
  if (!record.ok) return record;
  if (record.value["schema"] !== specification.value.record_schema) {
    return refuse(
      "record_type_mismatch",
      "The record is of another schema than the projection is for.",
      "/schema",
    );
  }
  const projected = project(specification.value, {
    record: record.value,
    recordId: row.record_id,
    businessUuid: row.business_uuid,
    hash: row.adl_origin,
    certId: row.adl_origin_cert,
    keyId: row.adl_key_id,
    publishedAt: row.published_at,
    aiPolicyVersion: row.ai_policy_version,
    ...(Object.hasOwn(row, "adl_origin_seal") ? { seal: row["adl_origin_seal"] as JsonValue } : {}),
  });
  const member = firstDifference(projected, row);
  return member === null
    ? ok(undefined)
    : refuse("hash_mismatch", `The projection gives another ${member}.`, `/${member}`);
}

function specificationOf(row: IndexRow): Verdict<ProjectionSpecification> {
  const specification = projectionByName(row.adl_proj);
  if (specification === null)
    return refuse("projection_unknown", `Projection ${row.adl_proj} is not known.`, "/adl_proj");
  if (specification.record_type !== row.type) {
    return refuse("record_type_mismatch", "The projection is of another record type than the row.", "/type");
  }
  return ok(specification);
}

/**
 * A row does not say when it was signed: it may be projected again, with a later key, long after its publication. So the
 * key must not have ended before publication nor started after serving, and a compromised key is accepted only for rows
 * that were demonstrably served before the compromise.
 */
function keyFault(key: KeyEntry, row: IndexRow, servedAt: string | undefined): Verdict<never> | null {
  if (key.compromised_from !== null && (servedAt === undefined || servedAt >= key.compromised_from)) {
    return refuse("key_compromised", `The projection key is compromised from ${key.compromised_from} on.`);
  }
  const endedBefore = key.valid_until !== null && formatTimestamp(row.published_at * 1000) >= key.valid_until;
  const beginsAfter = servedAt !== undefined && servedAt < key.valid_from;
  return endedBefore || beginsAfter
    ? refuse("key_not_valid", "The projection key was not valid for this row.")
    : null;
}

function firstDifference(projected: JsonObject, row: IndexRow): string | null {
  const uncovered: readonly string[] = [...serveTimeMembers, ...unsignedFields];
  const names = new Set([
    ...Object.keys(projected),
    ...Object.keys(row).filter((name) => !uncovered.includes(name)),
  ]);
  for (const name of names) {
    if (!Object.hasOwn(projected, name) || !Object.hasOwn(row, name)) return name;
    if (canonicalize(projected[name] as JsonValue) !== canonicalize(row[name] as JsonValue)) return name;
  }
  return null;
}

// Sidecars: the service's statement about a version of a record when it published it.

/** What a sidecar is checked against; omitted members are not compared. */
export interface SidecarSubject {
  readonly record_id?: string;
  readonly business_uuid?: string;
  /** The hash of the exact record bytes. */
  readonly hash?: string;
  readonly seal?: Seal | BatchSeal;
}

/**
 * Verifies a sidecar: it must be signed by a sidecar key that was valid at `published_at`, and concern this record under
 * this seal. Other bytes, another record or another sealing time is `hash_mismatch`; another sealing key is
 * `key_mismatch`, another certificate `certificate_unknown`, another type `record_type_mismatch`, and another AI policy
 * version `ai_policy_version_mismatch`.
 */
export function verifySidecar(
  trust: Trust,
  value: JsonValue,
  subject: SidecarSubject = {},
): Verdict<Sidecar> {
  const envelope = parseEnvelope(value);
  if (!envelope.ok) return envelope;
  const sidecar = openSidecar(envelope.value);
  if (!sidecar.ok) return sidecar;
  const signer = { use: "sidecar", region: null, at: sidecar.value.published_at } as const;
  const signed = verifyWorking(trust, envelope.value, signer);
  if (!signed.ok) return signed;
  return sidecarFault(sidecar.value, subject) ?? sidecar;
}

/** Why a valid sidecar does not concern this subject, with the reasons of {@link verifySidecar}; null when it does. */
export function sidecarFault(sidecar: Sidecar, subject: SidecarSubject): Refusal<ReasonCode> | null {
  return (
    compareSubject(sidecar, subject) ??
    (subject.seal === undefined ? undefined : compareSeal(sidecar, subject.seal)) ??
    null
  );
}

function compareSubject(sidecar: Sidecar, subject: SidecarSubject): Refusal<ReasonCode> | undefined {
  if (subject.hash !== undefined && subject.hash !== sidecar.sha256) {
    return refuse("hash_mismatch", "The sidecar is about other record bytes.", "/sha256");
  }
  for (const member of ["record_id", "business_uuid"] as const) {
    if (subject[member] !== undefined && subject[member] !== sidecar[member]) {
      return refuse("hash_mismatch", `The sidecar names another ${member}.`, `/${member}`);
    }
  }
  return undefined;
}

function compareSeal(sidecar: Sidecar, seal: Seal | BatchSeal): Refusal<ReasonCode> | undefined {
  if (sidecar.sealed_by_key_id !== seal.key_id || sidecar.scope.key_id !== seal.key_id) {
    return refuse("key_mismatch", "The sidecar names another sealing key.", "/sealed_by_key_id");
  }
  if (sidecar.record_type !== seal.record_type) {
    return refuse("record_type_mismatch", "The sidecar names another record type.", "/record_type");
  }
  if (sidecar.cert_id !== seal.cert_id) {
    return refuse("certificate_unknown", "The sidecar names another certificate than the seal.", "/cert_id");
  }
  if (versionNamed(sidecar) !== versionNamed(seal)) {
    return refuse("ai_policy_version_mismatch", "The sidecar and the seal name different versions.", "/v");
  }
  if (sidecar.sealed_at !== seal.sealed_at) {
    return refuse("hash_mismatch", "The sidecar is about another seal.", "/sealed_at");
  }
  return undefined;
}

/** AI policy versions and terms versions are distinguished, so that one can never pass for the other. */
function versionNamed(document: Sidecar | Seal | BatchSeal): string {
  return document.v === 2 ? `policy ${document.ai_policy_version}` : `terms ${document.terms_version}`;
}
