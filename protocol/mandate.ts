// Mandate: what an integration key may publish. It is sealed by a passkey of an owner or admin or, in the sandbox, also by a
// key that the service holds for the business (specification, «Mandate» and «Business publishing authority»).

import {
  type Envelope,
  malformed,
  openEnvelope,
  type PayloadOf,
  parsePayload,
  payloadTypes,
  soleFormat,
} from "./dsse.ts";
import { parseTimestamp } from "./identifiers.ts";
import { canonicalBytes } from "./json/canonical-json.ts";
import { mandateDaysMax, mandateLifeMaxMs } from "./limits.ts";
import type { Verdict } from "./reason-codes.ts";
import { ok, refuse } from "./result.ts";
import {
  country,
  distinct,
  integer,
  keyId,
  literal,
  matching,
  nullable,
  type Of,
  object,
  oneOf,
  timestamp,
  uuid,
} from "./shape.ts";

/** `203.0.113.0/24`, `2001:db8::/32` or `AS64496`; a range that is not a valid address range matches nothing. */
const sourceRange = matching(
  /^(AS[1-9][0-9]{0,9}|[0-9a-fA-F.:]{2,45}\/(0|[1-9][0-9]{0,2}))$/,
  "a CIDR range or an AS number",
);
const cap = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const mandateScope = object({
  record_types: distinct(matching(/^[a-z_]{1,32}$/, "a record type"), { min: 1, max: 16 }),
  countries: distinct(country, { min: 1, max: 676 }),
  directions: distinct(oneOf(["publish"]), { min: 1, max: 1 }),
  caps: object({ records_per_hour: cap, bytes_per_day: cap }),
  /** Null: the key may publish from anywhere. */
  source_ip_allow_list: nullable(distinct(sourceRange, { min: 1, max: 256 })),
});
export type MandateScope = Of<typeof mandateScope>;
export type MandateCaps = MandateScope["caps"];

export const mandateFormat = soleFormat(
  object({
    v: literal(1),
    mandate_id: matching(/^[\x21-\x7e]{1,128}$/, "1 to 128 printable ASCII characters"),
    business_uuid: uuid,
    /** The integration key that may publish; this is never the key that seals the mandate. */
    key_id: keyId,
    scope: mandateScope,
    valid_from: timestamp,
    valid_until: timestamp,
  }),
);
export type Mandate = PayloadOf<typeof mandateFormat>;

/** Reads the payload of a mandate. */
export function parseMandate(payload: Uint8Array): Verdict<Mandate> {
  const parsed = parsePayload(payload, mandateFormat);
  if (!parsed.ok) return parsed;
  const from = parseTimestamp(parsed.value.valid_from) ?? 0;
  const until = parseTimestamp(parsed.value.valid_until) ?? 0;
  if (until <= from || until - from > mandateLifeMaxMs) {
    return malformed(
      `A mandate must end after it begins, and at most ${mandateDaysMax} days later.`,
      "/valid_until",
    );
  }
  return parsed;
}

/** Opens a mandate envelope. It only reads: the signature is not verified. */
export function openMandate(envelope: Envelope): Verdict<Mandate> {
  const payload = openEnvelope(envelope, payloadTypes["mandate.v1"]);
  return payload.ok ? parseMandate(payload.value) : payload;
}

/** The payload bytes to seal. */
export function mandatePayload(mandate: Mandate): Uint8Array {
  return canonicalBytes(mandate);
}

/** What is to be published under a mandate. */
export interface PublishedUnder {
  readonly business_uuid: string;
  readonly key_id: string;
  readonly record_type: string;
  /** Every country that the record is published for; empty when the countries are checked elsewhere. */
  readonly countries: readonly string[];
  /** The instant by which the seal is known to have been made, if that is earlier than `at`. */
  readonly by?: string;
  /** `sealed_at` of the seal. */
  readonly at: string;
}

/** Whether the mandate allows the publication at that instant; refused with `out_of_scope` otherwise. */
export function scopeAllows(mandate: Mandate, what: PublishedUnder): Verdict<void> {
  const { scope } = mandate;
  if (mandate.business_uuid !== what.business_uuid || mandate.key_id !== what.key_id) {
    return outOfScope("The mandate is for another business or another key.");
  }
  // Timestamps have a fixed width, so their texts sort in the order of their instants.
  if (what.at < mandate.valid_from || (what.by ?? what.at) >= mandate.valid_until)
    return outOfScope("The mandate was not valid at that time.");
  if (!scope.directions.includes("publish")) return outOfScope("The mandate does not allow publishing.");
  if (!scope.record_types.includes(what.record_type))
    return outOfScope(`The mandate does not cover ${what.record_type}.`);
  const country = what.countries.find((name) => !scope.countries.includes(name));
  return country === undefined ? ok(undefined) : outOfScope(`The mandate does not cover country ${country}.`);
}

function outOfScope(detail: string): Verdict<never> {
  return refuse("out_of_scope", detail);
}
