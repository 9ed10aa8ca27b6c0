// The tools that read what the service keeps about the caller, and the two public explanations: receipts, usage, terms and
// ai_policy_key. None of them is billed.

import type { JsonObject } from "../protocol/canonical-json.ts";
import { described, integer, keyId, object, optional, type Shape } from "../protocol/shape.ts";
import { day } from "../protocol/wire/analytics.ts";
import {
  instant,
  receiptCursor,
  receiptsPageMax,
  retrievalId,
  usageGrouping,
} from "../protocol/wire/receipts.ts";
import { termsVersion } from "../protocol/wire/terms.ts";
import { argumentsOf } from "./arguments.ts";
import { answerTerms } from "./terms-in-words.ts";
import type { Tool, ToolDeps } from "./tool.ts";

const receiptsShape = object({
  from: optional(described(instant, "The instant or day from which receipts are listed.")),
  to: optional(
    described(instant, "The instant or day up to which receipts are listed, itself not included."),
  ),
  key_id: optional(described(keyId, "Only receipts of this key of the company.")),
  cursor: optional(receiptCursor),
  limit: optional(integer({ min: 1, max: receiptsPageMax })),
  retrieval_id: optional(described(retrievalId, "One receipt, checked; without the other arguments.")),
});

const usageShape = object({
  from: optional(described(day, "The first day, in UTC.")),
  to: optional(described(day, "The day after the last one.")),
  group_by: optional(described(usageGrouping, "What counts are told apart by, with commas.")),
});

const termsShape = object({
  version: optional(described(termsVersion, "The number of a version; without it, the one in force now.")),
});

interface Read {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly shape: Shape<object>;
  readonly path: string;
  /** The public surface is read without a signature. */
  readonly isPublic?: boolean;
}

const reads: readonly Read[] = [
  {
    name: "receipts",
    title: "Own receipts",
    description:
      "The signed receipts that the service gave to the caller's company, by window or key, or one of them with the checks that the service made.",
    shape: receiptsShape,
    path: "/v1/receipts",
  },
  {
    name: "usage",
    title: "Own usage",
    description:
      "What the caller's company used, by day, key, kind, collection and country, counted from its receipts.",
    shape: usageShape,
    path: "/v1/usage",
  },
  {
    name: "terms",
    title: "Terms of AI companies",
    description:
      "The terms that are in force for AI companies, or those of a version, with the hash of their text.",
    shape: termsShape,
    path: "/v1/terms",
  },
  {
    name: "ai_policy_key",
    title: "Key to AI policy bits",
    description: "What each bit of an AI policy means. The tool ai_policy applies it.",
    shape: object({}),
    path: "/v1/ai-policy-key",
    isPublic: true,
  },
];

export function readTools(deps: ToolDeps): readonly Tool[] {
  return reads.map(({ shape, path, isPublic, ...about }) => ({
    ...about,
    inputSchema: shape.schema,
    readOnly: true,
    run: async (args) => {
      const parsed = argumentsOf(shape, args);
      if (!parsed.ok) return parsed.outcome;
      const surface = isPublic === true ? "verification" : "retrieval";
      const tag = isPublic === true ? null : "svc-retrieval";
      const { text } = await deps.client.send(surface, {
        method: "GET",
        path: `${path}${queryText(args)}`,
        tag,
      });
      const notes = { terms: answerTerms("read"), retrieval_id: null, billable: false };
      return { body: text, notes, isError: false };
    },
  }));
}

function queryText(args: JsonObject): string {
  const query = new URLSearchParams(
    Object.entries(args).map(([name, value]) => [name, String(value)]),
  ).toString();
  return query === "" ? "" : `?${query}`;
}
