// What OpenAPI says about the reads of nodes and actors.

import type { Operation, Parameter } from "../api/route.ts";
import { anyText, type Shape } from "../protocol/shape.ts";
import { actorActBody, actorActNames, actorActOutcome, actorActs, drainBody } from "./actor-acts.ts";
import { auditPage } from "./audit.ts";
import { exportMediaType } from "./inspection.ts";
import {
  actorCounts,
  actorDetail,
  actorPage,
  attentionList,
  journalPage,
  machineChart,
  machineList,
  searchResult,
} from "./inspection-shapes.ts";
import { nodeList } from "./node-shapes.ts";
import { parameter, read } from "./operation-docs.ts";
import { pushRoad } from "./push-road-shape.ts";
import { refusedRequests } from "./refused-shapes.ts";

const kind = parameter("path", "kind", "Kind of actor, such as push.");
const ref = [kind, parameter("path", "id", "Id of the actor, percent-encoded where necessary.")];
const limit = parameter("query", "limit", "1 to 200; 50 if it is left out.");
const push = [
  parameter("path", "business_uuid", "UUID of the business."),
  parameter("path", "push_id", "Id of the push."),
  parameter(
    "query",
    "from_chunk",
    "The first chunk that is shown, from 0; the newest 50 are if it is left out.",
  ),
];
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
    ...{ parameters: ref, problems },
  }),
  read("/ops/pushes/:business_uuid/:push_id/road", "The road of a push over all actors, by time", pushRoad, {
    ...{ parameters: push, problems },
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
  read(
    "/ops/live/pushes/:business_uuid/:push_id",
    "Server-Sent Events: `push`, with `detail` as /ops/actors/push/{id} and `road` as /ops/pushes/{business_uuid}/{push_id}/road, whenever either changes; `fault` while it cannot be read",
    anyText,
    { ...stream, parameters: push },
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

export const inspectionOperations: readonly Operation[] = [...lists, ...one, ...live, ...acts];
