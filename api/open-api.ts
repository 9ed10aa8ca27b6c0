// OpenAPI 3.1 of a surface, from the same routes and schemas that serve it.

import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { type ProblemCode, problemCodes, problemMediaType } from "../protocol/problem.ts";
import type { Parameter, Route } from "./route.ts";

export interface OpenApiInfo {
  readonly title: string;
  readonly description: string;
  /** Public base addresses. */
  readonly servers: readonly string[];
}

/** Of every route of every surface, whatever it is asked. */
export const platformProblems: readonly ProblemCode[] = [
  "request_invalid",
  "request_timeout",
  "expectation_failed",
  "header_too_large",
  "internal_error",
  "http_version_unsupported",
];

/** Of every signed route: also a read may come with a body, which is read as any other. */
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

/** Answered with Retry-After. */
const waits: ReadonlySet<ProblemCode> = new Set<ProblemCode>([
  "idempotency_in_progress",
  "rate_limited",
  "unavailable",
]);

export function openApi(info: OpenApiInfo, routes: readonly Route[]): JsonObject {
  const paths: Record<string, Record<string, JsonValue>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:([a-z_]+)/g, "{$1}");
    const operations = paths[path] ?? {};
    operations[route.method.toLowerCase()] = operation(route);
    paths[path] = operations;
  }
  return {
    openapi: "3.1.0",
    info: {
      title: info.title,
      version: "1.0.0",
      description: `${info.description} HEAD is answered wherever GET is, with the same headers; a signature then covers HEAD as its @method.`,
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    servers: info.servers.map((url) => ({ url })),
    paths,
    components: {
      schemas: { Problem: problemSchema },
      securitySchemes: {
        httpSignature: {
          type: "apiKey",
          in: "header",
          name: "Signature",
          description:
            "RFC 9421 HTTP Message Signature, label sig1, with Signature-Input and, for a body, Content-Digest. Covers @method, @authority, @path, then @query when there is a query string, then content-digest when there is a body; parameters created, expires, nonce, keyid, tag in this order.",
        },
      },
    },
  };
}

function operation(route: Route): JsonObject {
  const { doc } = route;
  const isSigned = route.tags.length > 0;
  return {
    operationId: operationId(route),
    summary: doc.summary,
    ...(doc.description === undefined ? {} : { description: doc.description }),
    ...(isSigned ? { security: [{ httpSignature: [] }], "x-signature-tags": route.tags } : { security: [] }),
    parameters: (doc.parameters ?? []).map(parameter),
    ...(doc.body === undefined
      ? {}
      : { requestBody: { required: true, content: { "application/json": { schema: doc.body } } } }),
    responses: {
      ...answers(route),
      ...problemResponses([
        ...(isSigned ? signatureProblems : []),
        ...(doc.problems ?? []),
        ...platformProblems,
        "unavailable",
      ]),
    },
  };
}

function operationId(route: Route): string {
  return `${route.method.toLowerCase()}${route.path.replaceAll(/[^a-zA-Z0-9]+/g, "_")}`;
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

function answers(route: Route): JsonObject {
  return Object.fromEntries(
    Object.entries(route.doc.answers).map(([status, { description, schema, mediaType }]) => [
      status,
      { description, content: { [mediaType ?? "application/json"]: { schema: schema ?? {} } } },
    ]),
  );
}

/** Problems of one status share an entry that lists their codes. */
export function problemResponses(codes: readonly ProblemCode[]): JsonObject {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of new Set<ProblemCode>(codes)) {
    const { status } = problemCodes[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  const retryAfter = {
    "Retry-After": { description: "Seconds, as in `retry_after_seconds`.", schema: { type: "integer" } },
  };
  const content = { [problemMediaType]: { schema: { $ref: "#/components/schemas/Problem" } } };
  return Object.fromEntries(
    [...byStatus].map(([status, each]) => [
      String(status),
      {
        description: each.map((code) => `\`${code}\`: ${problemCodes[code].title}`).join("; "),
        ...(each.some((code) => waits.has(code)) ? { headers: retryAfter } : {}),
        content,
      },
    ]),
  );
}

/** What {@link problemResponses} refers to as `#/components/schemas/Problem`. */
export const problemSchema: JsonObject = {
  type: "object",
  description: "RFC 9457 problem details.",
  required: ["type", "title", "status", "code", "detail"],
  properties: {
    type: { type: "string" },
    title: { type: "string" },
    status: { type: "integer" },
    code: {
      type: "string",
      enum: Object.keys(problemCodes),
      description: "Stable: codes never change their meaning.",
    },
    detail: { type: "string", description: "For a person: what is wrong and what to do." },
    pointer: {
      type: "string",
      description:
        "RFC 6901 pointer to the place; /headers, /query and /path name other parts of the request.",
    },
    reason: { type: "string" },
    suggestion: { type: "string", description: "The nearest valid name where a name was wrong." },
    allowed: { type: "array", items: { type: "string" } },
    retry_after_seconds: { type: "integer" },
    region: { type: "string", description: "The region that answers this key." },
    ai_policy_version: { type: "integer" },
    cert_id: { type: "string" },
    errors: {
      type: "array",
      items: {
        type: "object",
        properties: { code: { type: "string" }, pointer: { type: "string" }, detail: { type: "string" } },
        required: ["code", "pointer", "detail"],
      },
    },
  },
};
