// The key to the AI policy masks in plain English: the answer to `GET /v1/ai-policy-key` (specification, «Public
// verification API»). Codes are never reused or renamed.

import {
  type ActionName,
  actionNames,
  type BlockedName,
  blockedNames,
  currentAiPolicySchema,
  type UseName,
  useNames,
} from "./ai-policy.ts";
import { anyText, described, integer, listOf, named, type Of, object } from "./shape.ts";

const ordinal = integer({ min: 0, max: 52 });
const bit = { bit: ordinal, name: anyText, meaning: anyText };

/** The document; `key_version` is incremented whenever it changes. */
export const aiPolicyKeyShape = named(
  "AiPolicyKey",
  object({
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
  }),
);
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
