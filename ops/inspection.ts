// What operators read of nodes and actors: lists, searches, one actor with why it waits, and its journal. Everything here is a read; nothing wakes or changes an actor.

import type { FastifyReply } from "fastify";
import { parseTimestamp } from "../protocol/identifiers.ts";
import type { JsonObject } from "../protocol/json/canonical-json.ts";
import type { ProblemExtras } from "../protocol/problem.ts";
import type { Result } from "../protocol/result.ts";
import { anyText, nearestName } from "../protocol/shape.ts";
import { sendProblem } from "./acts.ts";
import { actorNames } from "./cluster.ts";
import {
  type ActorCounts,
  type ActorDetail,
  type ActorPage,
  type AttentionList,
  type AuditPage,
  actorCounts,
  actorDetail,
  actorPage,
  attentionList,
  auditPage,
  type JournalPage,
  journalPage,
  type MachineChart,
  machineChart,
  machineList,
  type NodeState,
  nodeList,
  type RefusedRequests,
  refusedRequests,
  type SearchResult,
  searchResult,
} from "./inspection-shapes.ts";
import type { RefusedQuery } from "./refused-requests.ts";
import { afterPage, type OpsRoute, parameter, read } from "./route.ts";

interface Ref {
  readonly kind: string;
  readonly id: string;
}

export interface ActorQuery {
  /** `active`: those in memory, on all nodes. `known`: those that the store lists, of one kind. */
  readonly scope: "active" | "known";
  readonly kind: string | null;
  readonly state: string | null;
  readonly region: string | null;
  readonly node: string | null;
  /** A part of the id. */
  readonly part: string | null;
  readonly after: string;
  readonly limit: number;
}

type Past<T> = Result<T, "unknown" | "no_journal">;

/** A journal as a file, which holds what businesses published; `name` is that of the file. */
export interface ExportedJournal {
  readonly name: string;
  readonly text: string;
}
export type Exported = Result<ExportedJournal, "unknown" | "not_exported" | "journal_too_large">;

/** What the routes need; the node implements it over the cluster. */
export interface Inspection {
  nodes(): Promise<readonly NodeState[]>;
  counts(): Promise<ActorCounts>;
  list(query: ActorQuery): Promise<ActorPage>;
  attention(): Promise<AttentionList>;
  search(text: string, limit: number): Promise<SearchResult>;
  refused(query: RefusedQuery): Promise<RefusedRequests>;
  /** A page of the audit logs of all nodes, {@link auditPageMax} entries or a few more. */
  audit(before: string | null): Promise<AuditPage>;
  /** Null for an actor that never existed. */
  detail(ref: Ref): Promise<ActorDetail | null>;
  machines(): readonly MachineChart[];
  readonly past: {
    journal(ref: Ref, page: { readonly before: number; readonly limit: number }): Promise<Past<JournalPage>>;
    /** The journals of the actor's business, its keys and its pushes, as the start of a simulation. */
    exported(ref: Ref): Promise<Exported>;
  };
}

const pageDefault = 50;
const pageMax = 200;
const searchLengthMin = 2;
const searchLengthMax = 256;

type Query = Readonly<Record<string, string | undefined>>;

const limitParameter = parameter("query", "limit", "1 to 200; 50 if it is left out.");
const problems = ["not_found"] as const;

export function inspectionRoutes(inspection: Inspection): readonly OpsRoute[] {
  return [...listRoutes(inspection), ...actorRoutes(inspection)];
}

function listRoutes(inspection: Inspection): readonly OpsRoute[] {
  return [
    read("/ops/nodes", { summary: "All nodes: release, load and lease", answer: nodeList }, async () => ({
      nodes: await inspection.nodes(),
    })),
    read(
      "/ops/counts",
      { summary: "How many actors there are, by kind, state and node", answer: actorCounts },
      async () => inspection.counts(),
    ),
    read(
      "/ops/attention",
      { summary: "The actors that need a look, the most urgent first", answer: attentionList },
      async () => inspection.attention(),
    ),
    read(
      "/ops/machines",
      { summary: "The machines of all kinds of actors, as they run", answer: machineList },
      async () => ({ machines: inspection.machines() }),
    ),
    read(
      "/ops/machines/:kind",
      {
        summary: "The machine of a kind, as it runs",
        answer: machineChart,
        parameters: actorNames.slice(0, 1),
        problems,
      },
      async ({ params }, reply) => {
        const found = inspection.machines().find(({ kind }) => kind === params.kind);
        return found ?? sendProblem(reply, "not_found", noKind, near(params.kind, kindsOf(inspection)));
      },
    ),
    read(
      "/ops/actors",
      {
        summary: "Actors in memory on all nodes, or those of a kind that the store knows",
        answer: actorPage,
        parameters: [
          parameter("query", "scope", "active (in memory, which is the default) or known."),
          parameter("query", "kind", "Only this kind; required for known ones."),
          parameter("query", "state", "Only in this state, or one within it, such as working."),
          parameter("query", "region", "Only of this region."),
          parameter("query", "node", "Only of the node with this incarnation."),
          parameter("query", "part", "Only ids that contain this."),
          afterPage,
          limitParameter,
        ],
      },
      async (request, reply) => {
        const asked = readQuery(request.query);
        if (!asked.ok) return refuseQuery(reply, asked);
        const { kind } = asked.value;
        const kinds = kindsOf(inspection);
        if (kind === null || kinds.includes(kind)) return inspection.list(asked.value);
        return sendProblem(reply, "request_invalid", noKind, {
          pointer: "/query/kind",
          ...near(kind, kinds),
        });
      },
    ),
    read(
      "/ops/search",
      {
        summary: "Actors by id, by a part of it, by the business they belong to, or by state",
        answer: searchResult,
        parameters: [
          parameter("query", "q", "2 to 256 characters; `kind/…` searches one kind only."),
          limitParameter,
        ],
      },
      async (request, reply) => {
        const { q = "", limit } = request.query;
        const size = readInteger(limit, { fallback: pageDefault, min: 1, max: pageMax });
        if (size === null) return refuseLimit(reply);
        if (q.length >= searchLengthMin && q.length <= searchLengthMax) return inspection.search(q, size);
        const detail = `\`q\` must have ${searchLengthMin} to ${searchLengthMax} characters.`;
        return sendProblem(reply, "request_invalid", detail, { pointer: "/query/q" });
      },
    ),
    read(
      "/ops/audit",
      {
        summary: "The audit logs of all nodes: what operators did or were refused, newest first",
        answer: auditPage,
        parameters: [beforePage],
        problems: ["request_invalid"],
      },
      async ({ query: { before = null } }, reply) =>
        before === null || parseTimestamp(before) !== null
          ? inspection.audit(before)
          : sendProblem(reply, "request_invalid", "`before` is the `next_before` of the previous page.", {
              pointer: "/query/before",
            }),
    ),
    read(
      "/ops/refusals",
      {
        summary: "Requests that were refused, by surface, code, key and address",
        answer: refusedRequests,
        parameters: [
          parameter("query", "surface", "Only `requests` of this surface, such as business."),
          parameter("query", "code", "Only `requests` with this code, such as key_unknown."),
          parameter("query", "key_id", "Only `requests` that named this key."),
        ],
      },
      async ({ query: { surface = null, code = null, key_id = null } }) =>
        inspection.refused({ surface, code, key_id }),
    ),
  ];
}

const beforePage = parameter("query", "before", "`next_before` of the previous page.");
const exportMediaType = "application/x-ndjson";

function actorRoutes(inspection: Inspection): readonly OpsRoute[] {
  const { past } = inspection;
  return [
    read(
      "/ops/actors/:kind/:id",
      {
        summary: "One actor: state, context, why it waits, owners, effects",
        answer: actorDetail,
        parameters: actorNames,
        problems,
      },
      async ({ params }, reply) => {
        const detail = await inspection.detail(params);
        if (detail !== null) return detail;
        const kinds = kindsOf(inspection);
        if (kinds.includes(params.kind)) return sendProblem(reply, "not_found", "This actor does not exist.");
        return sendProblem(reply, "not_found", noKind, near(params.kind, kinds));
      },
    ),
    read(
      "/ops/actors/:kind/:id/journal",
      {
        summary: "Its journal, with the states around each event",
        answer: journalPage,
        parameters: [...actorNames, beforePage, limitParameter],
        problems,
      },
      async ({ params, query }, reply) => {
        const newest = { fallback: Number.MAX_SAFE_INTEGER, min: 0, max: Number.MAX_SAFE_INTEGER };
        const before = readInteger(query["before"], newest);
        const limit = readInteger(query["limit"], { fallback: pageDefault, min: 1, max: pageMax });
        if (limit === null) return refuseLimit(reply);
        if (before !== null) return tell(reply, await past.journal(params, { before, limit }));
        const detail = "`before` must be the number of an event.";
        return sendProblem(reply, "request_invalid", detail, { pointer: "/query/before" });
      },
    ),
    // A journal holds what businesses published, so it takes the right to act, and who takes it is in the audit log.
    read(
      "/ops/actors/:kind/:id/export",
      {
        summary:
          "The journals of its business, with its keys and pushes, as the start of a simulation: needs the right to act",
        answer: anyText,
        parameters: actorNames,
        problems,
        mediaType: exportMediaType,
      },
      async ({ params }, reply) => {
        const found = await past.exported(params);
        if (!found.ok) return tell(reply, found);
        const { name, text } = found.value;
        reply.request.outcome = { outcome: "exported" };
        return reply
          .header("content-disposition", `attachment; filename="${name}"`)
          .header("content-type", exportMediaType)
          .send(Buffer.from(text));
      },
    ),
  ];
}

const noKind = "There is no such kind of actor.";

function kindsOf(inspection: Inspection): readonly string[] {
  return inspection.machines().flatMap(({ kind, part_of }) => (part_of === null ? [kind] : []));
}

function near(kind: string, kinds: readonly string[]): Pick<ProblemExtras, "allowed" | "suggestion"> {
  const suggestion = nearestName(kind, kinds);
  return { allowed: kinds, ...(suggestion === null ? {} : { suggestion }) };
}

function readQuery(given: Query): Result<ActorQuery> {
  const { scope = "active", kind = null, state = null, region = null, node = null } = given;
  const { part = null, after = "" } = given;
  const limit = readInteger(given["limit"], { fallback: pageDefault, min: 1, max: pageMax });
  const fault = (detail: string, name: string): Result<ActorQuery> => ({
    ok: false,
    code: "request_invalid",
    detail,
    pointer: `/query/${name}`,
  });
  if (limit === null) return fault(limitDetail, "limit");
  if (scope !== "active" && scope !== "known") return fault("`scope` must be active or known.", "scope");
  if (scope === "known" && kind === null) return fault("`kind` is required where `scope` is known.", "kind");
  if (scope === "known" && (node !== null || part !== null))
    return fault("`node` and `part` select actors in memory, so `scope` must be active.", "scope");
  return { ok: true, value: { scope, kind, state, region, node, part, after, limit } };
}

const limitDetail = `\`limit\` must be an integer from 1 to ${pageMax}.`;

function refuseLimit(reply: FastifyReply): FastifyReply {
  return sendProblem(reply, "request_invalid", limitDetail, { pointer: "/query/limit" });
}

function refuseQuery(reply: FastifyReply, fault: Result<ActorQuery> & { readonly ok: false }): FastifyReply {
  const { pointer = "/query" } = fault;
  return sendProblem(reply, "request_invalid", fault.detail, { pointer });
}

function tell<T>(reply: FastifyReply, found: Result<T>): FastifyReply {
  if (found.ok) return reply.send(found.value);
  const { code, detail } = found;
  return code === "unknown"
    ? sendProblem(reply, "not_found", detail)
    : sendProblem(reply, "request_invalid", detail, { reason: code });
}

function readInteger(
  text: string | undefined,
  { fallback, min, max }: { readonly fallback: number; readonly min: number; readonly max: number },
): number | null {
  if (text === undefined) return fallback;
  const number = /^[0-9]{1,16}$/.test(text) ? Number(text) : Number.NaN;
  return number >= min && number <= max ? number : null;
}

// The audit log, as operators read it: what they did or were refused on every node, newest first.

export interface AuditQuery {
  /** Only entries before this moment; null for the newest. */
  readonly before: string | null;
  readonly limit: number;
}

export interface AuditEntry {
  readonly at: string;
  /** `ops.asked` before an act is done, `ops.acted` or `ops.refused` after it; others are about keys and homes. */
  readonly event: string;
  readonly region: string;
  readonly detail: JsonObject;
}

/** What one node has. */
export interface OwnAudit {
  /** False where its log goes to standard output. */
  readonly readable: boolean;
  readonly entries: readonly AuditEntry[];
}

export const auditPageMax = 50;

/** One page from the newest pages of all nodes, cut between two moments (AR1 in node/keeping/audit-log.ts). */
export function mergeAudit(
  pages: readonly { readonly node: string; readonly page: OwnAudit }[],
  limit: number,
): Pick<AuditPage, "entries" | "next_before" | "unreadable"> {
  const all = pages
    .flatMap(({ node, page }) => page.entries.map((entry) => ({ ...entry, node })))
    .sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1));
  const last = all[limit - 1]?.at;
  const entries = last === undefined ? all : all.filter(({ at }) => at >= last);
  const isFull = pages.some(({ page }) => page.entries.length >= limit);
  const next = entries.length < all.length || isFull ? (entries.at(-1)?.at ?? null) : null;
  return {
    entries,
    next_before: next,
    unreadable: pages.flatMap(({ node, page }) => (page.readable ? [] : [node])),
  };
}
