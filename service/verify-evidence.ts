// The evidence that the service adds to what the caller of a verification holds: whose seal it is, and all that the
// register knows of that business.

import type { MandateFacts } from "../actors/messages/business.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { isObject } from "../protocol/payload.ts";
import { type BatchSeal, openBatchSeal, openSeal, parseRecordSeal, type Seal } from "../protocol/seal.ts";
import { openSidecar, type Sidecar } from "../protocol/sidecar.ts";
import type { SealEvidence } from "../verifier/seal.ts";
import { aiPolicyRecordType } from "../verifier/sealed-document.ts";
import type { Register } from "./register.ts";
import type { Standing, Standings } from "./standing.ts";

export interface VerifyInput {
  readonly bytes: Uint8Array;
  readonly seal: JsonValue | null;
  readonly sidecar: JsonValue | null;
  readonly row: JsonObject | null;
  readonly policyBits: JsonObject | null;
  readonly keyEvents: "warn" | "require";
}

/** What was read of the caller's documents, believing none of it. */
export interface Claimed {
  readonly seal: Seal | BatchSeal | null;
  readonly sidecar: Sidecar | null;
  /** Hash that the bytes should have by the sidecar or the row: tells altered bytes from a wrong proof. */
  readonly expectedHash: string | null;
}

export function readClaims(input: VerifyInput): Claimed {
  const sidecar = input.sidecar === null ? null : readSidecar(input.sidecar);
  const origin = input.row?.["adl_origin"];
  return {
    seal: input.seal === null ? null : readSeal(input.seal),
    sidecar,
    expectedHash: sidecar?.sha256 ?? (typeof origin === "string" ? origin : null),
  };
}

function readSeal(value: JsonValue): Seal | BatchSeal | null {
  const parsed = parseRecordSeal(value);
  if (!parsed.ok) return null;
  const payload =
    parsed.value.kind === "single" ? openSeal(parsed.value.envelope) : openBatchSeal(parsed.value.envelope);
  return payload.ok ? payload.value : null;
}

function readSidecar(value: JsonValue): Sidecar | null {
  const envelope = parseEnvelope(value);
  const sidecar = envelope.ok ? openSidecar(envelope.value) : envelope;
  return sidecar.ok ? sidecar.value : null;
}

/** The business that the documents are about: the one that the sealing key is registered to, before any that they name. */
export async function findStanding(
  deps: { readonly register: Register; readonly standings: Standings },
  claimed: Claimed,
  request: { readonly row: JsonObject | null; readonly at: string },
): Promise<Standing | null> {
  const key = claimed.seal === null ? null : await deps.register.key(claimed.seal.key_id);
  const named = [key?.party_uuid, claimed.sidecar?.business_uuid, request.row?.["business_uuid"]];
  for (const uuid of named) {
    const standing = typeof uuid === "string" ? await deps.standings.read(uuid, request.at) : null;
    if (standing !== null) return standing;
  }
  return null;
}

/** Evidence for {@link verifySeal}; the mandate is the one that the sidecar names, or the one in force at the sealing. */
export function sealEvidence(input: VerifyInput, claimed: Claimed, standing: Standing): SealEvidence {
  const mandate =
    claimed.seal === null ? null : findMandate(standing.mandates, claimed.seal, claimed.sidecar);
  return {
    document: claimed.seal?.record_type === aiPolicyRecordType ? "ai_policy" : "record",
    bytes: input.bytes,
    seal: input.seal,
    certificates: standing.certificates,
    keys: standing.keys,
    policies: standing.policies,
    ...(claimed.expectedHash === null ? {} : { expectedHash: claimed.expectedHash }),
    ...(input.sidecar === null ? {} : { sidecar: input.sidecar }),
    ...(mandate === null
      ? {}
      : { mandate: { envelope: JSON.parse(mandate.envelope) as JsonValue, revoked_at: mandate.revoked_at } }),
    // There is no transparency log yet, so no leaf of a key's registration can be found in it.
    keyEvent: { found: false, isRequired: input.keyEvents === "require" },
  };
}

function findMandate(
  mandates: readonly MandateFacts[],
  seal: Seal | BatchSeal,
  sidecar: Sidecar | null,
): MandateFacts | null {
  const ofKey = mandates.filter((mandate) => mandate.key_id === seal.key_id);
  const named = ofKey.find((mandate) => mandate.mandate_id === sidecar?.scope.mandate_id);
  const covers = ({ valid_from: from, valid_until: until, revoked_at: revoked }: MandateFacts): boolean =>
    from <= seal.sealed_at && seal.sealed_at < until && (revoked === null || seal.sealed_at < revoked);
  // A batch is published under the one that began last (actors/business/facts.ts).
  const newestFirst = ofKey.toSorted((a, b) => (a.valid_from < b.valid_from ? 1 : -1));
  return named ?? newestFirst.find(covers) ?? newestFirst[0] ?? null;
}

/** A member of a parsed body as an object; null when it is absent. */
export function objectMember(value: JsonValue | undefined): JsonObject | null {
  return isObject(value) ? value : null;
}
