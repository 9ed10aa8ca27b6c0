// The business machine surface (specification, «B. Business machine API»).

import type { FastifyInstance } from "fastify";
import { collections } from "../collections/collections.ts";
import { type CollectionName, collectionNames } from "../protocol/identifiers.ts";
import { bulkFileBytesMax, inlineRecordsMax, publishBytesMax, pushPageMax } from "../protocol/limits.ts";
import type { ProblemCode } from "../protocol/problem.ts";
import { either } from "../protocol/shape.ts";
import {
  inlineOutcome,
  publishBody,
  pushId,
  pushStatus,
  recordOutcomes,
  sealContext,
} from "../protocol/wire/push.ts";
import { validationOutcome } from "../protocol/wire/validation.ts";
import type { UploadImage } from "../service/ad-images.ts";
import type { Outcome } from "../service/answer.ts";
import type { Caller } from "../service/caller.ts";
import type { CancelRequest } from "../service/cancel-push.ts";
import type { PublishRequest } from "../service/publish.ts";
import { publishedType } from "../service/publish-batch.ts";
import type { ReadPushRequest } from "../service/push-status.ts";
import { uploadImageRoute } from "./ad-image-routes.ts";
import { type AdPublishing, adPublishingRoutes } from "./ad-routes.ts";
import { type AnalyticsReads, analyticsRoutes } from "./analytics-routes.ts";
import { attemptsRoute, type ReadAttempts } from "./attempts-route.ts";
import { type Bulk, bulkRoutes } from "./bulk-routes.ts";
import { acceptedWith, idempotencyKey, verifiedDigest } from "./business-callers.ts";
import { type BusinessCallers, businessRead } from "./business-read.ts";
import { type Catalogue, catalogueRoutes } from "./catalogue-routes.ts";
import { domainsRoute, type ReadDomains } from "./domains-route.ts";
import { type Holds, holdRoutes } from "./hold-routes.ts";
import { bodyTimeMs } from "./http-limits.ts";
import { buildServer, type HttpDeps } from "./http-server.ts";
import { cancelPushRoute } from "./push-routes.ts";
import { type Removing, removalRoutes } from "./removal-routes.ts";
import { parseFlag, single, sourceOfRequest } from "./request-parts.ts";
import type { Route, RouteDoc } from "./route.ts";
import { sandboxKey } from "./sandbox-key.ts";
import { type ServiceActReads, serviceActRoutes } from "./service-act-routes.ts";
import { type SignedCall, signedHandler } from "./signed.ts";

/** What the surface calls; each function checks its input beyond authentication. */
export interface Publishing extends Removing, Holds {
  publishBatch(request: PublishRequest): Promise<Outcome>;
  /** The same request, which changes nothing and answers what it would come to. */
  validateBatch(request: PublishRequest): Promise<Outcome>;
  readPush(request: ReadPushRequest): Promise<Outcome>;
  cancelPush(request: CancelRequest): Promise<Outcome>;
  sealContext(request: { readonly caller: Caller }): Promise<Outcome>;
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

export function buildBusiness(deps: BusinessDeps): FastifyInstance {
  const info = {
    title: "Business machine API",
    description: "Publishing of sealed batches, and a business's reads of its own data.",
    servers: [deps.businessUrl],
  };
  const { limits } = deps.http.edge;
  const routes = [
    ...collectionNames.map((name) => publishRoute(deps, name)),
    ...removalRoutes(deps),
    readPushRoute(deps),
    ...holdRoutes({ ...deps, holds: deps.publishing, accepted: acceptedWith(deps, "svc-push") }),
    cancelPushRoute({ ...deps, ...deps.publishing, accepted: acceptedWith(deps, "svc-push") }),
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

function publishRoute(deps: BusinessDeps, collection: CollectionName): Route {
  const limits = { bytesMax: publishBytesMax, edge: deps.http.edge };
  const answer = async ({
    authenticated,
    body,
    query,
    request,
  }: SignedCall<"validate_only">): Promise<Outcome> => {
    const validateOnly = parseFlag(query, "validate_only");
    if (typeof validateOnly !== "boolean") return validateOnly;
    const publish = validateOnly ? deps.publishing.validateBatch : deps.publishing.publishBatch;
    return publish({
      caller: authenticated.caller,
      collection,
      idempotencyKey: single(request.headers["idempotency-key"]),
      contentDigest: verifiedDigest(request),
      body,
      sourceIp: sourceOfRequest(request, deps.http.edge),
    });
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
    handle: signedHandler({
      authentication: deps.authentication,
      accepted: acceptedWith(deps, "svc-push"),
      limits,
      queryNames: ["validate_only"],
      claimsMeanwhile: false,
      answer,
    }),
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
