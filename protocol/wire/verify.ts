// The body of POST /v1/verify and its answer (specification, «POST /v1/verify»).

import { blockedNames } from "../ai-policy.ts";
import { envelopeShape } from "../dsse.ts";
import { entitlementMembers } from "../entitlement.ts";
import { reasonCodes } from "../reason-codes.ts";
import {
  anyObject,
  anyText,
  anything,
  described,
  either,
  flag,
  hash,
  integer,
  keyId,
  listOf,
  literal,
  namedObject,
  nothing,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  ruled,
  type Shape,
  type ShapeFault,
  text,
  timestamp,
  uuid,
  versionNumber,
} from "../shape.ts";
import { recordBase64 } from "./ad-requests.ts";
import { recordId } from "./push.ts";

const requestMembers = object({
  record_base64: described(
    optional(recordBase64),
    "The record's exact bytes; a bare id or hash is never accepted.",
  ),
  seal: described(
    optional(anyObject),
    "The `seal` of a fetched record: an envelope, or `{batch_seal, leaf_index, tree_size, proof[]}`.",
  ),
  sidecar: optional(described(anyObject, "Sidecar envelope.")),
  row: described(
    optional(anyObject),
    "An index row, as served: its signature is checked and its projection run again.",
  ),
  ai_policy_bits: described(
    optional(anyObject),
    "As on a row; `record_base64` is then the business's sealed AI policy record and `seal` its seal.",
  ),
  key_events: described(
    optional(oneOf(["warn", "require"])),
    "Whether a missing leaf of the sealing key's registration refuses the seal; `warn` unless told otherwise.",
  ),
  ad_item: described(
    optional(object({ record_base64: recordBase64 }, { "": anything })),
    "An ad exactly as the pool served it (`AdItem`), without other members of the request. What is wrong with it is a finding.",
  ),
  entitlement: described(
    optional(anyObject),
    "An entitlement as `GET /v1/entitlement` answers it, or only the envelope in it, without other members of the request. It is judged now.",
  ),
});
export type VerifyRequest = Of<typeof requestMembers>;

const against = ["seal", "sidecar", "row"] as const;
/** Members of which each is verified on its own. */
const wholes = ["ad_item", "entitlement"] as const;

/** Rules that no single member shows: what is verified, and against what. */
function ruleFault(body: VerifyRequest): ShapeFault | null {
  const whole = wholes.find((name) => body[name] !== undefined);
  if (whole !== undefined) {
    const isAlone = Object.keys(body).length === 1;
    return isAlone
      ? null
      : { pointer: `/${whole}`, detail: `${whole} must be verified without other members.` };
  }
  if (body.record_base64 === undefined) {
    const detail = "record_base64 is required: the record that you have is what is verified.";
    return { pointer: "/record_base64", detail };
  }
  if (against.every((name) => body[name] === undefined)) {
    const detail = "Give something to verify the record against: its seal, its sidecar or its row.";
    return { pointer: "", detail, allowed: against };
  }
  return body.ai_policy_bits === undefined || body.seal !== undefined
    ? null
    : { pointer: "/seal", detail: "ai_policy_bits need the AI policy record and its seal." };
}

export const verifyRequest: Shape<VerifyRequest> = {
  ...ruled(requestMembers, ruleFault),
  schema: {
    ...requestMembers.schema,
    anyOf: [
      ...wholes.map((name) => ({ required: [name], maxProperties: 1 })),
      ...against.map((name) => ({
        required: ["record_base64", name],
        not: { anyOf: wholes.map((name) => ({ required: [name] })) },
        dependentRequired: { ai_policy_bits: ["seal"] },
      })),
    ],
  },
};

const index = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const why = {
  valid: literal(false),
  reason: oneOf(reasonCodes),
  detail: described(anyText, "What is wrong, for a person."),
  pointer: optional(described(anyText, "Where in the document.")),
};
const failed = object(why);
const passed = object({ valid: literal(true) });

/** What a seal names. In the section itself this is verified; under `claimed` it is not. */
const sealMembers = {
  key_id: keyId,
  cert_id: hash,
  sealed_at: timestamp,
  record_type: text(32),
  format: integer({ min: 1, max: 2 }),
  ai_policy_version: optional(described(versionNumber, "Format 2.")),
  terms_version: optional(described(versionNumber, "Format 1.")),
  leaf: described(
    nullable(object({ index, tree_size: index, root: hash })),
    "Place in the batch; null for a record sealed alone.",
  ),
};

const checked = oneOf(["ok", "failed", "not_checked"]);
const sealChecks = described(
  object({
    certificate: checked,
    ai_policy: checked,
    scope: checked,
    key_event: oneOf(["ok", "missing", "not_checked"]),
  }),
  "Each on its own, by what the seal says of itself, whatever else is wrong with it. `not_checked`: there was no evidence for it.",
);

/** A proof as the inclusion read answers it. */
const logPlace = {
  leaf_index: index,
  tree_size: index,
  proof: listOf(hash),
  checkpoint: described(anyText, "The signed note of the tree that the proof leads to."),
};

const keyEvent = described(
  nullable(object(logPlace)),
  "Where the log has the leaf of the key's registration, with the proof; null if it does not have it, or not yet.",
);

const logSection = described(
  either(
    object({ status: literal("proven"), ...logPlace }),
    object({ status: literal("not_in_log"), checkpoint: nothing }),
    object({ status: literal("invalid"), reason: oneOf(reasonCodes), detail: anyText, checkpoint: nothing }),
  ),
  "Whether the transparency log contains the seal that was given. Seals are sequenced within the hour, so a fresh one is `not_in_log`, and stands. `invalid`: what the log has of it does not verify.",
);

const sealSection = described(
  either(
    object({
      valid: literal(true),
      ...sealMembers,
      business_uuid: uuid,
      key_kind: oneOf(["system", "passkey", "hosted"]),
      custody: oneOf(["self", "hosted", "unstated"]),
      path: oneOf(["A", "B"]),
      hash,
      checks: sealChecks,
      key_event: keyEvent,
    }),
    object({
      ...why,
      checks: sealChecks,
      key_event: keyEvent,
      claimed: described(
        nullable(
          object({
            ...sealMembers,
            hash: described(nullable(hash), "Null for a batch, which names a root."),
          }),
        ),
        "What the refused seal says of itself, as it was read. Nothing vouches for it, and no member of it was verified. Null where the envelope or its payload could not be read.",
      ),
    }),
  ),
  "Which key sealed, under which certificate and AI policy version, when. It says only what is true of the seal and the record: another document that is not of this version is refused in its own section.",
);

const sidecarSection = described(
  either(
    object({ valid: literal(true), record_id: recordId, business_uuid: uuid, generation: index }),
    failed,
  ),
  "Whether the service signed the sidecar, about this record, and about the seal given where that is valid; without one, also whether the seal that it states still stands.",
);

const projectionSection = described(
  either(
    object({ valid: literal(true), version: text(64), row_signature: passed, projection: passed }),
    object({
      ...why,
      version: optional(text(64)),
      row_signature: either(passed, failed),
      projection: described(nullable(either(passed, failed)), "Null where the row cannot be read."),
    }),
  ),
  "Whether the row's signature is valid, and whether running the projection again gives the row; without a seal and a sidecar, also whether the seal of that version still stands.",
);

const bitsSection = described(
  either(
    object({
      valid: literal(true),
      ai_policy_version: versionNumber,
      blocked: listOf(object({ code: text(8), name: oneOf(blockedNames) })),
      purchase_withheld: flag,
    }),
    failed,
  ),
  "Whether the bits are those of the sealed booleans, and which contexts are blocked.",
);

/** The checks of an ad's item, in this order; `item` is there only where the item cannot be read. */
export const adCheckNames = [
  "item",
  "row",
  "origin_hash",
  "seal",
  "projection",
  "creative",
  "images",
  "ai_policy_bits",
] as const;

const adChecks = listOf(
  object({
    name: oneOf(adCheckNames),
    state: checked,
    reason: optional(oneOf(reasonCodes)),
    detail: optional(anyText),
  }),
);

const adSection = described(
  either(
    object({ valid: literal(true), ad_id: recordId, business_uuid: uuid, checks: adChecks }),
    object({ ...why, checks: adChecks }),
  ),
  "Whether the item of an ad verifies on its own: the row, that it is of these bytes, the seal over them, the projection, that every text and link shown is the sealed one and the advertiser's name the certified one, and the AI policy bits. `images` is `not_checked`: the service fetches none. The price, the token, the matched keywords and the addresses of the pictures are the service's own and not judged.",
);

const entitlementSection = described(
  either(object({ valid: literal(true), ...entitlementMembers }), failed),
  "Whether the service lets the AI company use it now: `entitlement_expired` from `valid_until` on, `entitlement_invalid` for anything else.",
);

/** What was found. The answer and its statement have the same. */
export const verifyFindings = {
  valid: described(flag, "Whether every section given is valid."),
  seal: nullable(sealSection),
  log_inclusion: described(nullable(logSection), "Null without a seal."),
  sidecar: nullable(sidecarSection),
  projection: nullable(projectionSection),
  ai_policy_bits: nullable(bitsSection),
  ad: nullable(adSection),
  entitlement: optional(described(entitlementSection, "Only where an entitlement was given.")),
  warnings: listOf(anyText),
};

export const verifyAnswer = namedObject("VerifyAnswer", {
  ...verifyFindings,
  checked_at: timestamp,
  statement: described(
    envelopeShape,
    "Payload type verify-statement v1, over `{v, checked_at, record_hash}` and all of the above.",
  ),
});
export type VerifyAnswer = Of<typeof verifyAnswer>;
export type SealSection = Of<typeof sealSection>;
export type LogSection = Of<typeof logSection>;
export type SidecarSection = Of<typeof sidecarSection>;
export type ProjectionSection = Of<typeof projectionSection>;
export type BitsSection = Of<typeof bitsSection>;
export type EntitlementSection = Of<typeof entitlementSection>;
export type AdSection = Of<typeof adSection>;
export type FailedSection = Of<typeof failed>;
