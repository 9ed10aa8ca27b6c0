// The OpenAPI 3.1 document of the operations surface: every address, what it takes and what it answers.

import examples from "../api/examples.json" with { type: "json" };
import {
  type Examples,
  openApi,
  openApiDocument,
  platformProblems,
  type SurfaceTerms,
} from "../api/open-api.ts";
import type { Operation, Parameter } from "../api/route.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import { anyText, object, type Shape } from "../protocol/shape.ts";
import { account } from "../protocol/wire/allowance.ts";
import { actorActBody, actorActNames, actorActOutcome, actorActs, drainBody } from "./cluster.ts";
import { hostCookieName, neededRight, opsRights } from "./guard.ts";
import { exportMediaType } from "./inspection.ts";
import {
  actorCounts,
  actorDetail,
  actorPage,
  attentionList,
  auditPage,
  journalPage,
  machineChart,
  machineList,
  nodeList,
  refusedRequests,
  searchResult,
} from "./inspection-shapes.ts";
import { campaignOperations } from "./ledgers.ts";
import { certificateEnds } from "./revocations.ts";
import { sessionBody, sessionState } from "./session-routes.ts";
import {
  act,
  actList,
  blockState,
  bodies,
  brandState,
  certificateEnd,
  certificateState,
  changed,
  clusterState,
  command,
  done,
  groupState,
  health,
  keyState,
  latePurges,
  mandateState,
  operatorStatement,
  parameter,
  purgePage,
  read,
  readyReport,
  shown,
  stalledPushes,
} from "./shapes.ts";
import { heldDeletionOperations, purgeOrderOperations, takedownOperations } from "./takedowns.ts";

const rightWords = Object.entries(opsRights)
  .map(([right, words]) => `\`${right}\`: ${words}.`)
  .join(" ");

const openAddresses = ["/healthz", "/readyz", "/ops/session"];

const terms: SurfaceTerms = {
  securitySchemes: {
    readersToken: {
      type: "http",
      scheme: "bearer",
      description: "A token of the operators without a name, which is for reading.",
    },
    operatorsToken: {
      type: "http",
      scheme: "basic",
      description: `The name of the person who acts, and the token of the operators. ${rightWords}`,
    },
    operatorsSession: {
      type: "apiKey",
      in: "cookie",
      name: hostCookieName,
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
    summary: "Revokes a key",
    body: bodies.key,
    answer: done("key", keyState),
    parameters: [keyId],
  }),
  shown("/ops/mandates/:business_uuid/:mandate_id", "mandate", mandateState, mandateNames),
  act("/ops/mandates/:business_uuid/:mandate_id/revoke", {
    summary: "Revokes a mandate",
    body: bodies.mandate,
    answer: done("mandate", mandateState),
    parameters: mandateNames,
  }),
  shown("/ops/certificates/:uuid", "certificate", certificateState, [uuid]),
  ...Object.entries(certificateEnds).map(([last, { summary }]) =>
    act(`/ops/certificates/:uuid/${last}`, {
      summary,
      body: bodies.certificate,
      answer: certificateEnd,
      parameters: [uuid],
    }),
  ),
  act("/ops/grants/revoke", {
    summary: "Revokes the key of a sandbox grant, used or not",
    body: bodies.grant,
    answer: done("key", keyState),
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
    summary: "Pays in, or corrects the account of an AI company",
    body: bodies.ledgerEntry,
    answer: object({ account }),
    parameters: [company],
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
        summary,
        body: bodies.block,
        answer: changed("blocks", blockState),
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
      summary,
      body: bodies.brand,
      answer: changed("brands", brandState),
      parameters: [businessUuid],
    }),
  ),
  shown("/ops/groups/:company_uuid", "company", groupState, [companyUuid]),
  act("/ops/groups/:company_uuid/join", {
    summary: "Changes the group of an AI company, which keeps its former groups",
    body: bodies.joinGroup,
    answer: changed("company", groupState),
    parameters: [companyUuid],
  }),
];

const opened = { 200: { description: "The session, and what it may do", body: sessionState } };
const session: readonly Operation[] = [
  read("/ops/session", "What this request may do, and how that was shown", sessionState),
  {
    method: "POST",
    path: "/ops/session",
    tags: [],
    doc: { summary: "Opens a browser's session with a token", body: sessionBody, answers: opened },
  },
  {
    method: "DELETE",
    path: "/ops/session",
    tags: [],
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

// What OpenAPI says about the reads of nodes and actors.

const ref = [kind, parameter("path", "id", "Id of the actor, percent-encoded where necessary.")];
const limit = parameter("query", "limit", "1 to 200; 50 if it is left out.");
const problems = ["not_found"] as const;

const lists: readonly Operation[] = [
  read("/ops/nodes", "All nodes: release, load and lease", nodeList),
  read("/ops/counts", "How many actors there are, by kind, state and node", actorCounts),
  read("/ops/attention", "The actors that need a look, the most urgent first", attentionList),
  read("/ops/machines", "The machines of all kinds of actors, as they run", machineList),
  read("/ops/machines/:kind", "The machine of a kind, as it runs", machineChart, {
    parameters: [kind],
    problems,
  }),
  read("/ops/actors", "Actors in memory on all nodes, or those of a kind that the store knows", actorPage, {
    parameters: [
      parameter("query", "scope", "active (in memory, which is the default) or known."),
      parameter("query", "kind", "Only this kind; required for known ones."),
      parameter("query", "state", "Only in this state, or one within it, such as working."),
      parameter("query", "region", "Only of this region."),
      parameter("query", "node", "Only of the node with this incarnation."),
      parameter("query", "part", "Only ids that contain this."),
      parameter("query", "after", "`next_after` of the previous page."),
      limit,
    ],
  }),
  read(
    "/ops/search",
    "Actors by id, by a part of it, by the business they belong to, or by state",
    searchResult,
    {
      parameters: [parameter("query", "q", "2 to 256 characters; `kind/…` searches one kind only."), limit],
    },
  ),
  read(
    "/ops/audit",
    "The audit logs of all nodes: what operators did or were refused, newest first",
    auditPage,
    {
      parameters: [parameter("query", "before", "`next_before` of the previous page.")],
      problems: ["request_invalid"],
    },
  ),
  read("/ops/refusals", "Requests that were refused, by surface, code, key and address", refusedRequests, {
    parameters: [
      parameter("query", "surface", "Only `requests` of this surface, such as business."),
      parameter("query", "code", "Only `requests` with this code, such as key_unknown."),
      parameter("query", "key_id", "Only `requests` that named this key."),
    ],
  }),
];

const one: readonly Operation[] = [
  read("/ops/actors/:kind/:id", "One actor: state, context, why it waits, owners, effects", actorDetail, {
    parameters: ref,
    problems,
  }),
  read("/ops/actors/:kind/:id/journal", "Its journal, with the states around each event", journalPage, {
    parameters: [...ref, parameter("query", "before", "`next_before` of the previous page."), limit],
    problems,
  }),
  read(
    "/ops/actors/:kind/:id/export",
    "The journals of its business, with its keys and pushes, as the start of a simulation: needs the right to act",
    anyText,
    { parameters: ref, problems, mediaType: exportMediaType },
  ),
];

const stream = { mediaType: "text/event-stream", problems };
const live: readonly Operation[] = [
  read(
    "/ops/live/counts",
    "Server-Sent Events: `counts`, as /ops/counts, whenever they change",
    anyText,
    stream,
  ),
  read(
    "/ops/live/actors/:kind/:id",
    "Server-Sent Events: `actor`, as /ops/actors/{kind}/{id}, whenever it changes; `gone`; `fault` while it cannot be read",
    anyText,
    { ...stream, parameters: ref },
  ),
];

const acts: readonly Operation[] = [
  ...actorActNames.map((act) => acting(`/ops/actors/:kind/:id/${act}`, actorActs[act], actorActBody, ref)),
  acting("/ops/nodes/:incarnation/drain", "Has a node hand its actors over and stop", drainBody, [
    parameter("path", "incarnation", "Incarnation of the node, as /ops/nodes lists it."),
  ]),
];

function acting(
  path: string,
  summary: string,
  body: Shape<unknown>,
  parameters: readonly Parameter[],
): Operation {
  const answers = { 200: { description: "What was done", body: actorActOutcome } };
  const doc = { summary, parameters, body, answers, problems: ["not_found", "state_changed"] as const };
  return { method: "POST", path, tags: [], doc };
}

const inspectionOperations: readonly Operation[] = [...lists, ...one, ...live, ...acts];
