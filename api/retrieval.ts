// The retrieval surface (specification, «A. Retrieval API»), with the public verification reads on it as well.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { collections } from "../collections/collections.ts";
import { searchRequestSchema } from "../collections/search-schema.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { FetchRecord } from "../service/fetch.ts";
import type { Search } from "../service/search.ts";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { notOfferedRoute } from "./not-offered.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { envelopeSchema, recordSealSchema } from "./schemas.ts";
import { type SignedCall, signedHandler } from "./signed.ts";

/** Specification, «Limits». */
const bodyBytesMax = 16_384;

export interface RetrievalDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  /** `@authority` values of this surface: host[:port], lower case, without a default port. */
  readonly authorities: readonly string[];
  readonly baseUrl: string;
  readonly search: Search;
  readonly fetch: FetchRecord;
  /** Of `verificationRoutes`: served here too. */
  readonly verification: readonly Route[];
  /** Routes that only the sandbox has. */
  readonly sandbox?: readonly Route[];
}

export function buildRetrieval(deps: RetrievalDeps): FastifyInstance {
  const info = {
    title: "Retrieval API",
    description:
      "Search and fetch of sealed records. The `record` member of a fetched record is the exact sealed text: the hash covers every character between its colon and the comma that follows.",
    servers: [deps.baseUrl],
  };
  const routes = [
    ...searchRoutes(deps),
    fetchRoute(deps),
    ...notOffered,
    ...(deps.sandbox ?? []),
    ...deps.verification,
  ];
  return buildServer(deps.http, { name: "retrieval", info, routes, isPublic: false });
}

function accepted(deps: RetrievalDeps): AcceptedCallers {
  return { authorities: deps.authorities, tags: ["svc-retrieval"], roles: ["retrieval"], bearer: true };
}

function signed(deps: RetrievalDeps, answer: (call: SignedCall) => ReturnType<Search>): Route["handle"] {
  const limits = { bytesMax: bodyBytesMax, edge: deps.http.edge };
  return signedHandler({
    authentication: deps.authentication,
    accepted: accepted(deps),
    limits,
    queryNames: [],
    claimsMeanwhile: true,
    answer,
  });
}

function searchRoutes(deps: RetrievalDeps): readonly Route[] {
  const addresses: readonly (readonly [string, CollectionName | null])[] = [
    ["/v1/search", null],
    ...collectionNames.map((name) => [`/v1/${collections[name].path}/search`, name] as const),
  ];
  return addresses.map(([path, collection]) => ({
    method: "POST",
    path,
    tags: ["svc-retrieval"],
    doc: searchDoc(collection),
    handle: signed(deps, ({ authenticated, body }) => deps.search({ authenticated, body, collection })),
  }));
}

const searchProblems: readonly ProblemCode[] = [
  "request_invalid",
  "region_misdirected",
  "sort_required",
  "unknown_field",
  "operator_not_allowed",
  "sort_not_allowed",
  "record_too_large",
  "request_timeout",
  "media_type_unsupported",
];

const searchAnswer: JsonObject = {
  type: "object",
  required: ["retrieval_id", "collection", "country", "rows", "receipt"],
  properties: {
    retrieval_id: { type: "string" },
    collection: { enum: [...collectionNames] },
    country: { type: "string", pattern: "^[A-Z]{2}$" },
    rows: {
      type: "array",
      maxItems: 50,
      items: { type: "object", description: "A signed search row with its serve-time members." },
    },
    receipt: envelopeSchema,
  },
};

function searchDoc(collection: CollectionName | null): RouteDoc {
  return {
    summary: collection === null ? "Search one collection" : `Search ${collections[collection].title}`,
    description: "At most 50 rows, in the order asked for; there is no second page.",
    parameters: [sandboxKey],
    body: searchRequestSchema(collection),
    answers: { 200: { description: "Rows and their receipt", schema: searchAnswer } },
    problems: searchProblems,
  };
}

function fetchRoute(deps: RetrievalDeps): Route {
  return {
    method: "GET",
    path: "/v1/records/:record_id",
    tags: ["svc-retrieval"],
    doc: fetchDoc,
    handle: signed(deps, ({ authenticated, request, arrivedAtMs }) =>
      deps.fetch({
        authenticated,
        recordId: pathParameter(request, "record_id"),
        arrivedAtMs,
        isDelivered: request.method !== "HEAD",
      }),
    ),
  };
}

const text: JsonObject = { type: "string" };

const fetchDoc: RouteDoc = {
  summary: "Fetch one record",
  description:
    "The record exactly as it was sealed. Records that never existed, that were withdrawn or that are not served to the caller get the same 404.",
  parameters: [
    {
      name: "record_id",
      in: "path",
      description: "Record id.",
      schema: { type: "string", pattern: "^(svc|bf|evt|job|upd|ad|aip)_[a-z2-7]{26}$" },
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The record with its seal, sidecar, AI policy, provenance and receipt",
      schema: {
        type: "object",
        required: [
          "record_id",
          "business_uuid",
          "type",
          "published_at",
          "record",
          "seal",
          "sidecar",
          "ai_policy",
          "provenance",
          "receipt",
        ],
        properties: {
          record_id: text,
          business_uuid: { type: "string", format: "uuid" },
          type: { enum: [...collectionNames] },
          published_at: { type: "string", format: "date-time" },
          record: {
            type: "object",
            description:
              "The sealed record. The seal's hash covers its exact text, from the colon to the comma that follows.",
          },
          seal: recordSealSchema,
          sidecar: envelopeSchema,
          ai_policy: {
            type: "object",
            required: ["version", "record", "seal"],
            properties: {
              version: {
                type: "integer",
                minimum: 0,
                description: "0 while no AI policy has been sealed; record and seal are then null.",
              },
              record: { type: ["object", "null"] },
              seal: { type: ["object", "null"] },
            },
          },
          provenance: {
            type: "object",
            required: ["certificate_url", "projection_version", "log_leaf", "source_line"],
            properties: {
              certificate_url: { type: "string", format: "uri" },
              projection_version: text,
              log_leaf: {
                type: ["object", "null"],
                description: "Null while the seal's leaf is in no transparency log.",
              },
              source_line: text,
            },
          },
          receipt: envelopeSchema,
          represent_us: {
            type: "object",
            description: "Business files: the five texts that say how to represent the business.",
          },
          endpoints: {
            type: "object",
            description:
              "Business files: the authorised addresses. If the status is `suspended`, use none of them.",
            properties: { status: { enum: ["authorised", "suspended"] }, items: { type: "array" } },
          },
        },
      },
    },
  },
  problems: ["request_invalid", "not_found", "region_misdirected", "record_too_large", "request_timeout"],
};

function pathParameter(request: FastifyRequest, name: string): string {
  const value = (request.params as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : "";
}

const notOffered: readonly Route[] = [
  notOfferedRoute("POST", "/v1/ads/pool", "Ads"),
  notOfferedRoute("POST", "/v1/ads/render", "Ads"),
  notOfferedRoute("POST", "/v1/ads/click", "Ads"),
  notOfferedRoute("GET", "/v1/receipts", "The receipts read"),
  notOfferedRoute("GET", "/v1/terms", "The terms read"),
  notOfferedRoute("GET", "/v1/usage", "The usage read"),
];
