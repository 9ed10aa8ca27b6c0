// The retrieval surface (specification, «A. Retrieval API»), which also serves the public verification reads.
// Also the key directory's listing, entitlement, events and terms of the AI company that asks.

import type { FastifyInstance, FastifyRequest } from "fastify";
import { collections } from "../../collections/collections.ts";
import { searchRequestSchema } from "../../collections/search-schema.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { requestBytesMax, searchRowsMax } from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { entitlementAnswer } from "../../protocol/wire/entitlement.ts";
import { listingAnswer, listingBody } from "../../protocol/wire/published.ts";
import { recordId } from "../../protocol/wire/push.ts";
import {
  companyEvents,
  eventCursor,
  eventsPageMax,
  eventsPageUsual,
  fetchedRecord,
  searchAnswer,
} from "../../protocol/wire/retrieval.ts";
import { agreementAnswer, agreementBody, termsAnswer, termsVersion } from "../../protocol/wire/terms.ts";
import type { ReadImage } from "../../service/ads/image-read.ts";
import type { AcceptedCallers, AuthenticationDeps } from "../../service/authentication/authenticate.ts";
import type { AgreeToTerms, ReadEntitlement, ReadTerms } from "../../service/register/terms.ts";
import type { ReadCompanyEvents } from "../../service/retrieval/company-events.ts";
import type { FetchRecord } from "../../service/retrieval/fetch.ts";
import type { ReadOwnReceipts, ReadUsage } from "../../service/retrieval/own-receipts.ts";
import type { Search } from "../../service/retrieval/search.ts";
import type { ChooseListing } from "../../service/verification/key-directory.ts";
import { buildServer, type HttpDeps } from "../http-server.ts";
import { prefersLines } from "../request-parts.ts";
import { type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { type SignedCall, signedHandler } from "../signed.ts";
import { readImageRoute } from "./ad-image-routes.ts";
import { type AdRoutesServices, adRoutes } from "./ad-routes.ts";
import { type AllowanceReads, allowanceRoutes, companyRoutes } from "./company-routes.ts";

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

/** The retrieval surface (specification, «A. Retrieval API»). */
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

// How an AI company chooses to be in the key directory.

export interface ListingRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly chooseListing: ChooseListing;
}

const listingDoc: RouteDoc = {
  summary: "Choose whether the key directory lists your company",
  description:
    "Nobody is listed who did not choose so. `GET /.well-known/svc-keys` on the verification host then lists your company with all of its keys, while its certificate is active; it may be cached for five minutes. Any key of the company may choose; sent again, it changes nothing. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: listingBody,
  answers: { 200: { description: "What is chosen now", body: listingAnswer, headers: ["Cache-Control"] } },
  problems: ["request_invalid", "region_misdirected", "request_timeout", "media_type_unsupported"],
};

function listingRoute(deps: ListingRouteDeps, accepted: AcceptedCallers): Route {
  return {
    method: "POST",
    path: "/v1/key-directory/listing",
    tags: ["svc-retrieval"],
    doc: listingDoc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: ({ authenticated, body }) => deps.chooseListing({ caller: authenticated.caller, body }),
    }),
  };
}

// The entitlement of the AI company that asks.

export interface EntitlementRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly entitlement: ReadEntitlement;
}

const entitlementDoc: RouteDoc = {
  summary: "Your company's entitlement",
  description:
    "A signed statement for others: who your company is, by which keys it asks, and which terms it agreed to, valid for 24 hours at most. Anyone checks it offline, or with `POST /v1/verify`. Where terms are in force, your company must have agreed to their exact text (`terms_not_agreed`), and its certificate must be active (`business_not_verified`). It is not billed and has no receipt.",
  parameters: [sandboxKey],
  answers: {
    200: { description: "The entitlement", body: entitlementAnswer, headers: ["Cache-Control"] },
  },
  problems: ["request_invalid", "terms_not_agreed", "business_not_verified", "region_misdirected"],
};

function entitlementRoute(deps: EntitlementRouteDeps, accepted: AcceptedCallers): Route {
  return {
    method: "GET",
    path: "/v1/entitlement",
    tags: ["svc-retrieval"],
    doc: entitlementDoc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted,
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: [],
      claimsMeanwhile: false,
      answer: ({ authenticated }) => deps.entitlement({ caller: authenticated.caller }),
    }),
  };
}

// The event stream of an AI company.

export interface EventsRouteDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly authorities: readonly string[];
  readonly events: ReadCompanyEvents;
}

const eventsDoc: RouteDoc = {
  summary: "What was answered to your company, one event after another",
  description:
    "One event for every search and fetch that this region answered, with the `client_query_id` that it was sent with, about two minutes after the answer and for 30 days. Read on from the `cursor` of the last event that you have processed: none is missed, and one that comes twice has the same `event_id`. With `Accept: application/x-ndjson` every line is an event. Reading is not billed and has no receipt.",
  parameters: [
    {
      name: "after",
      in: "query",
      schema: eventCursor.schema,
      description:
        "The cursor of the last event that was processed; without it, the oldest events come first.",
    },
    {
      name: "limit",
      in: "query",
      description: `The most events to answer; ${eventsPageUsual} by default.`,
      schema: { type: "integer", minimum: 1, maximum: eventsPageMax },
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The events after the cursor, in the order in which they were stored",
      body: companyEvents,
      headers: ["Cache-Control", "Vary"],
    },
  },
  lines: [200],
  problems: ["request_invalid", "region_misdirected"],
};

function eventsRoute(deps: EventsRouteDeps): Route {
  return {
    method: "GET",
    path: "/v1/events",
    tags: ["svc-retrieval"],
    doc: eventsDoc,
    handle: signedHandler({
      authentication: deps.authentication,
      accepted: {
        authorities: deps.authorities,
        tags: ["svc-retrieval"],
        roles: ["retrieval"],
        bearer: true,
      },
      limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
      queryNames: ["after", "limit"],
      claimsMeanwhile: false,
      answer: ({ authenticated, query, request }) =>
        deps.events({
          caller: authenticated.caller,
          ...query,
          format: prefersLines(request.headers.accept ?? "") ? "lines" : "json",
        }),
    }),
  };
}

// The terms of AI companies, and agreeing to them.

export interface TermsRoutesDeps {
  readonly http: HttpDeps;
  readonly authentication: AuthenticationDeps;
  readonly terms: ReadTerms;
  readonly agreeToTerms: AgreeToTerms;
}

const readDoc: RouteDoc = {
  summary: "The terms of AI companies",
  description:
    "The version that is in force now, or the one that you name: every version stays readable, with the hash of its exact text. Those that come into force later are listed too. `agreed` says whether your company agreed to the version of the answer. Reading is not billed and has no receipt.",
  parameters: [
    {
      name: "version",
      in: "query",
      schema: termsVersion.schema,
      description: "The number of a version; without it, the one in force now.",
    },
    sandboxKey,
  ],
  answers: {
    200: {
      description: "The version, and all that are published",
      body: termsAnswer,
      headers: ["Cache-Control"],
    },
  },
  problems: ["request_invalid", "not_found", "region_misdirected"],
};

const agreeDoc: RouteDoc = {
  summary: "Agree to a version of the terms",
  description:
    "Your company agrees to the exact text of a version: the one in force, or one that comes into force later. Any key of the company may; which key did, and by which signed request, is recorded. Sent again, it changes nothing and gets the first answer, with the instant of the agreement. Other text than the published is refused with `terms_mismatch`, and a version that a later one in force has replaced with `terms_superseded`. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: agreementBody,
  answers: {
    200: { description: "The agreement", body: agreementAnswer, headers: ["Cache-Control"] },
  },
  problems: [
    ...(["request_invalid", "not_found", "terms_mismatch", "terms_superseded"] as const),
    ...(["region_misdirected", "request_timeout", "media_type_unsupported"] as const),
  ],
};

function termsRoutes(deps: TermsRoutesDeps, accepted: AcceptedCallers): readonly Route[] {
  const common = {
    authentication: deps.authentication,
    accepted,
    claimsMeanwhile: false,
    limits: { bytesMax: requestBytesMax, edge: deps.http.edge },
  };
  return [
    {
      method: "GET",
      path: "/v1/terms",
      tags: ["svc-retrieval"],
      doc: readDoc,
      handle: signedHandler({
        ...common,
        queryNames: ["version"],
        answer: ({ authenticated, query }) =>
          deps.terms({ caller: authenticated.caller, version: query.version }),
      }),
    },
    {
      method: "POST",
      path: "/v1/terms/agreements",
      tags: ["svc-retrieval"],
      doc: agreeDoc,
      handle: signedHandler({
        ...common,
        queryNames: [],
        answer: ({ authenticated, body }) => deps.agreeToTerms({ caller: authenticated.caller, body }),
      }),
    },
  ];
}
