// The tools for sponsored items, which the configuration turns on: ads_pool, and report with its two confirmations.
//   D1. The country of a pool is found like that of a search, and its session_ref is set here.
//   D2. report is repeated by the same rule as every call. It may be: sent again, the service gives its first answer.

import { jsonBody } from "../client/json-answer.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { requestProblem } from "../protocol/request-problem.ts";
import { described, object, oneOf, optional, type Shape, text } from "../protocol/shape.ts";
import {
  clickRequest,
  poolRequest,
  renderFormats,
  rowRenderRequest,
  tokenRenderRequest,
} from "../protocol/wire/ad-requests.ts";
import { argumentsOf } from "./arguments.ts";
import type { CallFacts } from "./conversation.ts";
import { invalidHere, type Outcome, refusedHere } from "./outcome.ts";
import { receiptFacts } from "./receipt-facts.ts";
import { answerTerms } from "./terms-in-words.ts";
import type { Tool, ToolDeps } from "./tool.ts";

export function adTools(deps: ToolDeps): readonly Tool[] {
  return [poolTool(deps), reportTool(deps)];
}

function poolTool(deps: ToolDeps): Tool {
  const { properties, title: _title, ...schema } = poolRequest.schema;
  const { session_ref: _session, ...members } = properties as JsonObject;
  return {
    name: "ads_pool",
    title: "Sponsored items",
    description:
      "Answers at most 20 sponsored items for subject terms, in the order that sort_by names. Give subject terms only, " +
      "never the user's question and nothing about a person. Confirm each item with report before it is shown.",
    inputSchema: { ...schema, properties: members, required: ["keywords", "sort_by"] },
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

const reportShape = object({
  kind: described(oneOf(kinds), "ad_render before an ad is shown, ad_click once it was followed."),
  render_token: optional(described(text(700), "ad_render of an item of ads_pool: its render_token.")),
  retrieval_id: optional(
    described(text(128), "ad_render of a sponsored row: the retrieval_id of the search that answered it."),
  ),
  record_id: optional(described(text(128), "ad_render of a sponsored row: its record_id.")),
  format: optional(described(oneOf(renderFormats), "ad_render: how it is shown.")),
  click_token: optional(described(text(700), "ad_click: the click_token that ad_render answered.")),
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
      "Confirms to the service that an ad, or a sponsored row of a product search, is shown (ad_render, which answers the " +
      "label to show and a click token) or was followed (ad_click).",
    inputSchema: reportShape.schema,
    readOnly: false,
    run: async (args) => {
      const parsed = argumentsOf(reportShape, args);
      if (!parsed.ok) return parsed.outcome;
      const { kind, ...body } = parsed.value;
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
