// Scope: whether the key was authorised to publish what it sealed.

import type { BusinessKey, BusinessKeys } from "../protocol/business-keys.ts";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { scopeAllows } from "../protocol/mandate.ts";
import { ok, refuse, type Verdict } from "../protocol/result.ts";
import type { BatchSeal, Seal } from "../protocol/seal.ts";
import type { Sidecar } from "../protocol/sidecar.ts";
import { mandateEndFault, verifyMandate } from "./mandate.ts";
import type { Trust } from "./trust.ts";

export interface ScopeEvidence {
  readonly payload: Seal | BatchSeal;
  readonly key: BusinessKey;
  readonly keys: BusinessKeys;
  /** The instant by which the seal was made: the earlier of `sealed_at` and the time it was received. */
  readonly by: string;
  /** The sealed record, used for its countries; null if it is not at hand. */
  readonly content: JsonObject | null;
  readonly mandates?: readonly MandateEvidence[];
  /** The verified sidecar. */
  readonly sidecar: Sidecar | null;
}

/** A mandate envelope of the sealing key, and when it was revoked. */
export interface MandateEvidence {
  readonly envelope: JsonValue;
  readonly revoked_at: string | null;
}

/**
 * Judges the authority of the sealing key. For an integration key it is a mandate or, where none is available,
 * what the service stated in the sidecar; a passkey and a hosted key seal in their own right. Of several mandates, one has to
 * allow the record alone: the one that the sidecar names or, without a sidecar, any of them. Refuses with
 * `out_of_scope` and the reasons of a mandate, those of the first one if there are several. Without either piece of evidence the state is `not_checked`, or it is refused if
 * there is known never to have been a mandate; it is `not_checked` too under a mandate that covers the rest if neither the
 * record nor a sidecar shows the countries.
 */
export function judgeScope(trust: Trust, evidence: ScopeEvidence): Verdict<"ok" | "not_checked"> {
  const { payload, key, sidecar, content } = evidence;
  if (sidecar !== null) {
    const stated = judgeStatement(sidecar, payload, key);
    if (!stated.ok) return stated;
  }
  if (key.kind !== "system") return ok("ok");
  if (evidence.mandates === undefined) return ok(sidecar === null ? "not_checked" : "ok");
  let refusal: Verdict<never> | null = null;
  for (const mandate of evidence.mandates) {
    const allowed = judgeUnder(trust, evidence, mandate);
    // Without the record, whether its countries are covered is only what the service stated.
    if (allowed.ok) return ok(content === null && sidecar === null ? "not_checked" : "ok");
    refusal ??= allowed;
  }
  if (refusal !== null) return refusal;
  return sidecar === null ? outOfScope("No mandate was ever given to the key.") : ok("ok");
}

function judgeUnder(
  trust: Trust,
  evidence: ScopeEvidence,
  { envelope, revoked_at: revokedAt }: MandateEvidence,
): Verdict<void> {
  const { payload, sidecar, content } = evidence;
  const mandate = verifyMandate(trust, evidence.keys, envelope);
  if (!mandate.ok) return mandate;
  const ended = mandateEndFault(revokedAt, evidence.by);
  if (ended !== null) return ended;
  if (sidecar !== null && sidecar.scope.mandate_id !== mandate.value.mandate_id) {
    return outOfScope("The record was published under another mandate.");
  }
  return scopeAllows(mandate.value, {
    business_uuid: evidence.keys.uuid,
    key_id: payload.key_id,
    record_type: payload.record_type,
    countries: content === null ? [] : countriesOf(content),
    at: payload.sealed_at,
    by: evidence.by,
  });
}

const basisOf = { system: "mandate", passkey: "role", hosted: "standard_publishing" } as const;

function judgeStatement(
  { scope, path }: Sidecar,
  payload: Seal | BatchSeal,
  key: BusinessKey,
): Verdict<void> {
  const fits =
    scope.kind === key.kind &&
    scope.basis === basisOf[key.kind] &&
    path === (key.kind === "system" ? "A" : "B");
  if (!fits) return outOfScope("The sidecar states another kind of authority than the key has.");
  const allowed = scope.permissions.includes(`publish:${payload.record_type}`);
  return allowed
    ? ok(undefined)
    : outOfScope(`The sidecar does not state a permission to publish ${payload.record_type}.`);
}

/** The countries for which a record is published; every record type lists them. */
function countriesOf(record: JsonObject): readonly string[] {
  const { countries } = record;
  return Array.isArray(countries)
    ? (countries as readonly JsonValue[]).filter((item) => typeof item === "string")
    : [];
}

function outOfScope(detail: string): Verdict<never> {
  return refuse("out_of_scope", detail);
}
