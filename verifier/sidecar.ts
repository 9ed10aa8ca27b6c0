// Sidecars: the service's statement about a version of a record when it published it.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { type ReasonCode, type Refusal, refuse, type Verdict } from "../protocol/result.ts";
import type { BatchSeal, Seal } from "../protocol/seal.ts";
import { openSidecar, type Sidecar } from "../protocol/sidecar.ts";
import type { Trust } from "./trust.ts";
import { verifyWorking } from "./working-signature.ts";

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
