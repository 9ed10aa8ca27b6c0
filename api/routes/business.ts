// The business machine surface (specification, «B. Business machine API»).
// Also the reads of domains, push attempts and the catalogue, and what acts on one push.

import type { FastifyInstance } from "fastify";
import { collections } from "../../collections/collections.ts";
import { type CollectionName, collectionNames } from "../../protocol/identifiers.ts";
import {
  attemptsKeptDays,
  attemptsPageMax,
  bulkFileBytesMax,
  catalogueFreeEntries,
  cataloguePageMax,
  catalogueReadsPerHour,
  cursorLengthMax,
  inlineRecordsMax,
  ownIdLengthMax,
  publishBytesMax,
  pushPageMax,
  refusalsPerHour,
} from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { either } from "../../protocol/shape.ts";
import { validationOutcome } from "../../protocol/wire/bulk.ts";
import { attemptsPage, cataloguePage, catalogueRecord } from "../../protocol/wire/catalogue.ts";
import {
  domainsAnswer,
  inlineOutcome,
  publishBody,
  pushId,
  pushStatus,
  recordOutcomes,
  sealContext,
} from "../../protocol/wire/push.ts";
import type { UploadImage } from "../../service/ads/ad-images.ts";
import type { Caller, Outcome } from "../../service/answer.ts";
import type { ListCatalogueRequest, ReadCatalogueRequest } from "../../service/publishing/catalogue.ts";
import type { CancelRequest } from "../../service/publishing/decide-hold.ts";
import type { PublishRequest } from "../../service/publishing/publish.ts";
import { publishedType } from "../../service/publishing/publish-batch.ts";
import type { PushAttemptsRequest } from "../../service/publishing/push-attempts.ts";
import type { ReadPushRequest } from "../../service/publishing/push-status.ts";
import { bodyTimeMs } from "../http-limits.ts";
import { buildServer, type HttpDeps } from "../http-server.ts";
import { parameter } from "../public-read.ts";
import { parseFlag, sourceOfRequest } from "../request-parts.ts";
import {
  answeredWith,
  inPath,
  inQuery,
  type Parameter,
  type Route,
  type RouteDoc,
  sandboxKey,
} from "../route.ts";
import { businessPush, businessRead, type Callers, idempotencyKey, sentIn } from "../signed.ts";
import { uploadImageRoute } from "./ad-image-routes.ts";
import { type AdPublishing, adPublishingRoutes } from "./ad-routes.ts";
import { type AnalyticsReads, analyticsRoutes } from "./analytics-routes.ts";
import { type Bulk, bulkRoutes } from "./bulk-routes.ts";
import { type Holds, holdRoutes } from "./hold-routes.ts";
import { type Removing, removalRoutes } from "./removal-routes.ts";
import { type Delivering, sealedRoutes } from "./sealed-routes.ts";
import { type ServiceActReads, serviceActRoutes } from "./service-act-routes.ts";

/** What the surface calls; each function checks its input beyond authentication. */
export interface Publishing extends Removing, Holds, Delivering {
  publishBatch(request: PublishRequest): Promise<Outcome>;
  /** The same request, which changes nothing and answers what it would come to. */
  validateBatch(request: PublishRequest): Promise<Outcome>;
  readPush(request: ReadPushRequest): Promise<Outcome>;
  cancelPush(request: CancelRequest): Promise<Outcome>;
  sealContext(request: { readonly caller: Caller }): Promise<Outcome>;
}

export interface BusinessDeps extends Callers {
  readonly http: HttpDeps;
  readonly businessUrl: string;
  readonly publishing: Publishing;
  readonly bulk: Bulk;
  readonly analytics: AnalyticsReads;
  readonly catalogue: Catalogue;
  readonly readAttempts: ReadAttempts;
  readonly readDomains: ReadDomains;
  readonly serviceActs: ServiceActReads;
  readonly uploadImage: UploadImage;
  readonly ads: AdPublishing;
  /** Routes that only the sandbox has. */
  readonly sandbox?: readonly Route[];
}

/** The business surface (specification, «B. Business machine API»). */
export function buildBusiness(deps: BusinessDeps): FastifyInstance {
  const info = {
    title: "Business machine API",
    description: "Publishing of sealed batches, and a business's reads of its own data.",
    servers: [deps.businessUrl],
  };
  const { limits } = deps.http.edge;
  const [readPush, cancelPush] = pushRoutes(deps);
  const routes = [
    ...collectionNames.map((name) => publishRoute(deps, name)),
    ...sealedRoutes(deps, deps.publishing),
    ...removalRoutes(deps, deps.publishing),
    readPush,
    ...holdRoutes(deps, deps.publishing),
    cancelPush,
    businessRead(deps, "/v1/seal-context", sealContextDoc, [], ({ authenticated: { caller } }) =>
      deps.publishing.sealContext({ caller }),
    ),
    ...analyticsRoutes(deps, deps.analytics),
    ...ownReads(deps),
    ...serviceActRoutes(deps, deps.serviceActs),
    ...bulkRoutes(deps, deps.bulk),
    uploadImageRoute(deps, deps.uploadImage),
    ...adPublishingRoutes(deps, deps.ads),
    ...(deps.sandbox ?? []),
  ];
  return buildServer(deps.http, {
    name: "business",
    info,
    routes,
    isPublic: false,
    bodyTimeMs: bodyTimeMs(limits, bulkFileBytesMax, limits.fileBytesPerSecondMin),
  });
}

/** What a request to any of the routes is refused for; a type that is not published, for nothing else. */
const requestProblems: readonly ProblemCode[] = [
  "request_invalid",
  "record_too_large",
  "request_timeout",
  "media_type_unsupported",
  "type_not_publishable",
  "idempotency_in_progress",
  "idempotency_key_reused",
];

const publishProblems: readonly ProblemCode[] = [
  "mandate_missing",
  "out_of_scope",
  "source_not_allowed",
  "business_not_verified",
  "seal_invalid",
  "seq_not_increasing",
];

const published: Pick<RouteDoc, "description" | "answers" | "problems"> = {
  description: `Up to ${inlineRecordsMax} records are processed in the request and answered once each has its outcome and version (200); more are stored and processed afterwards (202). With \`validate_only=true\` nothing is stored, numbered or charged, and the answer says what would become of every record.`,
  answers: {
    200: {
      description: "The outcome of every record, or what it would be",
      body: either(inlineOutcome, validationOutcome),
    },
    202: {
      description: "The push was accepted and is processed; `Location` names where to poll",
      body: pushStatus,
      headers: ["Location"],
    },
  },
  problems: [...requestProblems, ...publishProblems],
};

const notPublished: typeof published = {
  description: "Refused: only products are published through this interface.",
  answers: {},
  problems: requestProblems,
};

function publishRoute(deps: BusinessDeps, collection: CollectionName): Route {
  const { path, title } = collections[collection];
  const doc: RouteDoc = {
    summary: `Publish a sealed batch of ${title}`,
    ...(collection === publishedType ? published : notPublished),
    parameters: [
      sandboxKey,
      inQuery("validate_only", "`true` to validate the batch only; the signature covers it with `@query`.", {
        enum: ["true", "false"],
      }),
      idempotencyKey,
    ],
    body: publishBody,
  };
  return businessPush(deps, `/v1/publish/${path}`, doc, {
    bytesMax: publishBytesMax,
    queryNames: ["validate_only"],
    answer: async (call) => {
      const validateOnly = parseFlag(call.query, "validate_only");
      if (typeof validateOnly !== "boolean") return validateOnly;
      const publish = validateOnly ? deps.publishing.validateBatch : deps.publishing.publishBatch;
      return publish({ ...sentIn(call, deps), collection });
    },
  });
}

const pushIdParameter = inPath("push_id", "Push id.", pushId.schema);

const readPushDoc: RouteDoc = {
  summary: `Status of a push, with a page of ${pushPageMax} results in leaf order`,
  parameters: [
    pushIdParameter,
    inQuery("outcome", "Only results of this outcome.", { enum: recordOutcomes }),
    inQuery("cursor", "`next_cursor` of the previous page.", { type: "string" }),
    sandboxKey,
  ],
  answers: answeredWith("The push, with a page of its results", pushStatus),
  problems: ["request_invalid", "not_found"],
};

const cancelDoc: RouteDoc = {
  summary: "Cancel a push of which nothing is published yet",
  description:
    "A queued push ends as `failed` with `error.code` `cancelled` if none of its records has a version yet, and so does a held one. Sent again, it is answered again.",
  parameters: [pushIdParameter, sandboxKey],
  answers: answeredWith("The cancelled push", pushStatus),
  problems: ["not_found", "mandate_missing", "out_of_scope", "source_not_allowed", "push_not_cancellable"],
};

const sealContextDoc: RouteDoc = {
  summary: "What the next seal must name",
  parameters: [sandboxKey],
  answers: answeredWith("What is in force now", sealContext),
  problems: ["business_not_verified"],
};

/** The read of one push, and what cancels it. */
function pushRoutes(deps: BusinessDeps): readonly [read: Route, cancel: Route] {
  const { publishing, http } = deps;
  return [
    businessRead(
      deps,
      "/v1/pushes/:push_id",
      readPushDoc,
      ["outcome", "cursor"],
      ({ authenticated: { caller }, query, request }) =>
        publishing.readPush({ caller, pushId: parameter(request, "push_id"), ...query }),
    ),
    businessPush(deps, "/v1/pushes/:push_id/cancel", cancelDoc, {
      answer: ({ authenticated: { caller }, request }) =>
        publishing.cancelPush({
          caller,
          pushId: parameter(request, "push_id"),
          sourceIp: sourceOfRequest(request, http.edge),
        }),
    }),
  ];
}

// The read of the domains of a business's endpoints. The specification names no read of them; this one is the service's own.

type ReadDomains = (businessUuid: string) => Promise<Outcome>;

const domainsDoc: RouteDoc = {
  summary: "The domains of your endpoints, and whether you control them",
  description:
    "Publish the challenge of each domain, as a TXT record or as a line of the file, for as long as a business file of yours has endpoints there. Control is confirmed from time to time; where it is lost, the endpoints of that business file are `suspended` until it is confirmed again.",
  parameters: [sandboxKey],
  answers: answeredWith("All of them", domainsAnswer),
};

// The read of a business's push attempts (specification, «B. Business machine API»).

type ReadAttempts = (request: PushAttemptsRequest) => Promise<Outcome>;

const instant = (name: "from" | "to", description: string): Parameter =>
  inQuery(
    name,
    `${description} An instant in UTC (RFC 3339, ending in \`Z\`), or a date, which means its first instant in UTC.`,
    { type: "string", maxLength: 40 },
  );

const cursorParameter = inQuery(
  "cursor",
  "`next_cursor` of the previous page, with the other parameters as they were.",
  { type: "string", maxLength: cursorLengthMax },
);

const attemptsDoc: RouteDoc = {
  summary: "What became of everything that was sent, in the order of its time",
  description: `One item for each record of each accepted batch, and one for each batch that was refused as a whole. Pages of up to ${attemptsPageMax}, oldest first. Attempts are kept for ${attemptsKeptDays} days; of refused batches, up to ${refusalsPerHour} an hour.`,
  parameters: [
    instant("from", `Only what was received then or later (default: ${attemptsKeptDays} days ago).`),
    instant("to", "Only what was received before (default: everything so far)."),
    inQuery("status", "Only attempts of this status.", { enum: recordOutcomes }),
    cursorParameter,
    sandboxKey,
  ],
  answers: answeredWith("One page", attemptsPage),
  problems: ["request_invalid"],
};

// The reads of a business's own catalogue (specification, «B. Business machine API»).

interface Catalogue {
  list(request: ListCatalogueRequest): Promise<Outcome>;
  read(request: ReadCatalogueRequest): Promise<Outcome>;
}

const catalogueDoc: RouteDoc = {
  summary: "What the business has published now",
  description: `Pages of up to ${cataloguePageMax} entries; a record that is published throughout is on exactly one of them. Withdrawn, deleted and held records are not listed. The first ${catalogueFreeEntries} entries may be read as often as the key's request rate allows; beyond them, a business may read ${catalogueReadsPerHour} times an hour through each node, and is then answered 429 (\`reason\`: \`catalogue_reads\`).`,
  parameters: [
    inQuery("type", "Only records of this type.", { enum: collectionNames }),
    cursorParameter,
    sandboxKey,
  ],
  answers: answeredWith("One page", cataloguePage),
  problems: ["request_invalid"],
};

const catalogueRecordDoc: RouteDoc = {
  summary: "One record of the business",
  description:
    "A record id of one of the caller's published records counts first. Anything else is taken as the business's own id: of a product, then of a business file, an event, a job, an update.",
  parameters: [
    inPath("record_id", "The record id, or the business's own id, URL-encoded (a slash as `%2F`).", {
      type: "string",
      minLength: 1,
      maxLength: ownIdLengthMax,
    }),
    sandboxKey,
  ],
  answers: answeredWith("The record as it is served", catalogueRecord),
  problems: ["request_invalid", "not_found"],
};

/** The reads of the catalogue, of push attempts and of domains. */
function ownReads(deps: BusinessDeps): readonly Route[] {
  const { catalogue, readAttempts, readDomains } = deps;
  return [
    businessRead(deps, "/v1/catalogue", catalogueDoc, ["type", "cursor"], ({ authenticated, query }) =>
      catalogue.list({ caller: authenticated.caller, ...query }),
    ),
    businessRead(deps, "/v1/catalogue/:record_id", catalogueRecordDoc, [], ({ authenticated, request }) =>
      catalogue.read({ caller: authenticated.caller, id: parameter(request, "record_id") }),
    ),
    businessRead(
      deps,
      "/v1/push-attempts",
      attemptsDoc,
      ["from", "to", "status", "cursor"],
      ({ authenticated, query }) => readAttempts({ caller: authenticated.caller, ...query }),
    ),
    businessRead(deps, "/v1/domains", domainsDoc, [], ({ authenticated }) =>
      readDomains(authenticated.caller.party.uuid),
    ),
  ];
}
