// The tools that read what the service keeps about the caller, and the two public explanations: receipts, usage, terms and
// ai_policy_key. None of them is billed.
//   W1. A window is since and until here, as a reserved word is no name of an argument: the API calls them from and to.

import { jsonBody } from "../client/json-answer.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { requestProblem } from "../protocol/problem.ts";
import {
  described,
  distinct,
  integer,
  keyId,
  object,
  oneOf,
  optional,
  type Shape,
  text,
} from "../protocol/shape.ts";
import {
  adSortKeys,
  clickRequest,
  poolRequest,
  renderFormats,
  rowRenderRequest,
  tokenRenderRequest,
} from "../protocol/wire/ad-requests.ts";
import { day } from "../protocol/wire/analytics.ts";
import {
  instant,
  receiptCursor,
  receiptsPageMax,
  retrievalId,
  usageGroups,
} from "../protocol/wire/receipts.ts";
import { termsVersion } from "../protocol/wire/terms.ts";
import { invalidHere, type Outcome, refusedHere } from "./outcome.ts";
import { answerTerms, receiptFacts } from "./policy-words.ts";
import {
  argumentsOf,
  type CallFacts,
  receiptMember,
  resultSchema,
  rowsOf,
  type Tool,
  type ToolDeps,
} from "./tool.ts";

const receiptsShape = object({
  since: optional(described(instant, "The first UTC day, YYYY-MM-DD, or instant of the receipts.")),
  until: optional(described(instant, "The day or instant after the last of them.")),
  key_id: optional(described(keyId, "Only receipts of this key of the company.")),
  cursor: optional(described(receiptCursor, "The next page: next_cursor of the page before.")),
  limit: optional(described(integer({ min: 1, max: receiptsPageMax }), "Receipts at most on a page.")),
  retrieval_id: optional(described(retrievalId, "One receipt, checked; without the other arguments.")),
});

const usageShape = object({
  since: optional(described(day, "The first UTC day, YYYY-MM-DD.")),
  until: optional(described(day, "The day after the last one.")),
  group_by: optional(
    described(
      distinct(oneOf(usageGroups), { min: 1, max: usageGroups.length }),
      "What counts are told apart by.",
    ),
  ),
});

const termsShape = object({
  version: optional(described(termsVersion, "A version; the one in force if left out.")),
});

interface Read {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly shape: Shape<object>;
  readonly outputSchema: JsonObject;
  readonly path: string;
  /** The public surface is read without a signature. */
  readonly isPublic?: boolean;
}

const reads: readonly Read[] = [
  {
    name: "receipts",
    title: "Own receipts",
    description:
      "List the signed receipts of the caller's company, by window or key, or one of them with the service's checks.",
    shape: receiptsShape,
    outputSchema: resultSchema({
      receipts: rowsOf("A page of them; with retrieval_id the one receipt and its checks are there instead."),
    }),
    path: "/v1/receipts",
  },
  {
    name: "usage",
    title: "Own usage",
    description: "Count what the caller's company used, by day, key, kind, collection and country.",
    shape: usageShape,
    outputSchema: resultSchema({ usage: rowsOf("A count for each group.") }),
    path: "/v1/usage",
  },
  {
    name: "terms",
    title: "Terms of AI companies",
    description:
      "Read the terms that are in force for AI companies, or those of a version, with the hash of their text.",
    shape: termsShape,
    outputSchema: resultSchema({ version: { type: "integer" }, text: { type: "string" } }),
    path: "/v1/terms",
  },
  {
    name: "ai_policy_key",
    title: "Key to AI policy bits",
    description: "Read what each bit of an AI policy means. The tool ai_policy applies it.",
    shape: object({}),
    outputSchema: resultSchema({
      groups: { type: "object", description: "Bits of use and action." },
      blocked: rowsOf("Contexts."),
    }),
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

/** The arguments as the API has them in a query (W1). */
function queryText(args: JsonObject): string {
  const names: Readonly<Record<string, string>> = { since: "from", until: "to" };
  const query = new URLSearchParams(
    Object.entries(args).map(([name, value]) => [names[name] ?? name, String(value)]),
  ).toString();
  return query === "" ? "" : `?${query}`;
}

// The tools for sponsored items, which the configuration turns on: ads_pool, and report with its two confirmations.
//   D1. The country of a pool is found like that of a search, and its session_ref is set here.
//   D2. report is repeated by the same rule as every call. It may be: sent again, the service gives its first answer.

export function adTools(deps: ToolDeps): readonly Tool[] {
  return [poolTool(deps), reportTool(deps)];
}

function poolTool(deps: ToolDeps): Tool {
  const { properties, title: _title, ...schema } = poolRequest.schema;
  const { session_ref: _session, ...members } = properties as Readonly<Record<string, JsonObject>>;
  const subdivision = {
    ...members["subdivision"],
    description: "Of the country; without it, ads for its parts are left out.",
  };
  const country = { ...members["country"], description: "The user's, if none is named." };
  const keywords = {
    ...members["keywords"],
    description: "Subject terms, each compared whole, whatever the case of its letters.",
  };
  const sortBy = {
    type: "string",
    description: `Up to three of ${adSortKeys.join(", ")}, each with :asc or :desc.`,
  };
  return {
    name: "ads_pool",
    title: "Sponsored items",
    description:
      "List sponsored items for subject terms: never the user's question, and nothing about a person. Confirm each item " +
      "with report before it is shown.",
    inputSchema: {
      ...schema,
      properties: { ...members, country, subdivision, keywords, sort_by: sortBy },
      required: ["keywords", "sort_by"],
    },
    outputSchema: resultSchema({ ads: rowsOf("Each with its render_token."), receipt: receiptMember }, [
      "ads",
    ]),
    readOnly: true,
    run: (args, facts) => runPool(deps, args, facts),
  };
}

async function runPool(deps: ToolDeps, args: JsonObject, facts: CallFacts): Promise<Outcome> {
  if (args["session_ref"] !== undefined)
    return invalidHere("ads_pool has no argument session_ref.", { pointer: "/session_ref" });
  const country = facts.country === null ? {} : { country: facts.country.code };
  const body = { ...country, ...args };
  const found = requestProblem(poolRequest, body);
  if (found !== null) return refusedHere(found);
  const {
    text: answer,
    body: pool,
    requestHash,
  } = await deps.client.adPool({
    ...(body as unknown as Parameters<typeof deps.client.adPool>[0]),
    session_ref: facts.sessionRef,
  });
  const receipt = receiptFacts(pool.receipt);
  if (receipt !== null) deps.answers.keep([receipt.retrievalId], { kind: "pool", text: answer, requestHash });
  const notes = {
    terms: answerTerms("ads"),
    retrieval_id: receipt?.retrievalId ?? null,
    billable: false,
    country: {
      code: String(body["country"]),
      from: args["country"] === undefined ? (facts.country?.from ?? null) : "arguments",
    },
  };
  return { body: answer, notes, isError: false };
}

const kinds = ["ad_render", "ad_click"] as const;

const defaultFormat = "text";
const formats = oneOf(renderFormats);
const formatArgument = { ...formats, schema: { ...formats.schema, default: defaultFormat } };
const reportShape = object({
  kind: described(oneOf(kinds), "ad_render before it is shown, ad_click once it was followed."),
  render_token: optional(described(text(700), "Of an item of ads_pool.")),
  retrieval_id: optional(described(text(128), "Of a sponsored row: the retrieval_id of its search.")),
  record_id: optional(described(text(128), "Of a sponsored row: its record_id.")),
  format: optional(described(formatArgument, "For ad_render: how it is shown, text by default.")),
  click_token: optional(described(text(700), "For ad_click: what ad_render answered.")),
});

/** What is meant decides what is said of a fault: a row by its search, or an item by its token. */
function renderShape(body: JsonObject): Shape<object> {
  const isOfRow = "retrieval_id" in body || "record_id" in body;
  return isOfRow && !("render_token" in body) ? rowRenderRequest : tokenRenderRequest;
}

function reportTool(deps: ToolDeps): Tool {
  return {
    name: "report",
    title: "Confirm a sponsored item",
    description:
      "Confirm that an ad, or a sponsored row of a product search, is shown (ad_render, which answers its label and a " +
      "click token) or was followed (ad_click).",
    inputSchema: reportShape.schema,
    outputSchema: resultSchema({
      label: { type: "object", description: "ad_render: to be shown with the item." },
      click_token: { type: "string", description: "ad_render: for ad_click." },
    }),
    readOnly: false,
    run: async (args) => {
      const parsed = argumentsOf(reportShape, args);
      if (!parsed.ok) return parsed.outcome;
      const { kind, ...given } = parsed.value;
      const body = kind === "ad_render" ? { format: defaultFormat, ...given } : given;
      const found = requestProblem(kind === "ad_render" ? renderShape(body) : clickRequest, body);
      if (found !== null) return refusedHere(found);
      const path = kind === "ad_render" ? "/v1/ads/render" : "/v1/ads/click";
      const request = { method: "POST", path, tag: "svc-retrieval", body: jsonBody(body) } as const;
      const { text: answer } = await deps.client.send("retrieval", request);
      const notes = { terms: answerTerms("confirmed"), retrieval_id: null, billable: false };
      return { body: answer, notes, isError: false };
    },
  };
}
