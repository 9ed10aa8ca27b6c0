// The OpenAPI 3.1 document of the operations surface: every address, what it takes and what it answers.

import examples from "../api/examples.json" with { type: "json" };
import {
  type Examples,
  openApi,
  openApiDocument,
  platformProblems,
  type SurfaceTerms,
} from "../api/open-api.ts";
import type { Operation } from "../api/route.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { anyText, object } from "../protocol/shape.ts";
import { account } from "../protocol/wire/allowance.ts";
import { blockState, brandState, changed, groupState } from "./block-shapes.ts";
import { campaignOperations } from "./campaigns.ts";
import { neededRight, opsRights } from "./guard.ts";
import { heldDeletionOperations } from "./held-deletions.ts";
import { inspectionOperations } from "./inspection-docs.ts";
import { operatorStatement } from "./ledgers.ts";
import { act, command, parameter, read, shown } from "./operation-docs.ts";
import { purgeOrderOperations } from "./purges.ts";
import { certificateEnds } from "./revocations.ts";
import { sessionBody, sessionState } from "./session-routes.ts";
import { hostCookieName } from "./sessions.ts";
import {
  actList,
  actorList,
  bodies,
  certificateEnd,
  certificateState,
  clusterState,
  done,
  health,
  keyState,
  latePurges,
  mandateState,
  purgePage,
  readyReport,
  stalledPushes,
} from "./shapes.ts";
import { takedownOperations } from "./takedowns.ts";

const rightWords = Object.entries(opsRights)
  .map(([right, words]) => `\`${right}\`: ${words}.`)
  .join(" ");

const openAddresses = ["/healthz", "/readyz", "/ops/session"];

const terms: SurfaceTerms = {
  securitySchemes: {
    readersToken: {
      ...{ type: "http", scheme: "bearer" },
      description: "A token of the operators without a name, which is for reading.",
    },
    operatorsToken: {
      ...{ type: "http", scheme: "basic" },
      description: `The name of the person who acts, and the token of the operators. ${rightWords}`,
    },
    operatorsSession: {
      ...{ type: "apiKey", in: "cookie", name: hostCookieName },
      description: "A browser's session; on loopback the name has no prefix.",
    },
  },
  // Both name the right that is needed (OpenAPI 3.1, Security Requirement Object).
  security: ({ method, path }) => {
    const right = neededRight(method, path);
    return {
      security: openAddresses.includes(path)
        ? []
        : [
            ...(right === "read" ? [{ readersToken: [right] }] : []),
            { operatorsToken: [right] },
            { operatorsSession: [right] },
          ],
    };
  },
  problems: () => [
    ...(["token_invalid", "right_missing", "origin_not_allowed", "host_not_allowed"] as const),
    ...platformProblems,
    "unavailable",
  ],
  headers: () => ({ required: ["Request-Id", "Cache-Control"], optional: [] }),
  examples: examples as Examples,
};

const keyId = parameter("path", "key_id", "Id of a registered key.");
const uuid = parameter("path", "uuid", "UUID of a business or an AI company.");
const mandateNames = [
  parameter("path", "business_uuid", "UUID of the business that gave the mandate."),
  parameter("path", "mandate_id", "Id of the mandate, percent-encoded where necessary."),
];
const after = parameter("query", "after", "`next_after` of the previous page.");
const kind = parameter("path", "kind", "Kind of actor, such as push.");

const reads: readonly Operation[] = [
  read("/healthz", "The process answers", health),
  read("/readyz", "The node can serve; `degraded` names what is unavailable meanwhile", readyReport, {
    answers: { 503: { description: "The node cannot serve, with the reasons", body: readyReport } },
  }),
  read("/metrics", "Prometheus text format", anyText, { mediaType: "text/plain" }),
  read("/ops/actors/:kind", "Ids of the actors of a kind, 100 a page", actorList, {
    parameters: [kind, after],
  }),
  read(
    "/ops/stalled-pushes",
    "Pushes on this node that made no step for ten minutes, 100 at most",
    stalledPushes,
  ),
  read(
    "/ops/purges",
    "Businesses whose purges are due and not done on this node, with what they wait for, 100 at most",
    latePurges,
  ),
  read(
    "/ops/purges/:business_uuid",
    "Deletions and ordered purges of a business in their order, with the proofs of their purges; a page is made of 100 removals, and withdrawals are left out",
    purgePage,
    { parameters: [parameter("path", "business_uuid", "UUID of the business."), after] },
  ),
  read("/openapi.json", "This document", openApiDocument),
];

const revocations: readonly Operation[] = [
  shown("/ops/keys/:key_id", "key", keyState, [keyId]),
  act("/ops/keys/:key_id/revoke", {
    ...{ summary: "Revokes a key", body: bodies.key, answer: done("key", keyState), parameters: [keyId] },
  }),
  shown("/ops/mandates/:business_uuid/:mandate_id", "mandate", mandateState, mandateNames),
  act("/ops/mandates/:business_uuid/:mandate_id/revoke", {
    ...{ summary: "Revokes a mandate", body: bodies.mandate, answer: done("mandate", mandateState) },
    parameters: mandateNames,
  }),
  shown("/ops/certificates/:uuid", "certificate", certificateState, [uuid]),
  ...Object.entries(certificateEnds).map(([last, { summary }]) =>
    act(`/ops/certificates/:uuid/${last}`, {
      ...{
        summary,
        body: bodies.certificate,
        answer: certificateEnd,
        parameters: [uuid],
      },
    }),
  ),
  act("/ops/grants/revoke", {
    summary: "Revokes the key of a sandbox grant, used or not",
    ...{ body: bodies.grant, answer: done("key", keyState) },
  }),
  read("/ops/acts/:uuid", "Acts of operators on a party, with name and reason, 100 a page", actList, {
    parameters: [
      uuid,
      after,
      parameter("query", "entry", "Only acts on this entry of the register, such as `key/…`."),
    ],
  }),
];

const company = parameter("path", "company_uuid", "UUID of an AI company.");
const ledgers: readonly Operation[] = [
  shown("/ops/ledgers/:company_uuid", "account", account, [company]),
  read(
    "/ops/ledgers/:company_uuid/statements/:month",
    "Statement of a month, with who made each entry and why",
    object({ statement: operatorStatement }),
    {
      parameters: [company, parameter("path", "month", "A month such as 2026-11.")],
      problems: ["not_found"],
    },
  ),
  act("/ops/ledgers/:company_uuid/entries", {
    ...{ summary: "Pays in, or corrects the account of an AI company", body: bodies.ledgerEntry },
    ...{ answer: object({ account }), parameters: [company] },
  }),
];

const businessUuid = parameter("path", "business_uuid", "UUID of the business.");
const companyUuid = parameter("path", "company_uuid", "UUID of the AI company.");

const blocks: readonly Operation[] = [
  read(
    "/ops/blocks/:business_uuid",
    "The groups of AI companies that a business blocks",
    object({ blocks: blockState }),
    { parameters: [businessUuid], problems: ["not_found"] },
  ),
  ...Object.entries({ block: "Blocks a group for a business", unblock: "Unblocks a group" }).map(
    ([last, summary]) =>
      act(`/ops/blocks/:business_uuid/${last}`, {
        ...{ summary, body: bodies.block, answer: changed("blocks", blockState) },
        parameters: [businessUuid],
      }),
  ),
  read(
    "/ops/brands/:business_uuid",
    "The brands of a business: what its business files name, and what is confirmed",
    object({ brands: brandState }),
    { parameters: [businessUuid], problems: ["not_found"] },
  ),
  ...Object.entries({
    confirm: "Confirms a brand as a business's own, which protects it in the texts of others",
    unconfirm: "Takes the confirmation of a brand back",
  }).map(([last, summary]) =>
    act(`/ops/brands/:business_uuid/${last}`, {
      ...{ summary, body: bodies.brand, answer: changed("brands", brandState) },
      parameters: [businessUuid],
    }),
  ),
  shown("/ops/groups/:company_uuid", "company", groupState, [companyUuid]),
  act("/ops/groups/:company_uuid/join", {
    summary: "Changes the group of an AI company, which keeps its former groups",
    ...{ body: bodies.joinGroup, answer: changed("company", groupState), parameters: [companyUuid] },
  }),
];

const opened = { 200: { description: "The session, and what it may do", body: sessionState } };
const session: readonly Operation[] = [
  read("/ops/session", "What this request may do, and how that was shown", sessionState),
  {
    ...{ method: "POST", path: "/ops/session", tags: [] },
    doc: { summary: "Opens a browser's session with a token", body: sessionBody, answers: opened },
  },
  {
    ...{ method: "DELETE", path: "/ops/session", tags: [] },
    doc: { summary: "Ends the browser's session", answers: opened },
  },
];

const cluster: readonly Operation[] = [
  read(
    "/ops/cluster",
    "Members, standings and connections as this node knows them, and what the fence refused",
    clusterState,
  ),
  command("/ops/cluster/moves", "Moves a party's home from this region to another", bodies.moves),
  command("/ops/cluster/declare-dead", "Declares a lost region dead", bodies.declareDead),
  command("/ops/cluster/put-in", "Adds a lost region's data centre to the keyspace again", bodies.putIn),
  command("/ops/cluster/rejoin", "Readmits a rebuilt region", bodies.rejoin),
  command(
    "/ops/cluster/log-checkpoint",
    "Hands over the newest checkpoint of the transparency log after the loss of its home",
    bodies.logCheckpoint,
  ),
  command("/ops/cluster/rebuild", "Rebuilds this region's index of a collection", bodies.rebuild),
];

export function openApiOf(isClustered: boolean): JsonObject {
  const info = {
    title: "Operations",
    description:
      "Health, state, revocations, accounts, blocks, brands and takedowns, for the operators of a node.",
    servers: [],
  };
  const acts = [
    ...session,
    ...revocations,
    ...ledgers,
    ...blocks,
    ...takedownOperations,
    ...campaignOperations,
    ...heldDeletionOperations,
    ...purgeOrderOperations,
  ];
  return openApi(info, [...reads, ...inspectionOperations, ...acts, ...(isClustered ? cluster : [])], terms);
}
