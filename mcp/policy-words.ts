// AI policy bits in plain words: what a business does not allow, and what it asks for. Every sentence is fixed here or in
// the public key to the bits; no text of a record is among them.

import {
  type ActionName,
  actionNames,
  type BlockedName,
  blockedNames,
  namesOf,
  type PolicyBits,
  type UseName,
  useNames,
} from "../protocol/ai-policy.ts";
import { aiPolicyKeyDocument } from "../protocol/ai-policy-key.ts";

export interface PolicyWords {
  readonly ai_policy_version: number;
  readonly not_allowed: readonly string[];
  readonly asked: readonly string[];
}

const withheldActions: Readonly<Record<ActionName, string>> = {
  answer: "Do not use the record to answer a person's question.",
  quote: "Do not request a quotation on a person's behalf.",
  reserve: "Do not make a reservation or booking on a person's behalf.",
  purchase: "Do not make a purchase on a person's behalf.",
  contact: "Do not contact the business on a person's behalf.",
  hand_to_human: "Do not hand the conversation to a person at the business.",
};

const recommendation: UseName = "include_in_recommendations";
const withheldRecommendation = "Do not include the record in recommendations or comparisons.";
const noPolicy = "The business has sealed no AI policy, so nothing is permitted.";

const key = aiPolicyKeyDocument();
const useMeanings: ReadonlyMap<string, string> = new Map(
  key.groups.use.map(({ name, meaning }) => [name, meaning]),
);
const contexts: ReadonlyMap<string, string> = new Map(
  key.blocked.map(({ name, meaning }) => [name, meaning]),
);

/** Purchase may be withheld by the service although the sealed record grants it; the words are those of the bits as given. */
export function policyWords(bits: Omit<PolicyBits, "ai_policy_schema">): PolicyWords {
  const uses = namesOf(useNames, bits.use);
  const actions = namesOf(actionNames, bits.action);
  const blocked = namesOf(blockedNames, bits.blocked);
  const isUnsealed = bits.ai_policy_version === 0;
  return {
    ai_policy_version: bits.ai_policy_version,
    not_allowed: [
      ...(isUnsealed ? [noPolicy] : []),
      ...actionNames.filter((name) => !actions.includes(name)).map((name) => withheldActions[name]),
      ...(uses.includes(recommendation) ? [] : [withheldRecommendation]),
      ...blocked.map(blockedSentence),
    ],
    asked: uses.filter((name) => name !== recommendation).map((name) => useMeanings.get(name) ?? name),
  };
}

function blockedSentence(name: BlockedName): string {
  return `Do not show the record in this context: ${contexts.get(name) ?? name}`;
}
