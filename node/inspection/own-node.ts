// What one node says to operators of itself and of the actors that it has in memory. Other nodes ask for the same, so it leaves
// out what operators are not shown (look.ts).
//   ON1. Nothing is counted or kept while nobody asks.
//   ON2. An answer is bounded, however many actors there are.
//   ON3. A list explains why an actor waits for those alone that are on its page.

import { performance } from "node:perf_hooks";
import type { Message } from "../../actors/messages/protocol.ts";
import { businessRef, partsOf } from "../../actors/messages/refs.ts";
import type { ActorGlance, ActorReport } from "../../actors/system/definition.ts";
import { leavesOf } from "../../machines/chart.ts";
import type { PushContext } from "../../machines/push.ts";
import type { ActorAct, ActResult, ExpectedState } from "../../ops/cluster.ts";
import type { AuditQuery, OwnAudit } from "../../ops/inspection.ts";
import type {
  ActorCounts,
  ActorRow,
  NodeState,
  Readiness,
  RefusedWrite,
} from "../../ops/inspection-shapes.ts";
import type { RefusedQuery, RefusedRequests } from "../../ops/refused-requests.ts";
import type { Act } from "../../ops/shapes.ts";
import { Unavailable } from "../../std/unavailable.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Acting, Process } from "../composition/capabilities.ts";
import { byUrgency, compareTexts, nameOf, redactReport, rowOf, type Where } from "./look.ts";

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
export type NodeQuestions = ReturnType<typeof answersOf>;

export interface OwnNode {
  readonly where: Where & { readonly region: string; readonly node: string };
  readonly answers: NodeQuestions;
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

export function createOwnNode(services: Process & Acting, parts: OwnNodeParts): OwnNode {
  const where = (): OwnNode["where"] => ({ region: services.config.region, node: incarnationOf(services) });
  const acting = createOwnActing(services);
  const answers = answersOf(services, { ...parts, where, acting });
  const known = new Map(Object.entries(answers));
  return {
    get where() {
      return where();
    },
    answers,
    acting,
    answer: async ({ type, ...members }) => {
      const make = known.get(type);
      // The question's members are what a node of this deployment sent.
      if (make !== undefined) return (make as (members: object) => unknown)(members);
      throw new Unavailable(`this node does not know the question ${type}`, {
        reason: "refused",
        effect: "not_applied",
        retryAfterSeconds: 1,
      });
    },
  };
}

interface AnswerParts extends OwnNodeParts {
  readonly where: () => OwnNode["where"];
  readonly acting: OwnActing;
}

function answersOf(
  services: Process & Acting,
  { version, readiness, refused, audit, where, acting }: AnswerParts,
) {
  const { actors, clock, config, fence, elapsedMs } = services;
  const startedAtMs = clock.now();
  let lastUse = performance.eventLoopUtilization();
  const survey = createSurvey({ glances: () => actors.glances(), where, elapsedMs });
  return {
    "operators.node": (): OwnNodeState => {
      const use = performance.eventLoopUtilization(lastUse);
      lastUse = performance.eventLoopUtilization();
      return {
        version,
        started_at: new Date(startedAtMs).toISOString(),
        lease: leaseOf(services),
        load: loadOf(services, Math.min(100, Math.round(use.utilization * 100))),
      };
    },
    "operators.readiness": readiness,
    "operators.counts": () => survey.counts(),
    "operators.actors": (query: ActiveQuery): ActivePage => {
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
    "operators.actor": async ({ ref }: OfActor): Promise<ActorReport | null> => {
      const report = await actors.inspect(ref);
      return report === null ? null : redactReport(report);
    },
    "operators.refusals": ({ ref }: OfActor): readonly RefusedWrite[] =>
      fence.refusedCommits(ref).map(({ epoch, supersededBy, incarnation, atMs }) => ({
        epoch,
        superseded_by: supersededBy,
        owner: `${config.region}/${incarnation}`,
        at: new Date(atMs).toISOString(),
      })),
    "operators.refused_requests": (query: RefusedQuery) => refused.list(query),
    "operators.audit": audit,
    "operators.act": ({ ref, act, ...order }: OfActor & ActOrder & { readonly act: ActorAct }) =>
      acting.act(ref, act, order),
    "operators.drain": ({ expected }: { readonly expected: { readonly state: string } }) =>
      acting.drain(expected),
  };
}

interface OfActor {
  readonly ref: ActorRef;
}

function incarnationOf({ cluster, incarnation }: Process & Acting): string {
  return cluster?.membership.self()?.incarnation ?? incarnation;
}

function leaseOf({ cluster }: Acting): NodeState["lease"] {
  if (cluster === null) return { held: true, age_ms: null, remaining_ms: null };
  const times = cluster.membership.leaseTimes();
  if (times === null) return { held: false, age_ms: null, remaining_ms: null };
  return { held: true, age_ms: Math.round(times.ageMs), remaining_ms: Math.round(times.remainingMs) };
}

function loadOf({ actors }: Acting, busyPercent: number): NodeState["load"] {
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

// What all actors in memory do, counted, and those of them that need a look: one walk over all of them, for every question.
//   SV1. What was found of an actor is kept until it changes, so a walk costs what changed since the last, and a comparison for
//        each of the others. What was found goes with the actor, and nothing is found while nobody asks.
//   SV2. Asking again and again, as for a live view, takes at most a hundredth of the node's time: a survey is kept for a hundred
//        times as long as it took. It is kept for a minute at most: a node that stood still while it looked seems to have looked for long.

type Reason = NonNullable<ActorRow["attention"]>["reason"];

interface OwnCounts {
  readonly kinds: readonly {
    readonly kind: string;
    readonly active: number;
    readonly states: readonly { readonly state: string; readonly count: number }[];
  }[];
  readonly attention: readonly { readonly reason: Reason; readonly count: number }[];
  readonly pushes: readonly KeyPushes[];
}

export interface Survey {
  counts(): OwnCounts;
  /** Those that need a look, the most urgent first. */
  urgent(): readonly ActorRow[];
}

export interface SurveyDeps {
  readonly glances: () => Iterable<ActorGlance>;
  readonly where: () => Where;
  readonly elapsedMs: () => number;
}

/** See SV2. */
const keptTimes = 100;
const keptMaxMs = 60_000;

/** The actors of one kind in the same states, for the same reason of a look or none. */
interface Group {
  readonly kind: string;
  readonly states: readonly string[];
  readonly reason: Reason | null;
  /** In the walk that is under way, or was the last. */
  count: number;
}

interface Finding {
  readonly revision: number;
  readonly group: Group;
  /** Its row if it needs a look. */
  readonly row: ActorRow | null;
}

export function createSurvey({ glances, where, elapsedMs }: SurveyDeps): Survey {
  const findings = new WeakMap<ActorGlance, Finding>();
  // There are no more groups than the machines have states.
  const groups = new Map<string, Group>();
  let kept: { readonly counts: OwnCounts; readonly urgent: readonly ActorRow[]; readonly untilMs: number } = {
    counts: { kinds: [], attention: [], pushes: [] },
    urgent: [],
    untilMs: Number.NEGATIVE_INFINITY,
  };
  const find = (glance: ActorGlance): Finding => {
    const known = findings.get(glance);
    if (known !== undefined && known.revision === glance.revision) return known;
    const row = rowOf(glance, nowhere);
    const finding = { revision: glance.revision, group: groupOf(groups, row), row: row.attention && row };
    findings.set(glance, finding);
    return finding;
  };
  const survey = (): typeof kept => {
    const beganMs = elapsedMs();
    if (beganMs < kept.untilMs) return kept;
    const urgent: ActorRow[] = [];
    const { region, node } = where();
    for (const group of groups.values()) group.count = 0;
    const tally = createPushTally();
    for (const glance of tally.look(glances())) {
      const { group, row } = find(glance);
      group.count += 1;
      if (row !== null) urgent.push({ ...row, region, node, mailbox: glance.mailbox });
    }
    urgent.sort(byUrgency);
    const counts = { ...countsOf(groups.values()), pushes: tally.most() };
    const endedMs = elapsedMs();
    kept = { counts, urgent, untilMs: endedMs + Math.min(keptMaxMs, (endedMs - beganMs) * keptTimes) };
    return kept;
  };
  return { counts: () => survey().counts, urgent: () => survey().urgent };
}

/** A node's name may change while its actors stay. */
const nowhere: Where = { region: null, node: null };

function groupOf(groups: Map<string, Group>, { kind, states, attention }: ActorRow): Group {
  const reason = attention?.reason ?? null;
  const name = `${kind} ${reason} ${states.join(" ")}`;
  const group = groups.get(name) ?? { kind, states, reason, count: 0 };
  groups.set(name, group);
  return group;
}

function countsOf(groups: Iterable<Group>): Omit<OwnCounts, "pushes"> {
  const kinds = new Map<string, { active: number; readonly states: Map<string, number> }>();
  const reasons = new Map<Reason, number>();
  for (const { kind, states, reason, count } of groups) {
    if (count === 0) continue;
    const known = kinds.get(kind) ?? { active: 0, states: new Map<string, number>() };
    kinds.set(kind, known);
    known.active += count;
    for (const state of states) add(known.states, state, count);
    if (reason !== null) add(reasons, reason, count);
  }
  return {
    kinds: [...kinds].map(([kind, { active, states }]) => ({
      kind,
      active,
      states: [...states].map(([state, count]) => ({ state, count })),
    })),
    attention: [...reasons].map(([reason, count]) => ({ reason, count })),
  };
}

function add<K>(sums: Map<K, number>, name: K, count: number): void {
  sums.set(name, (sums.get(name) ?? 0) + count);
}

// Which keys have how many pushes under way, so that one that floods is seen. It is counted on the walk that counts actors.
//   PU1. A node names at most `keysMax` keys, and the answer to operators `shownMax`: those with the most pushes.

type KeyPushes = ActorCounts["pushes_under_way"][number];

const keysMax = 200;
const shownMax = 20;

export interface PushTally {
  /** The same actors; their pushes are counted as they are looked at. */
  look(glances: Iterable<ActorGlance>): Iterable<ActorGlance>;
  /** Most pushes first. */
  most(): readonly KeyPushes[];
}

export function createPushTally(): PushTally {
  const counts = new Map<string, KeyPushes>();
  return {
    *look(glances) {
      for (const glance of glances) {
        if (glance.ref.kind === "push" && isWorking(glance.state)) note(counts, glance.context);
        yield glance;
      }
    },
    most: () => [...counts.values()].sort(byCount).slice(0, keysMax),
  };
}

/** What several nodes counted, of all keys together. */
export function sumOfPushes(all: readonly (readonly KeyPushes[])[]): readonly KeyPushes[] {
  const counts = new Map<string, KeyPushes>();
  for (const each of all.flat()) addPushes(counts, each);
  return [...counts.values()].sort(byCount).slice(0, shownMax);
}

function isWorking(state: unknown): boolean {
  return typeof state === "object" && state !== null && "working" in state;
}

/** A push that is loaded just now has no context, and is counted on the next walk. */
function note(counts: Map<string, KeyPushes>, context: unknown): void {
  const facts = (context as Pick<PushContext, "facts"> | null)?.facts ?? null;
  if (facts === null) return;
  const { business_uuid, key_id, records } = facts;
  addPushes(counts, { business_uuid, key_id, pushes: 1, records });
}

function addPushes(counts: Map<string, KeyPushes>, more: KeyPushes): void {
  const name = `${more.business_uuid} ${more.key_id}`;
  const { pushes = 0, records = 0 } = counts.get(name) ?? {};
  counts.set(name, { ...more, pushes: pushes + more.pushes, records: records + more.records });
}

function byCount(a: KeyPushes, b: KeyPushes): number {
  return b.pushes - a.pushes || b.records - a.records || compareTexts(a.key_id, b.key_id);
}

// Acts of operators on the node's own actors, and on the node (AC1 in node-asker.ts).

/** What an operator saw, and who acts and why. */
export interface ActOrder {
  readonly expected: ExpectedState;
  readonly said: Act;
}

/** Acts on this node's own actors. */
export interface OwnActing {
  act(ref: ActorRef, act: ActorAct, order: ActOrder): Promise<ActResult>;
  drain(expected: { readonly state: string }): ActResult;
}

export function createOwnActing(services: Process & Acting): OwnActing {
  const { actors } = services;
  return {
    act: async (ref, act, { expected, said }) => {
      const report = await actors.inspect(ref);
      if (report === null) return { refused: "unknown" };
      const changed = changeOf(report, expected);
      if (changed !== null) return { refused: "state_changed", detail: changed };
      if (act === "cancel") return cancel(services, ref, said);
      if (act === "release")
        return report.status === "quarantined" && actors.release(ref)
          ? { outcome: "released" }
          : notPossible("the actor is not quarantined.");
      if (act === "retry")
        return actors.retryNow(ref)
          ? { outcome: "retried" }
          : notPossible(
              "the actor is neither in memory nor waits for a restart; the store finds it due by itself.",
            );
      return actors.passivate(ref) ? { outcome: "leaving" } : notPossible("the actor is not in memory.");
    },
    drain: ({ state }) => {
      const now =
        services.cluster === null ? "standalone" : (services.cluster.membership.self()?.state ?? "leaving");
      if (now !== state) return { refused: "state_changed", detail: `The node is ${now} by now.` };
      services.drain();
      return { outcome: "draining" };
    },
  };
}

function notPossible(detail: string): ActResult {
  return { refused: "not_possible", detail };
}

/** What is different from what the operator saw; null if nothing is. */
function changeOf(
  report: { readonly status: string; readonly state: unknown; readonly head: number },
  { status, states, head }: ExpectedState,
): string | null {
  if (report.status !== status) return `The actor is ${report.status} by now.`;
  if (head !== undefined && report.head !== head) return `The actor has made ${report.head} commits by now.`;
  const now = leavesOf(report.state);
  if (states === undefined || [...states].sort().join() === [...now].sort().join()) return null;
  return `The actor is in ${now.join(", ")} by now.`;
}

/** Its business decides, since that also decides when the first records are published (service/publishing/decide-hold.ts). */
async function cancel({ actors }: Process & Acting, { kind, id }: ActorRef, act: Act): Promise<ActResult> {
  const { party, own } = partsOf(id);
  if (kind !== "push" || party === "") return notPossible("only a push can be cancelled.");
  const { status } = await actors.ask(businessRef(party), { type: "push.cancel", push_id: own, act });
  return status === "cancelled"
    ? { outcome: "cancelled" }
    : notPossible("records of the push are already being published, or it is over.");
}
