// AI policy: what a business lets AI companies do with its records, as a sealed record of booleans and as the bit masks
// carried by every row (specification, «AI policy record and bits»).

import { isObject } from "../std/json-pointer.ts";
import { parseObject, readPayload } from "./dsse.ts";
import { canonicalBytes, type JsonValue } from "./json/canonical-json.ts";
import type { Verdict } from "./reason-codes.ts";
import { refuse } from "./result.ts";
import {
  anyText,
  described,
  flag,
  integer,
  listOf,
  literal,
  namedObject,
  type Of,
  object,
  type Shape,
} from "./shape.ts";

export const aiPolicySchemaId = "svc/ai_policy/1";
export const currentAiPolicySchema = 2;

/** Names in bit order, bit 0 first. */
export const useNames = [
  "cite_as_source",
  "definitive_source",
  "prefer_over_inference",
  "include_in_recommendations",
  "quote_policy_verbatim",
  "prices_indicative",
  "state_publish_date",
] as const;
export const actionNames = ["answer", "quote", "reserve", "purchase", "contact", "hand_to_human"] as const;
/** Context i permanently has code `bc<i+1>` and bit i: a retired context keeps its place. */
export const blockedNames = [
  "adult_sexual",
  "alcohol",
  "crime_illegal",
  "death_tragedy_disaster",
  "firearms_weapons_violence",
  "gambling_betting",
  "mental_health_self_harm",
  "politics_elections",
  "regulated_advice",
  "tobacco_vaping_drugs",
] as const;

export type UseName = (typeof useNames)[number];
export type ActionName = (typeof actionNames)[number];
export type BlockedName = (typeof blockedNames)[number];

const groupOf = <N extends string>(names: readonly N[]) =>
  object(Object.fromEntries(names.map((name) => [name, flag])) as Readonly<Record<N, Shape<boolean>>>);

/** The record that a business seals. */
export const aiPolicyRecord = object({
  schema: literal(aiPolicySchemaId),
  ai_policy_schema: integer({ min: currentAiPolicySchema, max: currentAiPolicySchema }),
  use: groupOf(useNames),
  action: groupOf(actionNames),
  blocked: groupOf(blockedNames),
});
export type AiPolicyRecord = Of<typeof aiPolicyRecord>;

const mask = (names: readonly string[]) => integer({ min: 0, max: 2 ** names.length - 1 });
export const policyBitsShape = object({
  /** 0 when the business has no sealed AI policy; every mask is then also 0. */
  ai_policy_version: integer({ min: 0, max: 2_147_483_647 }),
  ai_policy_schema: integer({ min: 1, max: currentAiPolicySchema }),
  use: mask(useNames),
  action: mask(actionNames),
  blocked: mask(blockedNames),
});
/** The `ai_policy_bits` of a row. */
export type PolicyBits = Of<typeof policyBitsShape>;
/** The masks derived from one sealed record. */
export type PolicyMasks = Omit<PolicyBits, "ai_policy_version">;

/**
 * Reads the exact bytes of a sealed AI policy record. Refuses another record schema with `record_type_mismatch`, an unknown
 * version of either schema with `version_unknown`, and anything else with `payload_malformed`.
 */
export function parseAiPolicy(bytes: Uint8Array): Verdict<AiPolicyRecord> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const { schema, ai_policy_schema: policySchema } = parsed.value;
  if (typeof schema === "string" && schema !== aiPolicySchemaId) {
    return /^svc\/ai_policy\/[0-9]+$/.test(schema)
      ? refuse("version_unknown", `Record schema ${schema} is not known.`, "/schema")
      : refuse("record_type_mismatch", "The record is not an AI policy record.", "/schema");
  }
  if (Number.isSafeInteger(policySchema) && policySchema !== currentAiPolicySchema) {
    return refuse(
      "version_unknown",
      `AI policy schema ${String(policySchema)} is not known.`,
      "/ai_policy_schema",
    );
  }
  return readPayload(aiPolicyRecord, parsed.value);
}

/** The bytes to seal: the RFC 8785 form of the record. */
export function aiPolicyBytes(record: AiPolicyRecord): Uint8Array {
  return canonicalBytes(record);
}

/** Reads `ai_policy_bits`: exactly its members, with no mask bits set that have no name. */
export function parsePolicyBits(value: JsonValue): Verdict<PolicyBits> {
  if (isObject(value)) {
    const schema = value["ai_policy_schema"];
    if (typeof schema === "number" && Number.isSafeInteger(schema) && schema > currentAiPolicySchema) {
      return refuse("version_unknown", `AI policy schema ${schema} is not known.`, "/ai_policy_schema");
    }
  }
  return readPayload(policyBitsShape, value);
}

/** Sets a bit exactly when the sealed boolean with its name is true. */
export function policyBits(record: AiPolicyRecord): PolicyMasks {
  return {
    ai_policy_schema: record.ai_policy_schema,
    use: maskOf(useNames, record.use),
    action: maskOf(actionNames, record.action),
    blocked: maskOf(blockedNames, record.blocked),
  };
}

/** The masks served when no AI policy has been sealed: nothing is permitted. */
export const noPolicyMasks: PolicyMasks = {
  ai_policy_schema: currentAiPolicySchema,
  use: 0,
  action: 0,
  blocked: 0,
};

/** The only bit that may be withheld from a served value although the sealed record grants it. */
export const purchaseBit = 1 << actionNames.indexOf("purchase");

/** The names of the bits set in a mask, bit 0 first. */
export function namesOf<N extends string>(names: readonly N[], bits: number): readonly N[] {
  return names.filter((_, bit) => (bits & (1 << bit)) !== 0);
}

/** The RFC 8785 text of `ai_policy_bits`, ready to be spliced into a row. */
export function policyBitsText(version: number, masks: PolicyMasks): string {
  const { action, ai_policy_schema: schema, blocked, use } = masks;
  return `{"action":${action},"ai_policy_schema":${schema},"ai_policy_version":${version},"blocked":${blocked},"use":${use}}`;
}

function maskOf<N extends string>(names: readonly N[], values: Readonly<Record<N, boolean>>): number {
  return names.reduce((bits, name, bit) => (values[name] ? bits | (1 << bit) : bits), 0);
}

// The key to the AI policy masks in plain English: the answer to `GET /v1/ai-policy-key` (specification, «Public
// verification API»). Codes are never reused or renamed.

const ordinal = integer({ min: 0, max: 52 });
const bit = { bit: ordinal, name: anyText, meaning: anyText };

/** The document; `key_version` is incremented whenever it changes. */
export const aiPolicyKeyShape = namedObject("AiPolicyKey", {
  key_version: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  current_ai_policy_schema: ordinal,
  rule: anyText,
  groups: object({ use: listOf(object(bit)), action: listOf(object(bit)) }),
  blocked: listOf(
    object({
      code: anyText,
      number: ordinal,
      ...bit,
      ai_policy_schema: described(ordinal, "The AI policy schema that the context appeared in."),
    }),
  ),
});
export type AiPolicyKey = Of<typeof aiPolicyKeyShape>;

const useMeanings: Readonly<Record<UseName, string>> = {
  cite_as_source: "Name the business as the source when its record is used.",
  definitive_source: "Treat the record as the definitive statement about the business's own offer.",
  prefer_over_inference: "Prefer the record over anything inferred or remembered.",
  include_in_recommendations: "The record may be included in recommendations and comparisons.",
  quote_policy_verbatim: "Quote the business's policies word for word instead of paraphrasing them.",
  prices_indicative: "Say that prices are indicative and may differ at the point of sale.",
  state_publish_date: "State when the record was published.",
};

const actionMeanings: Readonly<Record<ActionName, string>> = {
  answer: "The record may be used to answer a person's question.",
  quote: "A quotation may be requested on a person's behalf.",
  reserve: "A reservation or booking may be made on a person's behalf.",
  purchase: "A purchase may be made on a person's behalf.",
  contact: "The business may be contacted on a person's behalf.",
  hand_to_human: "The conversation may be handed to a person at the business.",
};

const blockedMeanings: Readonly<Record<BlockedName, string>> = {
  adult_sexual: "Adult or sexual content.",
  alcohol: "Alcohol.",
  crime_illegal: "Crime and illegal activity.",
  death_tragedy_disaster: "Death, tragedy and disaster.",
  firearms_weapons_violence: "Firearms, weapons and violence.",
  gambling_betting: "Gambling and betting.",
  mental_health_self_harm: "Mental health crises and self-harm.",
  politics_elections: "Politics and elections.",
  regulated_advice: "Regulated advice: medical, legal or financial.",
  tobacco_vaping_drugs: "Tobacco, vaping and drugs.",
};

/**
 * The document that explains each bit of a row's masks, in bit order, lowest first (specification, «AI policy record and
 * bits»).
 */
export function aiPolicyKeyDocument(): AiPolicyKey {
  return {
    key_version: 1,
    current_ai_policy_schema: currentAiPolicySchema,
    rule:
      "A bit is set exactly when the sealed boolean of that name is true. Only the purchase action bit may be " +
      "withheld from a served value that the sealed record grants. Version 0 means no sealed AI policy: nothing " +
      "is permitted. A set bit in the blocked mask means that the record must not be shown in that context.",
    groups: {
      use: useNames.map((name, bit) => ({ bit, name, meaning: useMeanings[name] })),
      action: actionNames.map((name, bit) => ({ bit, name, meaning: actionMeanings[name] })),
    },
    blocked: blockedNames.map((name, bit) => ({
      code: `bc${bit + 1}`,
      number: bit + 1,
      name,
      meaning: blockedMeanings[name],
      bit,
      ai_policy_schema: currentAiPolicySchema,
    })),
  };
}
