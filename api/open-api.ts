// The OpenAPI 3.1 document of a surface, derived from the same routes and shapes that serve it.
//   O1. What a response says is exact: objects are closed, and a problem has one of the codes that its response lists.

import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import { type ProblemCode, problemCodes, problemMediaType, problemShape } from "../protocol/problem.ts";
import { anyObject, described } from "../protocol/shape.ts";
import { isObject } from "../std/json-pointer.ts";
import {
  type AnswerDoc,
  type HeaderName,
  headerFields,
  inPath,
  type Operation,
  type Parameter,
} from "./route.ts";

export interface OpenApiInfo {
  readonly title: string;
  readonly description: string;
  /** The public base addresses; empty if the document does not know them. */
  readonly servers: readonly string[];
}

/** Bodies as they were sent and answered in a real run, by `<METHOD> <path>`. */
export type Examples = Readonly<
  Record<string, { readonly request?: JsonValue; readonly answers: Readonly<Record<string, JsonValue>> }>
>;

/** What applies to all routes of a surface. */
export interface SurfaceTerms {
  readonly securitySchemes: JsonObject;
  security(operation: Operation): JsonObject;
  problems(operation: Operation): readonly ProblemCode[];
  headers(operation: Operation): {
    readonly required: readonly HeaderName[];
    readonly optional: readonly HeaderName[];
  };
  readonly examples: Examples;
}

/** Described by its own standard. */
export const openApiDocument = described(anyObject, "An OpenAPI document, which describes itself here.");

/** Possible on every route of every surface, regardless of the request. */
export const platformProblems: readonly ProblemCode[] = [
  "request_invalid",
  "request_timeout",
  "expectation_failed",
  "header_too_large",
  "internal_error",
  "http_version_unsupported",
];

/** Possible on every signed route: even a read may come with a body, which is read like any other. */
const signatureProblems: readonly ProblemCode[] = [
  "signature_missing",
  "signature_invalid",
  "signature_expired",
  "key_unknown",
  "digest_mismatch",
  "nonce_reused",
  "role_not_allowed",
  "record_too_large",
  "media_type_unsupported",
  "rate_limited",
];

/** The terms of surfaces whose routes are signed, or public. */
export function signedTerms(examples: Examples): SurfaceTerms {
  return {
    securitySchemes: {
      httpSignature: {
        type: "apiKey",
        in: "header",
        name: "Signature",
        description:
          "RFC 9421 HTTP Message Signature, label sig1, with Signature-Input and, for a body, Content-Digest. Covers @method, @authority, @path, then @query when there is a query string, then content-digest when there is a body; parameters created, expires, nonce, keyid, tag in this order.",
      },
    },
    security: ({ tags }) =>
      tags.length === 0 ? { security: [] } : { security: [{ httpSignature: [] }], "x-signature-tags": tags },
    problems: ({ tags }) => [
      ...(tags.length === 0 ? (["host_not_allowed"] as const) : signatureProblems),
      ...platformProblems,
      "unavailable",
    ],
    headers: ({ tags, isPublic }) => ({
      required: ["Request-Id", ...(isPublic === true ? (["Access-Control-Allow-Origin"] as const) : [])],
      optional: tags.length === 0 ? [] : ["RateLimit-Policy", "RateLimit"],
    }),
    examples,
  };
}

/** The OpenAPI 3.1 document of a surface, as it is served at `/openapi.json`. */
export function openApi(
  info: OpenApiInfo,
  operations: readonly Operation[],
  terms: SurfaceTerms,
): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const each of operations) {
    const path = each.path.replaceAll(/:([a-z_]+)/g, "{$1}").replace(/\*$/, "{path}");
    const known = paths[path] ?? {};
    known[each.method.toLowerCase()] = operation(each, terms);
    paths[path] = known;
  }
  const shared = shareNamed({ paths, problem: problemShape.schema });
  return {
    openapi: "3.1.0",
    info: {
      title: info.title,
      version: "1.0.0",
      description: `${info.description} Examples are from a real run; long lists and texts in them are cut. HEAD is answered wherever GET is, with the same headers; a signature then covers HEAD as its @method.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    ...(info.servers.length === 0 ? {} : { servers: info.servers.map((url) => ({ url })) }),
    tags: subjects
      .filter(({ name }) => operations.some(({ path }) => subjectOf(path) === name))
      .map(({ name, description }) => ({ name, description })),
    paths: (shared.value as JsonObject)["paths"] ?? {},
    components: { schemas: shared.schemas, securitySchemes: terms.securitySchemes },
  };
}

interface Subject {
  readonly name: string;
  readonly description: string;
  readonly paths: RegExp;
}

/** What operations are about, as a reference groups them: the first whose pattern a path has. */
const subjects: readonly Subject[] = [
  {
    name: "Search and fetch",
    description: "Signed rows and records, each answer with its receipt.",
    paths: /^\/v1\/(?:(?:[a-z-]+\/)?search|records\/.*)$/,
  },
  {
    name: "Ads",
    description: "Campaigns, pools, renders and clicks.",
    paths: /^\/v1\/ads\/|^\/ops\/campaigns/,
  },
  {
    name: "Publish",
    description: "Batches, bulk files and single records.",
    paths:
      /^\/v1\/(?:publish|bulk|pushes|push-attempts|seal-context|withdrawals|holds|held-deletions|catalogue)/,
  },
  {
    name: "Account",
    description: "Keys, mandates, terms, receipts and money.",
    paths:
      /^\/v1\/(?:terms|entitlement|receipts|usage|allowance|statements|key-|mandates|ai-policies|sandbox|domains|takedowns|events|analytics)|^\/ops\/ledgers/,
  },
  {
    name: "Verify",
    description: "What anyone may check, without an account.",
    paths: /^\/v1\/(?:verify|certificates|mcp)|^\/\.well-known/,
  },
  {
    name: "Transparency log",
    description: "Checkpoints, proofs and tiles.",
    paths: /^\/(?:v1\/log|checkpoint|tile)/,
  },
  {
    name: "Published documents",
    description: "Schemas, projections, vocabularies and test vectors of the release.",
    paths:
      /^\/v1\/(?:projections|schemas|payloads|envelope-specification|ai-policy-key|vocabularies|test-vectors)/,
  },
  {
    name: "Parties",
    description: "Who is let in, and whose keys, mandates and certificates stand.",
    paths:
      /^\/ops\/(?:applications|recoveries|parties|keys|mandates|certificates|grants|blocks|brands|groups)/,
  },
  {
    name: "Removal",
    description: "Takedowns, deletions and purges.",
    paths: /^\/ops\/(?:takedowns|deletions|purges|purge-orders)/,
  },
  { name: "Operations", description: "The state of nodes and actors, and acts on them.", paths: /^\/ops\// },
  { name: "Service", description: "Health, metrics, pages and this document.", paths: /^\// },
];

function subjectOf(path: string): string {
  return subjects.find(({ paths }) => paths.test(path))?.name ?? "";
}

/** The name of an operation in {@link Examples}. */
export function operationKey({ method, path }: Pick<Operation, "method" | "path">): string {
  return `${method} ${path.replace(/\*$/, ":path")}`;
}

function operation(each: Operation, terms: SurfaceTerms): JsonObject {
  const { doc } = each;
  const example = terms.examples[operationKey(each)];
  const shown = (value: JsonValue | undefined): JsonObject => (value === undefined ? {} : { example: value });
  return {
    operationId: `${each.method.toLowerCase()}${each.path.replaceAll(/[^a-zA-Z0-9]+/g, "_")}`,
    tags: [subjectOf(each.path)],
    summary: doc.summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    ...terms.security(each),
    parameters: parametersOf(each).map(parameter),
    ...(doc.body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: contentOf(doc.body, { schema: doc.body.schema, ...shown(example?.request) }),
          },
        }),
    responses: responses(each, terms),
  };
}

/** The same for every media type of a body. */
function contentOf(
  { mediaType = "application/json", otherMediaTypes = [] }: Pick<AnswerDoc, "mediaType" | "otherMediaTypes">,
  media: JsonObject,
): JsonObject {
  return Object.fromEntries([mediaType, ...otherMediaTypes].map((each) => [each, media]));
}

/** Every parameter of a path is listed (OpenAPI 3.1, Path Templating), also one that a route says nothing about. */
function parametersOf({ path, doc: { parameters = [] } }: Operation): readonly Parameter[] {
  const names = [...path.matchAll(/:([a-z_]+)/g)].map(([, name = ""]) => name);
  const silent = names.filter((name) => !parameters.some((each) => each.in === "path" && each.name === name));
  return [...parameters, ...silent.map((name) => inPath(name, "As a page names it.", { type: "string" }))];
}

function parameter(each: Parameter): JsonObject {
  return {
    name: each.name,
    in: each.in,
    required: each.in === "path" || each.required === true,
    description: each.description,
    schema: each.schema,
  };
}

const page: JsonObject = {
  "text/html": { schema: { type: "string", description: "The same as a page for people." } },
};

const perLine: JsonObject = {
  "application/x-ndjson": {
    schema: { type: "string", description: "The items of the list, each as JSON on a line of its own." },
  },
};

const markdown: JsonObject = {
  "text/markdown": { schema: { type: "string", description: "A text to read." } },
};

function responses(each: Operation, terms: SurfaceTerms): JsonObject {
  const { answers, pages = [], lines = [], texts = [], problems = [] } = each.doc;
  const { required, optional } = terms.headers(each);
  const examples = terms.examples[operationKey(each)]?.answers ?? {};
  const found: Record<string, JsonObject> = {};
  for (const [status, answer] of Object.entries(answers)) {
    const { description, body, headers = [] } = answer;
    const example = examples[status];
    const content = { schema: body?.schema ?? {}, ...(example === undefined ? {} : { example }) };
    found[status] = {
      description,
      headers: headerFields([...required, ...headers], optional),
      ...(body === null ? {} : { content: contentOf(answer, content) }),
    };
  }
  for (const [status, codes] of byStatus([...problems, ...terms.problems(each)]))
    found[status] = joined(
      found[status],
      problemResponse(status, codes, { required, optional }),
      examples[status],
    );
  const alsoAs = (statuses: readonly number[], media: JsonObject): void => {
    for (const status of statuses) {
      const { content, ...rest } = found[status] ?? { description: "The same." };
      found[status] = { ...rest, content: { ...(content as JsonObject), ...media } };
    }
  };
  alsoAs(pages, page);
  alsoAs(lines, perLine);
  alsoAs(texts, markdown);
  return found;
}

/** An answer and problems may share a status: a readiness answer uses 503, as `unavailable` does. */
function joined(
  known: JsonObject | undefined,
  { content, ...problems }: JsonObject,
  example: JsonValue | undefined,
): JsonObject {
  const shown = known === undefined && example !== undefined ? { example } : {};
  const media = (content as JsonObject)[problemMediaType] as JsonObject;
  const all = {
    ...(known?.["content"] as JsonObject | undefined),
    [problemMediaType]: { ...media, ...shown },
  };
  return { ...problems, ...known, content: all };
}

function byStatus(codes: readonly ProblemCode[]): ReadonlyMap<string, readonly ProblemCode[]> {
  return Map.groupBy(new Set(codes), (code) => String(problemCodes[code].status));
}

/** Problems with the same status share an entry that lists their codes (O1). */
function problemResponse(
  status: string,
  codes: readonly ProblemCode[],
  { required, optional }: ReturnType<SurfaceTerms["headers"]>,
): JsonObject {
  const challenge: readonly HeaderName[] = status === "401" ? ["WWW-Authenticate"] : [];
  return {
    description: codes.map((code) => `\`${code}\`: ${problemCodes[code].title}`).join("; "),
    headers: headerFields([...required, "Cache-Control", ...challenge], ["Retry-After", ...optional]),
    content: {
      [problemMediaType]: {
        schema: { allOf: [problemShape.schema], properties: { code: { enum: codes } } },
      },
    },
  };
}

// Named schemas are written once, under `components`, and referenced everywhere else.

const nameForm = /^[A-Z][A-Za-z0-9]*$/;

/**
 * The value with references in place of its named schemas, and those schemas by name. Two with the same name must be
 * identical.
 */
function shareNamed(value: JsonValue): { readonly value: JsonValue; readonly schemas: JsonObject } {
  const schemas: Record<string, JsonValue> = {};
  /** A shape that many routes use is one object. */
  const known = new Map<JsonObject, JsonObject>();
  const share = (each: JsonValue): JsonValue => {
    if (Array.isArray(each)) return each.map(share);
    if (!isObject(each)) return each;
    const made = known.get(each) ?? shareObject(each);
    known.set(each, made);
    return made;
  };
  const shareObject = (each: JsonObject): JsonObject => {
    // An example is not a schema, whatever its members are called.
    const shared = Object.fromEntries(
      Object.entries(each).map(([name, member]) => [name, name === "example" ? member : share(member)]),
    );
    const { title } = shared;
    return typeof title === "string" && nameForm.test(title) ? refer(title, shared) : flattened(shared);
  };
  const refer = (title: string, { title: _title, ...schema }: JsonObject): JsonObject => {
    const other = schemas[title];
    if (other !== undefined && JSON.stringify(other) !== JSON.stringify(schema))
      throw new Error(`There are two schemas with the name ${title}.`);
    schemas[title] = schema;
    return { $ref: `#/components/schemas/${title}` };
  };
  const whole = share(value);
  return { value: whole, schemas: Object.fromEntries(Object.entries(schemas).sort()) };
}

/** Keywords beside a single reference stay beside it (JSON Schema 2020-12 §8.2.3.1). */
function flattened(schema: JsonObject): JsonObject {
  const { allOf, ...rest } = schema;
  const [only, ...more] = Array.isArray(allOf) ? (allOf as readonly JsonValue[]) : [];
  return more.length === 0 && isObject(only) && only["$ref"] !== undefined ? { ...only, ...rest } : schema;
}
