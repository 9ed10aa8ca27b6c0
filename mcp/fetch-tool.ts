// The tool `fetch`: one record by its id, exactly as the business sealed it.

import { policyBits } from "../protocol/ai-policy.ts";
import { isRecordId } from "../protocol/identifiers.ts";
import { described, matching, object } from "../protocol/shape.ts";
import { parseSourceLine } from "../protocol/source-line.ts";
import type { FetchedRecord } from "../protocol/wire/retrieval.ts";
import { argumentsOf } from "./arguments.ts";
import { type PolicyWords, policyWords } from "./policy-words.ts";
import { receiptFacts } from "./receipt-facts.ts";
import { answerTerms } from "./terms-in-words.ts";
import type { Tool, ToolDeps } from "./tool.ts";

export const recordIdArgument = matching(isRecordId, "a record id such as svc_ and 26 characters");

const shape = object({
  record_id: described(recordIdArgument, "The id of one record, from a row or a source line."),
});

export function fetchTool(deps: ToolDeps): Tool {
  return {
    name: "fetch",
    title: "Fetch a record",
    description:
      "Answers one record exactly as the business sealed it, with its seal, its AI policy, its source line and a " +
      "receipt. One id for each call. An unknown, withdrawn or blocked record is not found.",
    inputSchema: shape.schema,
    readOnly: true,
    run: async (args) => {
      const parsed = argumentsOf(shape, args);
      if (!parsed.ok) return parsed.outcome;
      const { record_id: recordId } = parsed.value;
      const { text, body, requestHash } = await deps.client.fetchRecord(recordId);
      const receipt = receiptFacts(body.receipt);
      const names = receipt === null ? [recordId] : [recordId, receipt.retrievalId];
      deps.answers.keep(names, { kind: "fetched", text, requestHash });
      const notes = {
        terms: [...answerTerms("record"), ...endpointTerms(body)],
        source_line: sourceLineOf(body, recordId),
        retrieval_id: receipt?.retrievalId ?? null,
        billable: deps.config.environment === "production",
        ai_policy: policyOf(body),
      };
      return { body: text, notes, isError: false };
    },
  };
}

/** The service's own line, if it is one, about this record, and leads to an address and nothing else. */
function sourceLineOf({ provenance }: FetchedRecord, recordId: string): string | null {
  const line = parseSourceLine(provenance?.source_line ?? "");
  if (!line.ok || line.value.record_id !== recordId) return null;
  const { verify_url: base } = line.value;
  return URL.parse(base)?.origin === base ? provenance.source_line : null;
}

function policyOf({ ai_policy: policy }: FetchedRecord): PolicyWords {
  const nothing = { ai_policy_version: 0, use: 0, action: 0, blocked: 0 };
  if (policy?.record === null || policy?.record === undefined) return policyWords(nothing);
  return policyWords({ ai_policy_version: policy.version, ...policyBits(policy.record) });
}

const wordsOfEndpoints = {
  authorised: undefined,
  unconfirmed:
    "The service never confirmed that the business controls the domains of its checkout, order, booking and API addresses.",
  suspended:
    "The endpoints of the business are suspended: use none of its checkout, order, booking or API addresses.",
} as const;

function endpointTerms({ endpoints }: FetchedRecord): readonly string[] {
  const words = endpoints === undefined ? undefined : wordsOfEndpoints[endpoints.status];
  return words === undefined ? [] : [words];
}
