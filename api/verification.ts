// The public verification surface (specification, «C. Public verification API»): its routes, served on the verification
// host and on the retrieval host alike. No account, any origin, never credentials.

import type { FastifyInstance, FastifyRequest } from "fastify";
import type { JsonObject, JsonValue } from "../protocol/canonical-json.ts";
import { problem } from "../protocol/problem.ts";
import { vocabularyNames } from "../protocol/records/vocabularies/vocabulary-document.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import { type Outcome, refused } from "../service/answer.ts";
import type { PageFormat } from "../service/certificate-read.ts";
import type { RequestRate } from "../service/request-rate.ts";
import { addressBlock } from "../service/source-address.ts";
import type { Verification } from "../service/verification.ts";
import type { Verify } from "../service/verify.ts";
import type { VerifyPage } from "../service/verify-page.ts";
import { prefersHtml } from "./accept.ts";
import { type BodyLimits, closeUnread, leaveBodyUnread, readBody } from "./body.ts";
import type { Edge } from "./edge.ts";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { bodyValidator } from "./json-schema.ts";
import { send } from "./reply.ts";
import { isRefused, parseQuery, type Query, sourceOfRequest } from "./request-parts.ts";
import type { Parameter, Route, RouteDoc } from "./route.ts";
import { hashSchema } from "./schemas.ts";
import { verifyAnswerDocument, verifyMembers, verifyRequestDocument } from "./verify-schema.ts";

/** A record of 204,800 characters, its seal, sidecar and row. */
const verifyBytesMax = 286_720;
/** Several times what the largest evidence holds: a row, a proof, a sidecar. */
const verifyValuesMax = 4_096;

export interface VerificationRoutesDeps {
  readonly verification: Verification;
  readonly verify: Verify;
  readonly verifyPage: VerifyPage;
  readonly edge: Edge;
  /** Bounds for what one address makes the node do here. */
  readonly addressRates: AddressRates;
}

/** Null for no limit. */
export interface AddressRates {
  /** Reads that look something up or sign something; whatever is the same for everybody is not counted. */
  readonly reads: RequestRate | null;
  readonly verifications: RequestRate | null;
}

export interface VerificationDeps {
  readonly http: HttpDeps;
  readonly routes: readonly Route[];
  readonly verifyUrl: string;
}

export function buildVerification(deps: VerificationDeps): FastifyInstance {
  const info = {
    title: "Public verification API",
    description:
      "What anyone can check without an account. Trust comes from pinned anchors, never from this host.",
    servers: [deps.verifyUrl],
  };
  return buildServer(deps.http, { name: "verification", info, routes: deps.routes, isPublic: true });
}

export function verificationRoutes(deps: VerificationRoutesDeps): readonly Route[] {
  const { verification } = deps;
  const at = (path: string, doc: RouteDoc, answer: Read<never>): Route => read(path, doc, [], answer);
  const looked = <N extends string>(answer: Read<N>): Read<N> => boundedRead(deps, answer);
  return [
    read(
      "/v1/certificates/:uuid",
      certificateDoc,
      ["format"],
      looked((request, query) => {
        const format = pageFormat(request, query.format);
        return typeof format === "string"
          ? verification.certificate(parameter(request, "uuid"), format)
          : format;
      }),
    ),
    at(
      "/v1/certificates/:uuid/keys",
      keysDoc,
      looked((request) => verification.businessKeys(parameter(request, "uuid"))),
    ),
    at(
      "/v1/certificates/:uuid/key-custody",
      custodyDoc,
      looked((request) => verification.keyCustody(parameter(request, "uuid"))),
    ),
    at("/.well-known/keys", keySetDoc, () => verification.keySet()),
    at(
      "/.well-known/svc-keys",
      directoryDoc,
      looked(() => verification.keyDirectory()),
    ),
    at("/v1/projections/:type/:version", projectionDoc, (request) =>
      verification.projection(parameter(request, "type"), parameter(request, "version")),
    ),
    at("/v1/ai-policy-key", policyKeyDoc, () => verification.aiPolicyKey()),
    read("/v1/vocabularies/:name", vocabularyDoc, ["version"], (request, { version }) =>
      verification.vocabulary({
        name: parameter(request, "name"),
        version,
        ifNoneMatch: request.headers["if-none-match"] ?? null,
      }),
    ),
    at("/v1/log/checkpoint", checkpointDoc, () => verification.checkpoint()),
    read(
      "/v1/verify/:record_id",
      verifyPageDoc,
      ["origin", "cert", "served_at", "format"],
      looked((request, query) => readVerifyPage(deps.verifyPage, request, query)),
    ),
    verifyRoute(deps),
  ];
}

/** See {@link AddressRates}. Who comes from nowhere that is known is one of many. */
function boundedRead<N extends string>(
  { addressRates: { reads }, edge }: VerificationRoutesDeps,
  answer: Read<N>,
): Read<N> {
  return (request, query) => {
    const source = reads === null ? null : sourceOfRequest(request, edge);
    const limited = source === null ? null : (reads?.take(addressBlock(source)) ?? null);
    return limited ?? answer(request, query);
  };
}

type Read<N extends string> = (request: FastifyRequest, query: Query<N>) => Promise<Outcome> | Outcome;

/** A public read with the query parameters `names`; any other is refused. */
function read<N extends string>(path: string, doc: RouteDoc, names: readonly N[], answer: Read<N>): Route {
  return {
    ...{ method: "GET", path, tags: [], isPublic: true, doc },
    handle: async (request, reply) => {
      const query = parseQuery(request.raw.url ?? "", names);
      return send(reply, isRefused(query) ? query : await answer(request, query));
    },
  };
}

function parameter(request: FastifyRequest, name: string): string {
  const value = (request.params as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : "";
}

/** `?format=` wins over Accept. */
function pageFormat(request: FastifyRequest, format: string | null): PageFormat | Outcome {
  if (format === "html" || format === "json") return format;
  if (format !== null) {
    return refused(
      problem("request_invalid", "format is html or json.", {
        pointer: "/query/format",
        allowed: ["html", "json"],
      }),
    );
  }
  return prefersHtml(request.headers.accept ?? "") ? "html" : "json";
}

function readVerifyPage(
  verifyPage: VerifyPage,
  request: FastifyRequest,
  query: Query<"origin" | "cert" | "served_at" | "format">,
): Promise<Outcome> | Outcome {
  const format = pageFormat(request, query.format);
  if (typeof format !== "string") return format;
  const { origin, cert, served_at: servedAt } = query;
  return verifyPage({ recordId: parameter(request, "record_id"), origin, cert, servedAt, format });
}

function verifyRoute(deps: VerificationRoutesDeps): Route {
  const { edge, addressRates } = deps;
  const limits: BodyLimits = { bytesMax: verifyBytesMax, edge };
  const faultOf = bodyValidator(verifyRequestDocument, verifyMembers);
  const answerVerify = async (request: FastifyRequest, bytes: Uint8Array): Promise<Outcome> => {
    const json = parseStrictJson(bytes, { valuesMax: verifyValuesMax });
    if (!json.ok) {
      const detail = `The body is not strict JSON: ${json.detail}`;
      return refused(problem("request_invalid", detail, { pointer: json.pointer ?? "" }));
    }
    const query = parseQuery(request.raw.url ?? "", []);
    if (isRefused(query)) return query;
    const fault = faultOf(json.value as JsonValue);
    return fault === null ? deps.verify(json.value as JsonObject) : refused(fault);
  };
  return {
    method: "POST",
    path: "/v1/verify",
    tags: [],
    isPublic: true,
    doc: verifyDoc,
    handle: async (request, reply) => {
      const source = sourceOfRequest(request, edge);
      const caller = source === null ? "" : addressBlock(source);
      const limited = source === null ? null : (addressRates.verifications?.take(caller) ?? null);
      if (limited !== null) {
        leaveBodyUnread(request, reply);
        return send(reply, limited);
      }
      const body = await readBody(request.raw, limits, caller);
      if (!body.ok) {
        closeUnread(request, reply);
        return send(reply, refused(body.problem));
      }
      try {
        return send(reply, await answerVerify(request, body.bytes));
      } finally {
        body.release();
      }
    },
  };
}
const uuidParameter: Parameter = {
  name: "uuid",
  in: "path",
  description: "UUID of the party.",
  schema: { type: "string", format: "uuid" },
};
const formatParameter: Parameter = {
  name: "format",
  in: "query",
  description: "Wins over Accept.",
  schema: { enum: ["html", "json"] },
};

const certificateDoc: RouteDoc = {
  summary: "Certificate of a business or an AI company, with its history",
  description: "HTML with `Accept: text/html` or `?format=html`.",
  parameters: [uuidParameter, formatParameter],
  answers: {
    200: {
      description:
        "`{subject, status, status_effective_from, statement, cert_id, issued_at, certificate, history[]}`; history newest first, each with `{cert_id, issued_at, status, status_effective_from, certificate}`",
    },
  },
  problems: ["not_found", "request_invalid"],
};
const keysDoc: RouteDoc = {
  summary: "Published keys of a business",
  parameters: [uuidParameter],
  answers: { 200: { description: "`{uuid, cert_id, issued_at, keys[], signed}`; only `signed` is trusted" } },
  problems: ["not_found"],
};
const custodyDoc: RouteDoc = {
  summary: "Who holds the keys of a business",
  parameters: [uuidParameter],
  answers: { 200: { description: "`{uuid, statements[]}`, newest first; only `statement` counts" } },
  problems: ["not_found"],
};
const keySetDoc: RouteDoc = {
  summary: "Signed key set of the service",
  answers: { 200: { description: "`{keys, signed}`; only the signed payload is trusted" } },
};
const directoryDoc: RouteDoc = {
  summary: "Key directory of AI companies that chose to be listed",
  answers: { 200: { description: "`{v, issued_at, companies[], statement}`" } },
};
const projectionDoc: RouteDoc = {
  summary: "Projection specification",
  parameters: [
    {
      name: "type",
      in: "path",
      description: "Record type.",
      schema: { type: "string", pattern: "^[a-z_]{1,32}$" },
    },
    {
      name: "version",
      in: "path",
      description: "Version.",
      schema: { type: "string", pattern: "^[1-9][0-9]{0,5}$" },
    },
  ],
  answers: {
    200: {
      description:
        "`{version, spec_version, sha256, record_type, field_map, rules, unsigned_fields, serve_time_fields, definition}`",
    },
  },
  problems: ["not_found"],
};
const policyKeyDoc: RouteDoc = {
  summary: "What the bits of AI policies mean",
  answers: { 200: { description: "`{key_version, current_ai_policy_schema, rule, groups, blocked[]}`" } },
};
const vocabularyDoc: RouteDoc = {
  summary: "Controlled vocabulary",
  parameters: [
    { name: "name", in: "path", description: "Vocabulary.", schema: { enum: [...vocabularyNames] } },
    {
      name: "version",
      in: "query",
      description: "The latest when left out.",
      schema: { type: "integer", minimum: 1 },
    },
    {
      name: "If-None-Match",
      in: "header",
      description: "ETags that the caller holds: 304 when one of them is current.",
      schema: { type: "string" },
    },
  ],
  answers: {
    200: { description: "The vocabulary; its ETag serves conditional requests" },
    304: { description: "Not changed" },
  },
  problems: ["not_found", "request_invalid"],
};
const checkpointDoc: RouteDoc = {
  summary: "Latest checkpoint of the transparency log",
  answers: { 200: { description: "Signed note", mediaType: "text/plain" } },
  problems: ["not_found"],
};
const verifyPageDoc: RouteDoc = {
  summary: "Whether a business published these exact bytes under this id",
  parameters: [
    { name: "record_id", in: "path", description: "Record id.", schema: { type: "string" } },
    {
      name: "origin",
      in: "query",
      required: true,
      description: "Hash of the record's exact bytes.",
      schema: hashSchema,
    },
    { name: "cert", in: "query", description: "The certificate that the seal names.", schema: hashSchema },
    {
      name: "served_at",
      in: "query",
      description: "When it was served.",
      schema: { type: "string", format: "date-time" },
    },
    formatParameter,
  ],
  answers: {
    200: {
      description:
        "`status` is current, superseded or withdrawn; `version` is the one of `served_at`, else the newest with these bytes; `checks.cert` matches, differs or not_given; `checks.served_at` within, outside, unknown or not_given; `statement` is signed",
    },
  },
  problems: ["not_found", "request_invalid"],
};
const verifyDoc: RouteDoc = {
  summary: "Verify a record that you hold",
  description: "A failed check is an answer with `valid: false` and a `reason`.",
  body: verifyRequestDocument,
  answers: { 200: { description: "Findings and their signed statement", schema: verifyAnswerDocument } },
  problems: ["request_invalid", "record_too_large", "request_timeout", "not_offered", "rate_limited"],
};
