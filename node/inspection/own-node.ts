// What one node says to operators of itself and of the actors that it has in memory. Other nodes ask for the same, so it leaves
// out what operators are not shown (redact.ts).
//   ON1. Nothing is counted or kept while nobody asks.
//   ON2. An answer is bounded, however many actors there are.
//   ON3. A list explains why an actor waits for those alone that are on its page.

import { performance } from "node:perf_hooks";
import type { Message } from "../../actors/messages/protocol.ts";
import type { ActorReport } from "../../actors/system/definition.ts";
import { leavesOf } from "../../machines/chart.ts";
import type { ActorAct, ActResult, ExpectedState } from "../../ops/actor-acts.ts";
import type { AuditQuery, OwnAudit } from "../../ops/audit.ts";
import type { ActorRow, RefusedWrite } from "../../ops/inspection-shapes.ts";
import type { NodeState, Readiness } from "../../ops/node-shapes.ts";
import type { OwnRefused, RefusedQuery, RefusedRequests } from "../../ops/refused-requests.ts";
import type { Act } from "../../ops/shapes.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { NodeServices } from "../services.ts";
import type { FoundSpans, SpanQuestion } from "../telemetry/kept-spans.ts";
import { createOwnActing, type OwnActing } from "./acting.ts";
import { compareTexts, nameOf, rowOf } from "./look.ts";
import { redactReport } from "./redact.ts";
import { createSurvey, type OwnCounts } from "./survey.ts";

/** Which actors in memory are listed. Null stands for any. */
export interface ActiveQuery {
  readonly kind: string | null;
  /** A path, which includes the states within it. */
  readonly state: string | null;
  /** A part of the id. */
  readonly part: string | null;
  /** Only those that need a look. */
  readonly attention: boolean;
  /** `kind/id` after which the page begins; empty for the first. */
  readonly after: string;
  readonly limit: number;
}

export interface ActivePage {
  readonly rows: readonly ActorRow[];
  /** Number of all that match, whatever the page. */
  readonly total: number;
}

export type OwnNodeState = Pick<NodeState, "version" | "started_at" | "lease" | "load">;

/** What nodes ask each other, with the answers. */
export interface NodeQuestions {
  "operators.node"(): OwnNodeState;
  "operators.readiness"(): Readiness;
  "operators.counts"(): OwnCounts;
  "operators.actors"(question: ActiveQuery): ActivePage;
  "operators.actor"(question: { readonly ref: ActorRef }): ActorReport | null;
  "operators.refusals"(question: { readonly ref: ActorRef }): readonly RefusedWrite[];
  "operators.refused_requests"(question: RefusedQuery): OwnRefused;
  "operators.audit"(question: AuditQuery): OwnAudit;
  /** Null if it records no traces. */
  "operators.spans"(question: SpanQuestion): FoundSpans | null;
  "operators.act"(question: {
    readonly ref: ActorRef;
    readonly act: ActorAct;
    readonly expected: ExpectedState;
    readonly said: Act;
  }): ActResult;
  "operators.drain"(question: { readonly expected: { readonly state: string } }): ActResult;
}

export interface OwnNode {
  readonly where: { readonly region: string; readonly node: string };
  state(): OwnNodeState;
  readiness(): Promise<Readiness>;
  counts(): OwnCounts;
  actors(query: ActiveQuery): ActivePage;
  actor(ref: ActorRef): Promise<ActorReport | null>;
  refusals(ref: ActorRef): readonly RefusedWrite[];
  refusedRequests(query: RefusedQuery): OwnRefused;
  audit(query: AuditQuery): Promise<OwnAudit>;
  spans(question: SpanQuestion): FoundSpans | null;
  readonly acting: OwnActing;
  /** Answers another node; refuses a question that it does not know, as one of a later release may ask (NA2). */
  answer(question: Message): Promise<unknown>;
}

const pageMax = 200;
export interface OwnNodeParts {
  /** The release. */
  readonly version: string;
  readonly readiness: () => Promise<Readiness>;
  /** What its surfaces refused. */
  readonly refused: Pick<RefusedRequests, "list">;
  readonly audit: (query: AuditQuery) => Promise<OwnAudit>;
}

export function createOwnNode(
  services: Pick<
    NodeServices,
    "actors" | "clock" | "config" | "incarnation" | "cluster" | "fence" | "drain" | "elapsedMs" | "tracing"
  >,
  { version, readiness, refused, audit }: OwnNodeParts,
): OwnNode {
  const { actors, clock, config, fence, elapsedMs } = services;
  const startedAtMs = clock.now();
  let lastUse = performance.eventLoopUtilization();
  const where = (): OwnNode["where"] => ({ region: config.region, node: incarnationOf(services) });
  const survey = createSurvey({ glances: () => actors.glances(), where, elapsedMs });
  const own: OwnNode = {
    get where() {
      return where();
    },
    state: () => {
      const use = performance.eventLoopUtilization(lastUse);
      lastUse = performance.eventLoopUtilization();
      return {
        version,
        started_at: new Date(startedAtMs).toISOString(),
        lease: leaseOf(services),
        load: loadOf(services, Math.min(100, Math.round(use.utilization * 100))),
      };
    },
    readiness,
    counts: () => survey.counts(),
    actors: (query) => {
      if (!query.attention) {
        const { found, total } = pageOf(actors.glances(), query, {
          refOf: ({ ref }) => ref,
          statesOf: ({ state }) => leavesOf(state),
        });
        const here = where();
        return { rows: found.map((glance) => rowOf(glance, here)), total };
      }
      const { found, total } = pageOf(survey.urgent(), query, {
        refOf: (row) => row,
        statesOf: ({ states }) => states,
      });
      return { rows: found, total };
    },
    actor: async (ref) => {
      const report = await actors.inspect(ref);
      return report === null ? null : redactReport(report);
    },
    refusals: (ref) =>
      fence.refusedCommits(ref).map(({ epoch, supersededBy, incarnation, atMs }) => ({
        epoch,
        superseded_by: supersededBy,
        owner: `${config.region}/${incarnation}`,
        at: new Date(atMs).toISOString(),
      })),
    refusedRequests: (query) => refused.list(query),
    audit,
    spans: (question) => services.tracing?.find(question) ?? null,
    acting: createOwnActing(services),
    answer: (question) => answer(own, question),
  };
  return own;
}

/** What an answer to another node is made from: the question's members are what a node of this deployment sent. */
async function answer(own: OwnNode, question: Message): Promise<unknown> {
  const { type, ...rest } = question;
  const members: unknown = rest;
  switch (type) {
    case "operators.node":
      return own.state();
    case "operators.readiness":
      return own.readiness();
    case "operators.counts":
      return own.counts();
    case "operators.actors":
      return own.actors(members as ActiveQuery);
    case "operators.actor":
      return own.actor((members as { readonly ref: ActorRef }).ref);
    case "operators.refusals":
      return own.refusals((members as { readonly ref: ActorRef }).ref);
    case "operators.refused_requests":
      return own.refusedRequests(members as RefusedQuery);
    case "operators.audit":
      return own.audit(members as AuditQuery);
    case "operators.spans":
      return own.spans(members as SpanQuestion);
    case "operators.act": {
      const { ref, act, ...order } = members as Parameters<NodeQuestions["operators.act"]>[0];
      return own.acting.act(ref, act, order);
    }
    case "operators.drain":
      return own.acting.drain((members as Parameters<NodeQuestions["operators.drain"]>[0]).expected);
    default:
      throw new Unavailable(`this node does not know the question ${type}`, {
        ...{ reason: "refused", effect: "not_applied", retryAfterSeconds: 1 },
      });
  }
}

function incarnationOf({ cluster, incarnation }: Pick<NodeServices, "cluster" | "incarnation">): string {
  return cluster?.membership.self()?.incarnation ?? incarnation;
}

function leaseOf({ cluster }: Pick<NodeServices, "cluster">): NodeState["lease"] {
  if (cluster === null) return { held: true, age_ms: null, remaining_ms: null };
  const times = cluster.membership.leaseTimes();
  if (times === null) return { held: false, age_ms: null, remaining_ms: null };
  return { held: true, age_ms: Math.round(times.ageMs), remaining_ms: Math.round(times.remainingMs) };
}

function loadOf({ actors }: Pick<NodeServices, "actors">, busyPercent: number): NodeState["load"] {
  const stats = actors.stats();
  return {
    active: stats.active,
    mailboxed: stats.mailboxed,
    outbox: stats.outboxPending,
    activities_waiting: stats.activitiesWaiting,
    quarantined: stats.quarantined.length,
    commands: stats.commandsHandled,
    commits: stats.commits,
    crashes: stats.crashes,
    refused_commits: stats.refusedCommits,
    resident_bytes: process.memoryUsage.rss(),
    busy_percent: busyPercent,
  };
}

/** Those that are in the order of a list are sorted by name; those that need a look are in their order already. */
function pageOf<T>(
  all: Iterable<T>,
  { kind, state, part, attention, after, limit }: ActiveQuery,
  {
    refOf,
    statesOf,
  }: { readonly refOf: (each: T) => ActorRef; readonly statesOf: (each: T) => ActorRow["states"] },
): { readonly found: readonly T[]; readonly total: number } {
  const found: { readonly name: string; readonly each: T }[] = [];
  let total = 0;
  for (const each of all) {
    const ref = refOf(each);
    if (kind !== null && ref.kind !== kind) continue;
    if (part !== null && !ref.id.includes(part)) continue;
    const isIn = (path: string): boolean => path === state || path.startsWith(`${state}.`);
    if (state !== null && !statesOf(each).some(isIn)) continue;
    total += 1;
    const name = nameOf(ref);
    if (compareTexts(name, after) > 0) found.push({ name, each });
  }
  if (!attention) found.sort((a, b) => compareTexts(a.name, b.name));
  return { found: found.slice(0, Math.min(limit, pageMax)).map(({ each }) => each), total };
}
