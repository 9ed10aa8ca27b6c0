// The tool `ai_policy`: the bits of a row, or a sealed AI policy record, in plain words. It sends nothing.

import {
  actionNames,
  blockedNames,
  namesOf,
  parseAiPolicy,
  parsePolicyBits,
  policyBits,
  useNames,
} from "../protocol/ai-policy.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import type { Verdict } from "../protocol/result.ts";
import { anyObject, described, integer, object, optional, text } from "../protocol/shape.ts";
import { argumentsOf } from "./arguments.ts";
import { invalidHere, type Outcome } from "./outcome.ts";
import { policyWords } from "./policy-words.ts";
import { answerTerms } from "./terms-in-words.ts";
import type { Tool } from "./tool.ts";

const shape = object({
  bits: optional(described(anyObject, "The ai_policy_bits of a row, with all their members.")),
  record: optional(
    described(text(65_536), "The exact text of a sealed AI policy record (ai_policy.record of a fetch)."),
  ),
  ai_policy_version: optional(
    described(
      integer({ min: 1, max: 2_147_483_647 }),
      "With record: its version (ai_policy.version of a fetch).",
    ),
  ),
});

export const policyTool: Tool = {
  name: "ai_policy",
  title: "AI policy in plain words",
  description:
    "Says in plain words what a business allows and asks: give the ai_policy_bits of a row as bits, or the text of a " +
    "sealed AI policy record as record. Nothing is sent and nothing is billed.",
  inputSchema: shape.schema,
  readOnly: true,
  run: async (args) => {
    const parsed = argumentsOf(shape, args);
    if (!parsed.ok) return parsed.outcome;
    const { bits, record, ai_policy_version: version } = parsed.value;
    if ((bits === undefined) === (record === undefined))
      return invalidHere("Give either bits or record.", { allowed: ["bits", "record"] });
    if (bits !== undefined)
      return version === undefined
        ? ofBits(bits)
        : invalidHere("bits name their own version.", { pointer: "/ai_policy_version" });
    return ofRecord(record ?? "", version ?? null);
  },
};

interface Masks {
  readonly use: number;
  readonly action: number;
  readonly blocked: number;
}

function ofBits(bits: JsonObject): Outcome {
  const parsed = parsePolicyBits(bits);
  return parsed.ok ? explained(parsed.value, parsed.value.ai_policy_version) : refused(parsed, "/bits");
}

function ofRecord(text: string, version: number | null): Outcome {
  const parsed = parseAiPolicy(utf8(text));
  return parsed.ok ? explained(policyBits(parsed.value), version) : refused(parsed, "/record");
}

function explained(masks: Masks, version: number | null): Outcome {
  // A record that is sealed has a version of at least 1, even where the caller does not say which.
  const { not_allowed, asked } = policyWords({ ...masks, ai_policy_version: version ?? 1 });
  const names = {
    use: namesOf(useNames, masks.use),
    action: namesOf(actionNames, masks.action),
    blocked: namesOf(blockedNames, masks.blocked),
  };
  return {
    body: JSON.stringify({ ai_policy_version: version, ...names, not_allowed, asked }),
    notes: { terms: answerTerms("local"), retrieval_id: null, billable: false },
    isError: false,
  };
}

function refused(verdict: Verdict<unknown> & { readonly ok: false }, under: string): Outcome {
  const pointer = `${under}${verdict.pointer ?? ""}`;
  return invalidHere(`${verdict.detail} (${verdict.code})`, { pointer, reason: verdict.code });
}
