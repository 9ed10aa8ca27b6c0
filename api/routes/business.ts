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
  requestBytesMax,
  verifyBytesMax,
} from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { either } from "../../protocol/shape.ts";
import { validationOutcome } from "../../protocol/wire/bulk.ts";
import { attemptsPage, cataloguePage, catalogueRecord } from "../../protocol/wire/catalogue.ts";
import {
  acceptedPolicy,
  domainsAnswer,
  inlineOutcome,
  publishBody,
  publishOutcome,
  pushId,
  pushStatus,
  recordOutcomes,
  sealContext,
  sealedRecordRequest,
} from "../../protocol/wire/push.ts";
import type { UploadImage } from "../../service/ads/ad-images.ts";
import type { Caller, Outcome } from "../../service/answer.ts";
import type { ListCatalogueRequest, ReadCatalogueRequest } from "../../service/publishing/catalogue.ts";
import type { CancelRequest } from "../../service/publishing/decide-hold.ts";
import type { PublishRequest } from "../../service/publishing/publish.ts";
import { publishedType } from "../../service/publishing/publish-batch.ts";
import type { SealedDelivery } from "../../service/publishing/publish-record.ts";
import type { PushAttemptsRequest } from "../../service/publishing/push-attempts.ts";
import type { ReadPushRequest } from "../../service/publishing/push-status.ts";
import { bodyTimeMs } from "../http-limits.ts";
import { buildServer, type HttpDeps } from "../http-server.ts";
import { parseFlag, sourceOfRequest } from "../request-parts.ts";
import { type Parameter, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import {
  type BusinessCallers,
  businessPush,
  businessRead,
  idempotencyKey,
  type SignedCall,
  sentIn,
} from "../signed.ts";
import { uploadImageRoute } from "./ad-image-routes.ts";
import { type AdPublishing, adPublishingRoutes } from "./ad-routes.ts";
import { type AnalyticsReads, analyticsRoutes } from "./analytics-routes.ts";
import { type Bulk, bulkRoutes } from "./bulk-routes.ts";
import { type Holds, holdRoutes } from "./hold-routes.ts";
import { type Removing, removalRoutes } from "./removal-routes.ts";
import { type ServiceActReads, serviceActRoutes } from "./service-act-routes.ts";

/** What the surface calls; each function checks its input beyond authentication. */
export interface Publishing extends Removing, Holds {
  publishBatch(request: PublishRequest): Promise<Outcome>;
  /** The same request, which changes nothing and answers what it would come to. */
  validateBatch(request: PublishRequest): Promise<Outcome>;
  readPush(request: ReadPushRequest): Promise<Outcome>;
  cancelPush(request: CancelRequest): Promise<Outcome>;
  sealContext(request: { readonly caller: Caller }): Promise<Outcome>;
  /** Records and AI policies that were sealed alone. */
  deliverRecord(request: SealedDelivery & { readonly collection: CollectionName }): Promise<Outcome>;
  deliverPolicy(request: SealedDelivery): Promise<Outcome>;
}

export interface BusinessDeps extends BusinessCallers {
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
  const routes = [
    ...collectionNames.map((name) => publishRoute(deps, name)),
    ...collectionNames.map((name) => sealedRecordRoute(deps, name)),
    sealedPolicyRoute(deps),
    ...removalRoutes(deps),
    readPushRoute(deps),
    ...holdRoutes({ ...deps, holds: deps.publishing }),
    cancelPushRoute(deps),
    sealContextRoute(deps),
    ...analyticsRoutes(deps),
    ...catalogueRoutes(deps, deps.catalogue),
    attemptsRoute(deps, deps.readAttempts),
    domainsRoute(deps, deps.readDomains),
    ...serviceActRoutes(deps, deps.serviceActs),
    ...bulkRoutes(deps),
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

const sealedAlone = {
  tags: ["svc-push"],
  problems: ["request_invalid", "media_type_unsupported", "business_not_verified", "seal_invalid"],
} as const;

function sealedRecordRoute(deps: BusinessDeps, collection: CollectionName): Route {
  const { path, title } = collections[collection];
  return {
    method: "POST",
    path: `/v1/publish/${path}/record`,
    tags: sealedAlone.tags,
    doc: {
      summary: `Publish one of your ${title}, sealed alone`,
      description:
        "The exact bytes of one record, with a seal over them alone by a person's passkey or a hosted key of the business. Any live integration key may deliver it: the seal is the authority, so no mandate is asked for, and none covers what an integration key seals. Sent again, the same seal is answered with its outcome again.",
      parameters: [sandboxKey],
      body: sealedRecordRequest,
      answers: {
        200: { description: "The outcome of the record, also if it was rejected", body: publishOutcome },
      },
      problems: sealedAlone.problems,
    },
    handle: sealedHandler(deps, (call) => deps.publishing.deliverRecord({ ...call, collection })),
  };
}

function sealedPolicyRoute(deps: BusinessDeps): Route {
  return {
    method: "POST",
    path: "/v1/ai-policies",
    tags: sealedAlone.tags,
    doc: {
      summary: "Put a sealed AI policy into force",
      description:
        "The exact bytes of an AI policy (`svc/ai_policy/1`), with a seal that names the version that it creates: the next one. It is in force from its acceptance on. Any live integration key may deliver it. The same record is answered again; another one under an accepted version is `seal_invalid` with reason `ai_policy_version_used`.",
      parameters: [sandboxKey],
      body: sealedRecordRequest,
      answers: { 200: { description: "The policy is in force", body: acceptedPolicy } },
      problems: sealedAlone.problems,
    },
    handle: sealedHandler(deps, (call) => deps.publishing.deliverPolicy(call)),
  };
}

function sealedHandler(
  deps: BusinessDeps,
  deliver: (call: SealedDelivery) => Promise<Outcome>,
): Route["handle"] {
  return businessPush(deps, {
    bytesMax: verifyBytesMax,
    answer: ({ authenticated, body }) => deliver({ caller: authenticated.caller, body }),
  });
}

function publishRoute(deps: BusinessDeps, collection: CollectionName): Route {
  const answer = async (call: SignedCall<"validate_only">): Promise<Outcome> => {
    const validateOnly = parseFlag(call.query, "validate_only");
    if (typeof validateOnly !== "boolean") return validateOnly;
    const publish = validateOnly ? deps.publishing.validateBatch : deps.publishing.publishBatch;
    return publish({ ...sentIn(call, deps), collection });
  };
  return {
    method: "POST",
    path: `/v1/publish/${collections[collection].path}`,
    tags: ["svc-push"],
    doc: {
      summary: `Publish a sealed batch of ${collections[collection].title}`,
      ...(collection === publishedType ? published : notPublished),
      parameters: [
        sandboxKey,
        {
          name: "validate_only",
          in: "query",
          description: "`true` to validate the batch only; the signature covers it with `@query`.",
          schema: { enum: ["true", "false"] },
        },
        idempotencyKey,
      ],
      body: publishBody,
    },
    handle: businessPush(deps, { bytesMax: publishBytesMax, queryNames: ["validate_only"], answer }),
  };
}

function readPushRoute(deps: BusinessDeps): Route {
  return {
    method: "GET",
    path: "/v1/pushes/:push_id",
    tags: ["svc-business-read"],
    doc: {
      summary: `Status of a push, with a page of ${pushPageMax} results in leaf order`,
      parameters: [
        {
          name: "push_id",
          in: "path",
          description: "Push id.",
          schema: pushId.schema,
        },
        {
          name: "outcome",
          in: "query",
          description: "Only results of this outcome.",
          schema: { enum: recordOutcomes },
        },
        {
          name: "cursor",
          in: "query",
          description: "`next_cursor` of the previous page.",
          schema: { type: "string" },
        },
        sandboxKey,
      ],
      answers: { 200: { description: "The push, with a page of its results", body: pushStatus } },
      problems: ["request_invalid", "not_found"],
    },
    handle: businessRead(deps, ["outcome", "cursor"], ({ authenticated, query, request }) => {
      const { push_id: pushId } = request.params as { readonly push_id: string };
      return deps.publishing.readPush({
        caller: authenticated.caller,
        pushId,
        outcome: query.outcome,
        cursor: query.cursor,
      });
    }),
  };
}

function sealContextRoute(deps: BusinessDeps): Route {
  return {
    method: "GET",
    path: "/v1/seal-context",
    tags: ["svc-business-read"],
    doc: {
      summary: "What the next seal must name",
      parameters: [sandboxKey],
      answers: { 200: { description: "What is in force now", body: sealContext } },
      problems: ["business_not_verified"],
    },
    handle: businessRead(deps, [], ({ authenticated }) =>
      deps.publishing.sealContext({ caller: authenticated.caller }),
    ),
  };
}

// The read of the domains of a business's endpoints. The specification names no read of them; this one is the service's own.

type ReadDomains = (businessUuid: string) => Promise<Outcome>;

function domainsRoute(callers: BusinessCallers, read: ReadDomains): Route {
  return {
    method: "GET",
    path: "/v1/domains",
    tags: ["svc-business-read"],
    doc: {
      summary: "The domains of your endpoints, and whether you control them",
      description:
        "Publish the challenge of each domain, as a TXT record or as a line of the file, for as long as a business file of yours has endpoints there. Control is confirmed from time to time; where it is lost, the endpoints of that business file are `suspended` until it is confirmed again.",
      parameters: [sandboxKey],
      answers: { 200: { description: "All of them", body: domainsAnswer } },
    },
    handle: businessRead(callers, [], ({ authenticated }) => read(authenticated.caller.party.uuid)),
  };
}

// The read of a business's push attempts (specification, «B. Business machine API»).

type ReadAttempts = (request: PushAttemptsRequest) => Promise<Outcome>;

const instant = (name: "from" | "to", description: string): Parameter => ({
  name,
  in: "query",
  description: `${description} An instant in UTC (RFC 3339, ending in \`Z\`), or a date, which means its first instant in UTC.`,
  schema: { type: "string", maxLength: 40 },
});

function attemptsRoute(callers: BusinessCallers, read: ReadAttempts): Route {
  return {
    method: "GET",
    path: "/v1/push-attempts",
    tags: ["svc-business-read"],
    doc: {
      summary: "What became of everything that was sent, in the order of its time",
      description: `One item for each record of each accepted batch, and one for each batch that was refused as a whole. Pages of up to ${attemptsPageMax}, oldest first. Attempts are kept for ${attemptsKeptDays} days; of refused batches, up to ${refusalsPerHour} an hour.`,
      parameters: [
        instant("from", `Only what was received then or later (default: ${attemptsKeptDays} days ago).`),
        instant("to", "Only what was received before (default: everything so far)."),
        {
          name: "status",
          in: "query",
          description: "Only attempts of this status.",
          schema: { enum: recordOutcomes },
        },
        cursorParameter,
        sandboxKey,
      ],
      answers: { 200: { description: "One page", body: attemptsPage } },
      problems: ["request_invalid"],
    },
    handle: businessRead(callers, ["from", "to", "status", "cursor"], ({ authenticated, query }) =>
      read({ caller: authenticated.caller, ...query }),
    ),
  };
}

// The routes of one push on the business machine surface that act on it.

function cancelPushRoute(deps: BusinessDeps): Route {
  return {
    method: "POST",
    path: "/v1/pushes/:push_id/cancel",
    tags: ["svc-push"],
    doc: {
      summary: "Cancel a push of which nothing is published yet",
      description:
        "A queued push ends as `failed` with `error.code` `cancelled` if none of its records has a version yet, and so does a held one. Sent again, it is answered again.",
      parameters: [
        { name: "push_id", in: "path", description: "Push id.", schema: pushId.schema },
        sandboxKey,
      ],
      answers: { 200: { description: "The cancelled push", body: pushStatus } },
      problems: [
        "not_found",
        "mandate_missing",
        "out_of_scope",
        "source_not_allowed",
        "push_not_cancellable",
      ],
    },
    handle: businessPush(deps, {
      bytesMax: requestBytesMax,
      answer: ({ authenticated, request }) => {
        const { push_id } = request.params as { readonly push_id: string };
        const sourceIp = sourceOfRequest(request, deps.http.edge);
        return deps.publishing.cancelPush({ caller: authenticated.caller, pushId: push_id, sourceIp });
      },
    }),
  };
}

// The reads of a business's own catalogue (specification, «B. Business machine API»).

interface Catalogue {
  list(request: ListCatalogueRequest): Promise<Outcome>;
  read(request: ReadCatalogueRequest): Promise<Outcome>;
}

const cursorParameter: Parameter = {
  name: "cursor",
  in: "query",
  description: "`next_cursor` of the previous page, with the other parameters as they were.",
  schema: { type: "string", maxLength: cursorLengthMax },
};

function catalogueRoutes(callers: BusinessCallers, catalogue: Catalogue): readonly Route[] {
  return [listRoute(callers, catalogue), readRoute(callers, catalogue)];
}

function listRoute(callers: BusinessCallers, catalogue: Catalogue): Route {
  return {
    method: "GET",
    path: "/v1/catalogue",
    tags: ["svc-business-read"],
    doc: {
      summary: "What the business has published now",
      description: `Pages of up to ${cataloguePageMax} entries; a record that is published throughout is on exactly one of them. Withdrawn, deleted and held records are not listed. The first ${catalogueFreeEntries} entries may be read as often as the key's request rate allows; beyond them, a business may read ${catalogueReadsPerHour} times an hour through each node, and is then answered 429 (\`reason\`: \`catalogue_reads\`).`,
      parameters: [
        {
          name: "type",
          in: "query",
          description: "Only records of this type.",
          schema: { enum: collectionNames },
        },
        cursorParameter,
        sandboxKey,
      ],
      answers: { 200: { description: "One page", body: cataloguePage } },
      problems: ["request_invalid"],
    },
    handle: businessRead(callers, ["type", "cursor"], ({ authenticated, query }) =>
      catalogue.list({ caller: authenticated.caller, type: query.type, cursor: query.cursor }),
    ),
  };
}

function readRoute(callers: BusinessCallers, catalogue: Catalogue): Route {
  return {
    method: "GET",
    path: "/v1/catalogue/:record_id",
    tags: ["svc-business-read"],
    doc: {
      summary: "One record of the business",
      description:
        "A record id of one of the caller's published records counts first. Anything else is taken as the business's own id: of a product, then of a business file, an event, a job, an update.",
      parameters: [
        {
          name: "record_id",
          in: "path",
          description: "The record id, or the business's own id, URL-encoded (a slash as `%2F`).",
          schema: { type: "string", minLength: 1, maxLength: ownIdLengthMax },
        },
        sandboxKey,
      ],
      answers: { 200: { description: "The record as it is served", body: catalogueRecord } },
      problems: ["request_invalid", "not_found"],
    },
    handle: businessRead(callers, [], ({ authenticated, request }) => {
      const { record_id: id } = request.params as { readonly record_id: string };
      return catalogue.read({ caller: authenticated.caller, id });
    }),
  };
}
