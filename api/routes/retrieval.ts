// The retrieval surface (specification, «A. Retrieval API»), which also serves the public verification reads.
// Also the key directory's listing, entitlement, events and terms of the AI company that asks.

import type { FastifyInstance } from "fastify";
import { collections } from "../../collections/collections.ts";
import { searchRequestSchema } from "../../collections/search-schema.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import { searchRowsMax } from "../../protocol/limits.ts";
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
import type { AgreeToTerms, ReadEntitlement, ReadTerms } from "../../service/register/terms.ts";
import type { ReadCompanyEvents } from "../../service/retrieval/company-events.ts";
import type { FetchRecord } from "../../service/retrieval/fetch.ts";
import type { ReadOwnReceipts, ReadUsage } from "../../service/retrieval/own-receipts.ts";
import type { Search } from "../../service/retrieval/search.ts";
import type { ChooseListing } from "../../service/verification/key-directory.ts";
import { buildServer, type HttpDeps } from "../http-server.ts";
import { parameter } from "../public-read.ts";
import { prefersLines } from "../request-parts.ts";
import { answeredWith, inPath, inQuery, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { type Callers, companyRoute } from "../signed.ts";
import { readImageRoute } from "./ad-image-routes.ts";
import { type AdRoutesServices, adRoutes } from "./ad-routes.ts";
import { type AllowanceReads, allowanceRoutes, companyRoutes } from "./company-routes.ts";

export interface RetrievalDeps extends Callers {
  readonly http: HttpDeps;
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
    ...accountRoutes(deps),
    ...companyRoutes(deps, deps),
    ...allowanceRoutes(deps, deps.allowance),
    readImageRoute(deps.readImage),
    ...adRoutes(deps, deps.ads),
    ...(deps.sandbox ?? []),
    ...deps.verification,
  ];
  return buildServer(deps.http, { name: "retrieval", info, routes, isPublic: false });
}

/** The search of each collection and of one that the request names, and the fetch. */
function searchRoutes(deps: RetrievalDeps): readonly Route[] {
  const addresses: readonly (readonly [string, CollectionName | null])[] = [
    ["/v1/search", null],
    ...collectionNames.map((name) => [`/v1/${collections[name].path}/search`, name] as const),
  ];
  const searches = addresses.map(([path, collection]) =>
    companyRoute(deps, "POST", path, searchDoc(collection), {
      claimsMeanwhile: true,
      answer: ({ authenticated, body }) => deps.search({ authenticated, body, collection }),
    }),
  );
  const fetch = companyRoute(deps, "GET", "/v1/records/:record_id", fetchDoc, {
    claimsMeanwhile: true,
    answer: ({ authenticated, request, arrivedAtMs }) =>
      deps.fetch({
        authenticated,
        recordId: parameter(request, "record_id"),
        arrivedAtMs,
        isDelivered: request.method !== "HEAD",
      }),
  });
  return [...searches, fetch];
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
    answers: answeredWith("Rows and their receipt", searchAnswer, ["Cache-Control"]),
    problems: searchProblems,
  };
}

const fetchDoc: RouteDoc = {
  summary: "Fetch one record",
  description:
    "The record exactly as it was sealed. Records that never existed, that were withdrawn or that are not served to the caller get the same 404.",
  parameters: [inPath("record_id", "Record id.", recordId.schema), sandboxKey],
  answers: answeredWith(
    "The record with its seal, sidecar, AI policy, provenance and receipt",
    fetchedRecord,
    ["Cache-Control"],
  ),
  problems: [
    ...(["request_invalid", "allowance_exhausted", "not_found", "region_misdirected"] as const),
    ...(["record_too_large", "request_timeout"] as const),
  ],
};

// What an AI company reads and chooses of its own: the events, its listing in the key directory, the terms, its entitlement.

const listingDoc: RouteDoc = {
  summary: "Choose whether the key directory lists your company",
  description:
    "Nobody is listed who did not choose so. `GET /.well-known/svc-keys` on the verification host then lists your company with all of its keys, while its certificate is active; it may be cached for five minutes. Any key of the company may choose; sent again, it changes nothing. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: listingBody,
  answers: answeredWith("What is chosen now", listingAnswer, ["Cache-Control"]),
  problems: ["request_invalid", "region_misdirected", "request_timeout", "media_type_unsupported"],
};

const entitlementDoc: RouteDoc = {
  summary: "Your company's entitlement",
  description:
    "A signed statement for others: who your company is, by which keys it asks, and which terms it agreed to, valid for 24 hours at most. Anyone checks it offline, or with `POST /v1/verify`. Where terms are in force, your company must have agreed to their exact text (`terms_not_agreed`), and its certificate must be active (`business_not_verified`). It is not billed and has no receipt.",
  parameters: [sandboxKey],
  answers: answeredWith("The entitlement", entitlementAnswer, ["Cache-Control"]),
  problems: ["request_invalid", "terms_not_agreed", "business_not_verified", "region_misdirected"],
};

const eventsDoc: RouteDoc = {
  summary: "What was answered to your company, one event after another",
  description:
    "One event for every search and fetch that this region answered, with the `client_query_id` that it was sent with, about two minutes after the answer and for 30 days. Read on from the `cursor` of the last event that you have processed: none is missed, and one that comes twice has the same `event_id`. With `Accept: application/x-ndjson` every line is an event. Reading is not billed and has no receipt.",
  parameters: [
    inQuery(
      "after",
      "The cursor of the last event that was processed; without it, the oldest events come first.",
      eventCursor.schema,
    ),
    inQuery("limit", `The most events to answer; ${eventsPageUsual} by default.`, {
      type: "integer",
      minimum: 1,
      maximum: eventsPageMax,
    }),
    sandboxKey,
  ],
  answers: answeredWith(
    "The events after the cursor, in the order in which they were stored",
    companyEvents,
    ["Cache-Control", "Vary"],
  ),
  lines: [200],
  problems: ["request_invalid", "region_misdirected"],
};

const termsDoc: RouteDoc = {
  summary: "The terms of AI companies",
  description:
    "The version that is in force now, or the one that you name: every version stays readable, with the hash of its exact text. Those that come into force later are listed too. `agreed` says whether your company agreed to the version of the answer. Reading is not billed and has no receipt.",
  parameters: [
    inQuery("version", "The number of a version; without it, the one in force now.", termsVersion.schema),
    sandboxKey,
  ],
  answers: answeredWith("The version, and all that are published", termsAnswer, ["Cache-Control"]),
  problems: ["request_invalid", "not_found", "region_misdirected"],
};

const agreeDoc: RouteDoc = {
  summary: "Agree to a version of the terms",
  description:
    "Your company agrees to the exact text of a version: the one in force, or one that comes into force later. Any key of the company may; which key did, and by which signed request, is recorded. Sent again, it changes nothing and gets the first answer, with the instant of the agreement. Other text than the published is refused with `terms_mismatch`, and a version that a later one in force has replaced with `terms_superseded`. It is not billed and has no receipt.",
  parameters: [sandboxKey],
  body: agreementBody,
  answers: answeredWith("The agreement", agreementAnswer, ["Cache-Control"]),
  problems: [
    ...(["request_invalid", "not_found", "terms_mismatch", "terms_superseded"] as const),
    ...(["region_misdirected", "request_timeout", "media_type_unsupported"] as const),
  ],
};

function accountRoutes(deps: RetrievalDeps): readonly Route[] {
  return [
    companyRoute(deps, "GET", "/v1/events", eventsDoc, {
      queryNames: ["after", "limit"],
      answer: ({ authenticated, query, request }) =>
        deps.events({
          caller: authenticated.caller,
          ...query,
          format: prefersLines(request.headers.accept ?? "") ? "lines" : "json",
        }),
    }),
    companyRoute(deps, "POST", "/v1/key-directory/listing", listingDoc, {
      answer: ({ authenticated, body }) => deps.chooseListing({ caller: authenticated.caller, body }),
    }),
    companyRoute(deps, "GET", "/v1/terms", termsDoc, {
      queryNames: ["version"],
      answer: ({ authenticated, query }) =>
        deps.terms({ caller: authenticated.caller, version: query.version }),
    }),
    companyRoute(deps, "POST", "/v1/terms/agreements", agreeDoc, {
      answer: ({ authenticated, body }) => deps.agreeToTerms({ caller: authenticated.caller, body }),
    }),
    companyRoute(deps, "GET", "/v1/entitlement", entitlementDoc, {
      answer: ({ authenticated }) => deps.entitlement({ caller: authenticated.caller }),
    }),
  ];
}
