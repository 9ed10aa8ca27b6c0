// The retrieval surface (specification, «A. Retrieval API»), which also serves the public verification reads.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { collections } from "../collections/collections.ts";
import { searchRequestSchema } from "../collections/search-schema.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { requestBytesMax, searchRowsMax } from "../protocol/limits.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import { recordId } from "../protocol/wire/push.ts";
import { fetchedRecord, searchAnswer } from "../protocol/wire/retrieval.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../service/authenticate.ts";
import type { ReadCompanyEvents } from "../service/company-events.ts";
import type { ReadEntitlement } from "../service/entitlement.ts";
import type { FetchRecord } from "../service/fetch.ts";
import type { ReadImage } from "../service/image-read.ts";
import type { ChooseListing } from "../service/key-directory.ts";
import type { ReadOwnReceipts } from "../service/own-receipts.ts";
import type { Search } from "../service/search.ts";
import type { AgreeToTerms, ReadTerms } from "../service/terms.ts";
import type { ReadUsage } from "../service/usage.ts";
import { readImageRoute } from "./ad-image-routes.ts";
import { type AdRoutesServices, adRoutes } from "./ad-routes.ts";
import { type AllowanceReads, allowanceRoutes } from "./allowance-routes.ts";
import { companyRoutes } from "./company-routes.ts";
import { entitlementRoute } from "./entitlement-route.ts";
import { eventsRoute } from "./events-route.ts";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { listingRoute } from "./listing-route.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { type SignedCall, signedHandler } from "./signed.ts";
import { termsRoutes } from "./terms-route.ts";

export interface RetrievalDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  /** The `@authority` values of this surface: host[:port], lower case, without a default port. */
  readonly authorities: readonly string[];
  readonly baseUrl: string;
  readonly search: Search;
  readonly fetch: FetchRecord;
  readonly events: ReadCompanyEvents;
  readonly chooseListing: ChooseListing;
  readonly terms: ReadTerms;
  readonly agreeToTerms: AgreeToTerms;
  readonly entitlement: ReadEntitlement;
  readonly receipts: ReadOwnReceipts;
  readonly usage: ReadUsage;
  readonly allowance: AllowanceReads;
  readonly readImage: ReadImage;
  readonly ads: AdRoutesServices;
  /** The routes of `verificationRoutes`, served here as well. */
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
    eventsRoute(deps),
    listingRoute(deps, accepted(deps)),
    ...termsRoutes(deps, accepted(deps)),
    entitlementRoute(deps, accepted(deps)),
    ...companyRoutes(deps, accepted(deps)),
    ...allowanceRoutes(deps, accepted(deps)),
    readImageRoute(deps.readImage),
    ...adRoutes(deps, accepted(deps)),
    ...(deps.sandbox ?? []),
    ...deps.verification,
  ];
  return buildServer(deps.http, { name: "retrieval", info, routes, isPublic: false });
}

function accepted(deps: RetrievalDeps): AcceptedCallers {
  return { authorities: deps.authorities, tags: ["svc-retrieval"], roles: ["retrieval"], bearer: true };
}

function signed(deps: RetrievalDeps, answer: (call: SignedCall) => ReturnType<Search>): Route["handle"] {
  const limits = { bytesMax: requestBytesMax, edge: deps.http.edge };
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
  "allowance_exhausted",
  "region_misdirected",
  "sort_required",
  "unknown_field",
  "operator_not_allowed",
  "sort_not_allowed",
  "record_too_large",
  "request_timeout",
  "media_type_unsupported",
];

function searchDoc(collection: CollectionName | null): RouteDoc {
  return {
    summary: collection === null ? "Search one collection" : `Search ${collections[collection].title}`,
    description: `At most ${searchRowsMax} rows, in the order asked for; there is no second page.`,
    parameters: [sandboxKey],
    body: { schema: searchRequestSchema(collection) },
    answers: {
      200: { description: "Rows and their receipt", body: searchAnswer, headers: ["Cache-Control"] },
    },
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

const fetchDoc: RouteDoc = {
  summary: "Fetch one record",
  description:
    "The record exactly as it was sealed. Records that never existed, that were withdrawn or that are not served to the caller get the same 404.",
  parameters: [
    {
      name: "record_id",
      in: "path",
      description: "Record id.",
      schema: recordId.schema,
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The record with its seal, sidecar, AI policy, provenance and receipt",
      body: fetchedRecord,
      headers: ["Cache-Control"],
    },
  },
  problems: [
    ...(["request_invalid", "allowance_exhausted", "not_found", "region_misdirected"] as const),
    ...(["record_too_large", "request_timeout"] as const),
  ],
};

function pathParameter(request: FastifyRequest, name: string): string {
  const value = (request.params as Readonly<Record<string, unknown>>)[name];
  return typeof value === "string" ? value : "";
}
