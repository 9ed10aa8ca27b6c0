// The five search tools, one for each collection and generated from its definition.
//   S1. The country of a search is the one that its filter names, else that of the call's metadata, else the configured one.
//   S2. A search is judged by the rules of the API before it is sent; what they refuse is not sent.
//   S3. The model neither sees nor sets session_ref.
//   S4. An object of the filter may give several fields; the API gets a clause for each, and a fault is said of the object that was given.

import type { SearchRequest } from "../client/service-client.ts";
import { collections } from "../collections/collections.ts";
import { type CollectionDefinition, type FilterField, textMatchKey } from "../collections/definition.ts";
import { clausesMax, refuseName, type SearchRefusal, shown } from "../collections/parse-filter.ts";
import { parseSearchRequest, searchLimits, searchMembers } from "../collections/search-request.ts";
import { parsePolicyBits, policyBits } from "../protocol/ai-policy.ts";
import { type CollectionName, collectionNames, isRecordId } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { problem } from "../protocol/problem.ts";
import { type IndexRow, parseRow } from "../protocol/row.ts";
import { described, matching, object } from "../protocol/shape.ts";
import { formatSourceLine, parseSourceLine } from "../protocol/source-line.ts";
import type { FetchedRecord } from "../protocol/wire/retrieval.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import { type Notes, type Outcome, refusedHere, unreadableAnswer } from "./outcome.ts";
import { answerTerms, type PolicyWords, policyWords, receiptFacts } from "./policy-words.ts";
import {
  argumentsOf,
  type CallFacts,
  receiptMember,
  resultSchema,
  rowsOf,
  type Tool,
  type ToolDeps,
} from "./tool.ts";

/** What a collection has, in words that people ask with. */
const subjects: Readonly<Record<CollectionName, string>> = {
  products: "products: goods to buy, with price, brand and whether they are in stock",
  business_files: "business files: shops and companies, where to visit, how they deliver and are paid",
  events: "events: concerts, fairs and courses, when and where they take place, with tickets",
  jobs: "jobs: open positions with employer, salary and work place",
  updates: "updates: news and announcements of businesses",
};

/** What the tool sets itself. */
const ownMembers: readonly string[] = ["collection", "session_ref"];
const toolMembers = searchMembers.filter((name) => !ownMembers.includes(name));

export function searchTools(deps: ToolDeps): readonly Tool[] {
  return collectionNames.map((name) => searchTool(deps, collections[name]));
}

function searchTool(deps: ToolDeps, definition: CollectionDefinition): Tool {
  return {
    name: `search_${definition.name}`,
    title: `Search ${definition.title}`,
    description:
      `Find at most 50 ${subjects[definition.name]}. There is no second page: narrow the filter. Fetch a record before ` +
      "relying on its details.",
    inputSchema: argumentsSchema(definition),
    outputSchema: resultSchema({ rows: rowsOf("What was found, signed."), receipt: receiptMember }, ["rows"]),
    readOnly: true,
    run: (args, facts) => runSearch(deps, { definition, args, facts }),
  };
}

/**
 * What parseSearchRequest reads without what the tool sets itself, as shortly as models need it: one object with all fields in place of a
 * schema for each clause. The filter may leave out the country.
 */
function argumentsSchema({ textFields, fields, sortKeys }: CollectionDefinition): JsonObject {
  const keys = [textMatchKey, ...sortKeys];
  const one = `(?:${keys.join("|")}):(?:asc|desc)`;
  const conditions = fields.map((field): [string, JsonObject] => [field.name, conditionSchema(field)]);
  return {
    type: "object",
    properties: {
      q: {
        type: "string",
        description: "Words that must all occur in the text, in their singular or plural.",
      },
      query_by: {
        type: "array",
        items: { type: "string", enum: textFields },
        description: "Where q is searched; everywhere if left out.",
      },
      filter: {
        type: "object",
        properties: {
          all: {
            type: "array",
            items: { type: "object", properties: Object.fromEntries(conditions) },
            maxItems: clausesMax,
          },
        },
        required: ["all"],
        description:
          "Conditions that all hold. A field is given once in an object; a further object may give it again. One country: the user's if none is named.",
      },
      sort_by: {
        type: "string",
        pattern: `^${one}(?:,${one}){0,${searchLimits.sortKeysMax - 1}}$`,
        description: `${textMatchKey} is relevance and needs q.`,
      },
      limit: {
        type: "integer",
        maximum: searchLimits.rowsMax,
        description: `Rows at most; ${searchLimits.rowsMax} if left out.`,
      },
      client_query_id: { type: "string", description: "The caller's own reference, for its event stream." },
      topic_keywords: {
        type: "array",
        items: { type: "string" },
        maxItems: searchLimits.topicKeywordsMax,
        description: "What it is about, for statistics: subjects only, nothing personal.",
      },
    },
    required: ["sort_by"],
  };
}

function conditionSchema({ type, operators, description }: FilterField): JsonObject {
  const value = valueSchemas[type];
  const operands = operators.map((operator): [string, JsonObject] => [
    operator,
    operator === "in" || operator === "nin" ? { type: "array", items: value } : value,
  ]);
  return { type: "object", properties: Object.fromEntries(operands), description };
}

const valueSchemas: Readonly<Record<FilterField["type"], JsonObject>> = {
  country: { type: "string" },
  keyword: { type: "string" },
  boolean: { type: "boolean" },
  integer: { type: "integer" },
  money: { type: "number" },
  timestamp: { type: "string", format: "date-time" },
  geopoint: {
    type: "object",
    properties: { lat: { type: "number" }, lng: { type: "number" }, radius_km: { type: "number" } },
  },
};

interface SearchCall {
  readonly definition: CollectionDefinition;
  readonly args: JsonObject;
  readonly facts: CallFacts;
}

async function runSearch(deps: ToolDeps, { definition, args, facts }: SearchCall): Promise<Outcome> {
  const unknown = Object.keys(args).find(
    (name) => !toolMembers.includes(name as (typeof toolMembers)[number]),
  );
  if (unknown !== undefined) {
    const detail = `search_${definition.name} has no argument ${shown(unknown)}.`;
    const given = { given: unknown, allowed: toolMembers, detail };
    return searchRefused(refuseName("request_invalid", joinPointer("", unknown), given));
  }
  const { filter: separate, places } = separated(args["filter"]);
  const { filter, countryFrom } = withCountry(separate, facts);
  const body = { ...args, collection: definition.name, ...(filter === undefined ? {} : { filter }) };
  const request = parseSearchRequest(body, definition.name);
  if (!request.ok) return searchRefused({ ...request, pointer: givenPointer(request.pointer, places) });
  const sent = { ...body, session_ref: facts.sessionRef } as unknown as SearchRequest;
  const { text, body: answer, requestHash } = await deps.client.search(sent);
  // A type is what the service promises; a proxy promises nothing.
  if (!isObject(answer) || !Array.isArray(answer.rows)) return unreadableAnswer("that of a search");
  const receipt = receiptFacts(answer.receipt);
  if (receipt !== null) deps.answers.keep([receipt.retrievalId], { kind: "search", text, requestHash });
  const rows = answer.rows.flatMap((row) => rowOf(row));
  const sponsored = rows.filter((row) => row["sponsored"] === true).map(({ record_id }) => record_id);
  const notes: Notes = {
    terms: [
      ...answerTerms(rows.length > 0 ? "rows" : "no_rows"),
      ...(deps.config.ads && sponsored.length > 0 ? answerTerms("sponsored") : []),
    ],
    retrieval_id: receipt?.retrievalId ?? null,
    billable: deps.config.environment === "production" && answer.rows.length > 0,
    country: { code: request.value.country, from: countryFrom },
    source_lines: receipt === null ? [] : rows.map((row) => sourceLineOf(deps, row, receipt.servedAt)),
    ai_policy: policiesOf(rows),
    sponsored,
  };
  return { body: text, notes, isError: false };
}

/** The filter with a clause for each field, as the API takes them, and which given clause each of them is of. */
function separated(filter: JsonValue | undefined): {
  readonly filter: JsonValue | undefined;
  readonly places: readonly number[];
} {
  const all = isObject(filter) ? filter["all"] : null;
  if (!Array.isArray(all)) return { filter, places: [] };
  const clauses = all.flatMap((clause: JsonValue, at): { clause: JsonValue; at: number }[] => {
    const members = isObject(clause) ? Object.entries(clause as JsonObject) : [];
    return members.length < 2
      ? [{ clause, at }]
      : members.map(([name, condition]) => ({ clause: Object.fromEntries([[name, condition]]), at }));
  });
  return {
    filter: { ...(filter as JsonObject), all: clauses.map(({ clause }) => clause) },
    places: clauses.map(({ at }) => at),
  };
}

/** The pointer to a clause of the filter as the caller gave it. */
function givenPointer(pointer: string, places: readonly number[]): string {
  return pointer.replace(/^(\/filter\/all\/)([0-9]+)/, (whole, path, at) => {
    const place = places[Number(at)];
    return place === undefined ? whole : `${path}${place}`;
  });
}

type CountryFrom = "arguments" | "metadata" | "configuration" | null;

/** The filter with the country that is known, if it names none; any other fault is left to the rules of the API. */
function withCountry(
  filter: JsonValue | undefined,
  { country }: CallFacts,
): { readonly filter: JsonValue | undefined; readonly countryFrom: CountryFrom } {
  const all = filter === undefined ? [] : isObject(filter) ? filter["all"] : null;
  if (!Array.isArray(all)) return { filter, countryFrom: null };
  const isNamed = all.some((clause: unknown) => isObject(clause) && "country" in clause);
  if (isNamed) return { filter, countryFrom: "arguments" };
  if (country === null) return { filter: filter ?? { all: [] }, countryFrom: null };
  const others = isObject(filter) ? (filter as JsonObject) : {};
  return { filter: { ...others, all: [...all, { country: country.code }] }, countryFrom: country.from };
}

function searchRefused({ code, detail, pointer, suggestion, allowed }: SearchRefusal): Outcome {
  return refusedHere(
    problem(code, detail, {
      pointer,
      ...(suggestion === undefined ? {} : { suggestion }),
      ...(allowed === undefined ? {} : { allowed }),
    }),
  );
}

/** A row of another form than rows have is left out of the notes. */
function rowOf(value: unknown): readonly IndexRow[] {
  const row = parseRow(value as JsonValue);
  return row.ok ? [row.value] : [];
}

function sourceLineOf({ config }: ToolDeps, row: IndexRow, servedAt: string): string {
  return formatSourceLine({
    record_id: row.record_id,
    origin: row.adl_origin,
    cert_id: row.adl_origin_cert,
    served_at: servedAt,
    verify_url: config.sourceLineBase,
  });
}

/** The words of each policy once, with the rows that it is of. */
function policiesOf(
  rows: readonly IndexRow[],
): readonly (PolicyWords & { readonly records: readonly string[] })[] {
  const found = new Map<string, string[]>();
  for (const row of rows) {
    const bits = JSON.stringify(row["ai_policy_bits"] ?? null);
    const known = found.get(bits);
    if (known === undefined) found.set(bits, [row.record_id]);
    else known.push(row.record_id);
  }
  return [...found].flatMap(([text, records]) => {
    const bits = parsePolicyBits(JSON.parse(text) as JsonValue);
    return bits.ok ? [{ records, ...policyWords(bits.value) }] : [];
  });
}

// The tool `fetch`: one record by its id, exactly as the business sealed it.

export const recordIdArgument = matching(isRecordId, "a record id such as svc_ and 26 characters");

const shape = object({
  record_id: described(recordIdArgument, "The id of one record, from a row or a source line."),
});

export function fetchTool(deps: ToolDeps): Tool {
  return {
    name: "fetch",
    title: "Fetch a record",
    description:
      "Get one record exactly as the business sealed it, with its seal, its AI policy, its source line and a " +
      "receipt. One id for each call. An unknown, withdrawn or blocked record is not found.",
    inputSchema: shape.schema,
    outputSchema: resultSchema(
      {
        record: { type: "object", description: "As the business sealed it." },
        ai_policy: { type: "object", description: "What the business allows." },
        provenance: { type: "object", description: "Has the source line." },
        receipt: receiptMember,
      },
      ["record"],
    ),
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
        source_line: ownSourceLine(body, recordId),
        retrieval_id: receipt?.retrievalId ?? null,
        billable: deps.config.environment === "production",
        ai_policy: policyOf(body),
      };
      return { body: text, notes, isError: false };
    },
  };
}

/** The service's own line, if it is one, about this record, and leads to an address and nothing else. */
function ownSourceLine({ provenance }: FetchedRecord, recordId: string): string | null {
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
