// The five search tools, one for each collection and generated from its definition.
//   S1. The country of a search is the one that its filter names, else that of the call's metadata, else the configured one.
//   S2. A search is judged by the rules of the API before it is sent; what they refuse is not sent.
//   S3. The model neither sees nor sets session_ref.
//   S4. A condition is flat, so that models read it in a schema of two levels. The clauses of the API are taken as well, also with several
//       fields in an object; the API gets a clause for each, and a fault is said of the condition or object that was given.
//   S5. What the API calls `q` is `words` here, as no model knows a letter; `q` is taken as well.

import type { SearchRequest } from "../client/service-client.ts";
import { collections } from "../collections/collections.ts";
import {
  type CollectionDefinition,
  type FieldType,
  type FilterField,
  fieldByName,
  operators,
  textMatchKey,
} from "../collections/definition.ts";
import { clausesMax, refuseName, type SearchRefusal, shown } from "../collections/parse-filter.ts";
import { parseSearchRequest, searchLimits, searchMembers } from "../collections/search-request.ts";
import { parsePolicyBits, policyBits } from "../protocol/ai-policy.ts";
import { type CollectionName, collectionNames, isRecordId } from "../protocol/identifiers.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { problem } from "../protocol/problem.ts";
import { type IndexRow, parseRow } from "../protocol/row.ts";
import {
  anyText,
  described,
  either,
  firstFault,
  flag,
  listOf,
  matching,
  number,
  type Of,
  object,
  optional,
  type ShapeFault,
} from "../protocol/shape.ts";
import { formatSourceLine, parseSourceLine } from "../protocol/source-line.ts";
import type { FetchedRecord } from "../protocol/wire/retrieval.ts";
import { isObject, joinPointer } from "../std/json-pointer.ts";
import { invalidHere, type Notes, type Outcome, refusedHere, unreadableAnswer } from "./outcome.ts";
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
const toolMembers = ["words", ...searchMembers.filter((name) => !ownMembers.includes(name) && name !== "q")];

export function searchTools(deps: ToolDeps): readonly Tool[] {
  return collectionNames.map((name) => searchTool(deps, collections[name]));
}

function searchTool(deps: ToolDeps, definition: CollectionDefinition): Tool {
  return {
    name: `search_${definition.name}`,
    title: `Search ${definition.title}`,
    description: `Find at most 50 ${subjects[definition.name]}. Fetch a record before relying on it.`,
    inputSchema: argumentsSchema(definition),
    outputSchema: resultSchema({ rows: rowsOf("What was found, signed."), receipt: receiptMember }, ["rows"]),
    readOnly: true,
    run: (args, facts) => runSearch(deps, { definition, args, facts }),
  };
}

/** What parseSearchRequest reads, without what the tool sets itself. The filter may leave out the country. */
function argumentsSchema(definition: CollectionDefinition): JsonObject {
  const { textFields, sortKeys, name } = definition;
  const things = name.replace("_", " ");
  const key = `(${[textMatchKey, ...sortKeys].join("|")}):(asc|desc)`;
  return {
    type: "object",
    properties: {
      words: {
        type: "string",
        description: `Words that all occur in ${things}, in singular or plural.`,
      },
      query_by: {
        type: "array",
        items: { type: "string", enum: textFields },
        description: `Texts of ${things} to search; all if left out.`,
      },
      filter: {
        type: "array",
        items: conditionSchema(definition),
        maxItems: clausesMax,
        description: `What all ${things} meet.`,
      },
      sort_by: {
        type: "string",
        pattern: `^(${key},?){1,${searchLimits.sortKeysMax}}$`,
        description: `Order of ${things}; ${textMatchKey} is relevance and needs words.`,
      },
      limit: {
        type: "integer",
        maximum: searchLimits.rowsMax,
        description: `At most so many ${things}; ${searchLimits.rowsMax} if left out.`,
      },
      client_query_id: {
        type: "string",
        description: `Own reference of a search for ${things}.`,
      },
      topic_keywords: {
        type: "array",
        items: { type: "string" },
        maxItems: searchLimits.topicKeywordsMax,
        description: `Subjects, for statistics of ${things}; nothing personal.`,
      },
    },
    required: ["sort_by"],
  };
}

/** A field with an operator and what it is compared with: `near` has members of its own, so that no operand is an object. */
function conditionSchema({ fields }: CollectionDefinition): JsonObject {
  const used = operators.filter((operator) => fields.some((field) => field.operators.includes(operator)));
  const forNear = { type: "number", description: "For near." };
  return {
    type: "object",
    properties: {
      field: {
        type: "string",
        enum: fields.map(({ name }) => name),
        description: fieldsInWords(fields),
      },
      operator: { type: "string", enum: used, description: "In brackets before its fields." },
      values: {
        type: "array",
        items: { type: "string" },
        description: "Several for in and nin; times in ISO 8601.",
      },
      ...(used.includes("near") ? { lat: forNear, lng: forNear, radius_km: forNear } : {}),
    },
    required: ["field", "operator"],
  };
}

/** What fields of every collection mean, shortly. */
const ofAll: ReadonlyMap<string, string> = new Map([
  ["country", "One, the user's if none is named."],
  ["language", "ISO 639-1 code of the texts."],
  ["published_at", "When this version was published."],
]);

/** What each field means, by the operators that it has. */
function fieldsInWords(fields: readonly FilterField[]): string {
  const groups = new Map<string, FilterField[]>();
  for (const field of fields) {
    const own = field.operators.join(" ");
    groups.set(own, [...(groups.get(own) ?? []), field]);
  }
  const said = ({ name, description }: FilterField): string => `${name}: ${ofAll.get(name) ?? description}`;
  return [...groups].map(([own, group]) => `[${own}] ${group.map(said).join(" ")}`).join(" ");
}

interface SearchCall {
  readonly definition: CollectionDefinition;
  readonly args: JsonObject;
  readonly facts: CallFacts;
}

async function runSearch(deps: ToolDeps, { definition, args, facts }: SearchCall): Promise<Outcome> {
  const unknown = Object.keys(args).find((name) => name !== "q" && !toolMembers.includes(name));
  if (unknown !== undefined) {
    const detail = `search_${definition.name} has no argument ${shown(unknown)}.`;
    const given = { given: unknown, allowed: toolMembers, detail };
    return searchRefused(refuseName("request_invalid", joinPointer("", unknown), given));
  }
  const { words, ...others } = args;
  if (words !== undefined && args["q"] !== undefined)
    return invalidHere("words and q are the same: give words.", { pointer: "/q" });
  const clauses = clausesOf(definition, args["filter"]);
  if ("refused" in clauses) return clauses.refused;
  const { filter, countryFrom } = withCountry(clauses.filter, facts);
  const body: JsonObject = {
    ...others,
    ...(words === undefined ? {} : { q: words }),
    collection: definition.name,
    ...(filter === undefined ? {} : { filter }),
  };
  const request = parseSearchRequest(body, definition.name);
  if (!request.ok) return searchRefused(asGiven(request, { places: clauses.places, args }));
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

/** Where a clause was given: the pointer to it, and for a condition the pointer within it to its operand. */
interface Place {
  readonly pointer: string;
  readonly operand: string | null;
}

interface Clauses {
  readonly filter: JsonValue | undefined;
  readonly places: readonly Place[];
}

/** The filter with a clause for each condition or field, as the API takes them; what is no list of objects is left to its rules. */
function clausesOf(
  definition: CollectionDefinition,
  filter: JsonValue | undefined,
): Clauses | { readonly refused: Outcome } {
  const isList = Array.isArray(filter);
  // A condition alone is a list of one.
  const isAlone = isObject(filter) && "field" in filter;
  const given = isList ? filter : isAlone ? [filter] : isObject(filter) ? filter["all"] : null;
  if (!Array.isArray(given)) {
    if (filter === undefined || isObject(filter)) return { filter, places: [] };
    return {
      refused: invalidHere(`filter must be an array such as [${countryCondition}].`, { pointer: "/filter" }),
    };
  }
  const clauses: JsonValue[] = [];
  const places: Place[] = [];
  for (const [at, each] of (given as readonly JsonValue[]).entries()) {
    const pointer = isAlone ? "/filter" : `${isList ? "/filter" : "/filter/all"}/${at}`;
    const members = isObject(each) ? Object.entries(each as JsonObject) : [];
    if (isObject(each) && "field" in each) {
      // As everywhere, null is what was left out.
      const said = Object.fromEntries(members.filter(([, value]) => value !== null));
      const found = firstFault(conditionShape, said, pointer);
      if (found !== null) return { refused: faultOf(found) };
      const condition = said as unknown as Condition;
      const operand = operandOf(condition, fieldByName(definition, condition.field)?.type);
      if (operand === null) return { refused: invalidHere(oneOperand, { pointer }) };
      clauses.push({ [condition.field]: { [condition.operator]: operand.value } });
      places.push({ pointer, operand: operand.pointer });
    } else if (members.length < 2) {
      clauses.push(each);
      places.push({ pointer, operand: null });
    } else {
      for (const [name, condition] of members) {
        clauses.push({ [name]: condition });
        places.push({ pointer, operand: null });
      }
    }
  }
  return { filter: { ...(isList || isAlone ? {} : (filter as JsonObject)), all: clauses }, places };
}

const countryCondition = '{"field": "country", "operator": "eq", "values": ["US"]}';

function faultOf({ detail, pointer, suggestion, allowed }: ShapeFault): Outcome {
  return invalidHere(detail, {
    pointer,
    ...(suggestion === undefined || suggestion === null ? {} : { suggestion }),
    ...(allowed === undefined ? {} : { allowed }),
  });
}

// What is none of them is said to be a text.
const text = either(number, flag, anyText);
const conditionShape = object({
  field: anyText,
  operator: anyText,
  values: optional(either(text, listOf(text))),
  lat: optional(number),
  lng: optional(number),
  radius_km: optional(number),
});
type Condition = Of<typeof conditionShape>;

const oneOperand =
  "A condition needs values: one, or several for in and nin. For near it needs lat, lng and radius_km instead.";

/**
 * What a condition compares with, and the pointer to it within the condition; null if that is none. A text with a number or a truth value is
 * one where the field holds such.
 */
function operandOf(
  { operator, values, field: _field, ...place }: Condition,
  type: FieldType | undefined,
): { readonly value: JsonValue; readonly pointer: string } | null {
  const isPlace = Object.keys(place).length > 0;
  if (isPlace) return values === undefined ? { value: place as JsonObject, pointer: "" } : null;
  const given = [values ?? []].flat().map((value): JsonValue => {
    if (type === "boolean" && (value === "true" || value === "false")) return value === "true";
    const isNumber = type === "integer" && typeof value === "string" && /^-?[0-9]{1,15}$/.test(value);
    return isNumber ? Number(value) : value;
  });
  if (operator === "in" || operator === "nin") return { value: given, pointer: "/values" };
  const [value] = given;
  return value === undefined || given.length > 1 ? null : { value, pointer: "/values/0" };
}

/** A refusal of the API's rules, said of what the caller gave. */
function asGiven(
  refusal: SearchRefusal,
  { places, args }: { readonly places: readonly Place[]; readonly args: JsonObject },
): SearchRefusal {
  const [, at, member = "", rest = ""] =
    /^\/filter\/all\/([0-9]+)(\/[^/]+(?:\/[^/]+)?)?(.*)$/.exec(refusal.pointer) ?? [];
  const place = places[Number(at ?? -1)];
  if (place !== undefined) return { ...refusal, pointer: `${place.pointer}${within(place)}` };
  if (refusal.pointer === "/filter/all" && !isObject(args["filter"])) {
    const detail = refusal.detail.replace('{"country": "US"}', countryCondition);
    return { ...refusal, pointer: "/filter", detail };
  }
  if (args["q"] !== undefined) return refusal;
  const detail = refusal.detail.replace(/\bq(?= is | has |,|\.$)/g, "words");
  return { ...refusal, pointer: refusal.pointer === "/q" ? "/words" : refusal.pointer, detail };

  function within({ operand }: Place): string {
    if (operand === null) return `${member}${rest}`;
    if (refusal.code === "unknown_field") return "/field";
    if (refusal.code === "operator_not_allowed") return "/operator";
    return operand === "/values" ? `${operand}${rest}` : operand;
  }
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
      "receipt. An unknown, withdrawn or blocked record is not found.",
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
