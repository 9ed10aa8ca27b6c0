// What operators read, from any node, of every node and actor of the cluster.
//   IN1. What is in memory is asked of the node that has it; a node that does not answer is named, and everything else is shown.
//   IN2. What is stored is read here: no actor is claimed or woken.

import type { ActorDefinition, ActorReport } from "../../actors/system/definition.ts";
import { readActivations } from "../../actors/system/journal-walk.ts";
import { type ChartState, chartOf, leavesOf } from "../../machines/chart.ts";
import type { ActorActing } from "../../ops/actor-acts.ts";
import { type AuditPage, type AuditQuery, auditPageMax, mergeAudit, type OwnAudit } from "../../ops/audit.ts";
import type { ActorQuery, Inspection } from "../../ops/inspection.ts";
import type {
  ActorCounts,
  ActorDetail,
  ActorPage,
  ActorRow,
  AttentionList,
  DetailParts,
  MachineChart,
  RefusedWrite,
} from "../../ops/inspection-shapes.ts";
import { attentionReasons } from "../../ops/inspection-shapes.ts";
import type { NodeState } from "../../ops/node-shapes.ts";
import { mergeRefused, type RefusedQuery, type RefusedRequests } from "../../ops/refused-requests.ts";
import type { RefusedRequests as RefusedList } from "../../ops/refused-shapes.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { NodeServices } from "../services.ts";
import { createActing } from "./acting.ts";
import { createDepartedNodes, type DepartedNode } from "./departed-nodes.ts";
import { createJournalExport } from "./journal-export.ts";
import { createJournalReads, type JournalReads } from "./journal-reads.ts";
import { createKnownActors, type KnownActors } from "./known-actors.ts";
import { byUrgency, compareTexts, nameOf, partyOf, waitsOf } from "./look.ts";
import { createNodeAsker, missingOf, type NodeAsker } from "./node-asker.ts";
import { nodesAttention } from "./node-attention.ts";
import { createOwnNode, type OwnNode } from "./own-node.ts";
import { createOwnReadiness, type ReadinessDeps } from "./own-readiness.ts";
import { createPassiveAttention, type PassiveAttention } from "./passive-attention.ts";
import { sumOfPushes } from "./pushes-under-way.ts";
import { type PushRoadDeps, readPushRoad } from "./road/push-road.ts";
import { search } from "./search.ts";

type InspectedServices = Pick<
  NodeServices,
  | "actors"
  | "actorStore"
  | "register"
  | "recordIdOf"
  | "records"
  | "clock"
  | "config"
  | "incarnation"
  | "cluster"
  | "fence"
  | "pause"
  | "drain"
  | "elapsedMs"
  | "tracing"
  | "logStore"
>;

interface Parts {
  readonly services: InspectedServices;
  readonly definitions: readonly ActorDefinition[];
  readonly own: OwnNode;
  readonly asker: NodeAsker;
  readonly known: KnownActors;
  readonly passive: () => Promise<PassiveAttention>;
  readonly departed: () => readonly DepartedNode[];
  readonly past: JournalReads;
}

export interface InspectionOptions extends Pick<ReadinessDeps, "check"> {
  /** The release. */
  readonly version: string;
  readonly definitions: readonly ActorDefinition[];
  /** What its surfaces refused. */
  readonly refused: Pick<RefusedRequests, "list">;
  /** Its audit log. */
  readonly audit: (query: AuditQuery) => Promise<OwnAudit>;
}

/** Makes the inspection of a node; other nodes ask it from then on. */
export function createInspection(
  services: InspectedServices,
  { version, definitions, check, refused, audit }: InspectionOptions,
): { readonly inspection: Inspection; readonly acting: ActorActing } {
  const { actorStore: store, records, clock, pause, elapsedMs } = services;
  const own = createOwnNode(services, {
    ...{ version, refused, audit },
    readiness: createOwnReadiness({ check, elapsedMs }),
  });
  const asker = createNodeAsker(services, own);
  const nowMs = (): number => clock.now();
  const inspect = (ref: ActorRef): Promise<ActorReport | null> => own.actor(ref);
  const known = createKnownActors({ store, inspect, whereOf: (ref) => asker.whereIs(ref), elapsedMs });
  const passive = createPassiveAttention({ store, records, inspect, row: known.row, nowMs, elapsedMs });
  const { cluster, config } = services;
  const departed =
    cluster === null ? () => [] : createDepartedNodes(cluster.membership, { ...cluster, nowMs });
  const past = createJournalReads({ store, definitions, pause });
  const parts: Parts = { services, definitions, own, asker, known, passive, departed, past };
  const charts = definitions.flatMap(toCharts);
  const road: PushRoadDeps = {
    ...{ store, definitions, pause, records, log: services.logStore },
    regions: () => cluster?.regionNames ?? [config.region],
    askSpans: (question) => asker.all("operators.spans", question),
    traceLink: config.tracing?.link ?? null,
  };
  const inspection: Inspection = {
    nodes: () => readNodes(parts),
    counts: () => readCounts(parts),
    list: async (query) => withParties(parts, await readList(parts, query)),
    attention: async () => withParties(parts, await readAttention(parts)),
    search: async (text, limit) => withParties(parts, await search(parts, text, limit)),
    refused: (query) => readRefused(parts, query),
    audit: (before) => readAudit(parts, before),
    detail: (ref) => readDetail(parts, ref),
    machines: () => charts,
    road: (question) => readPushRoad(road, question),
    past: { journal: past.journal, exported: createJournalExport(services) },
  };
  return { inspection, acting: createActing(own.acting, asker) };
}

async function readNodes({ services, own, asker, departed }: Parts): Promise<readonly NodeState[]> {
  const [answers, readings] = await Promise.all([
    asker.all("operators.node", {}),
    asker.all("operators.readiness", {}),
  ]);
  const members = asker.members();
  const { cluster, config } = services;
  const present = members.map((member): NodeState => {
    const answer = answers.find(({ incarnation }) => incarnation === member.incarnation);
    const said = answer?.value ?? null;
    const reading = readings.find(({ incarnation }) => incarnation === member.incarnation);
    return {
      incarnation: member.incarnation,
      region: member.region,
      address: cluster === null ? null : member.address,
      state: cluster === null ? "standalone" : member.state,
      is_self: member.incarnation === own.where.node && member.region === config.region,
      reachable: said !== null || answer?.isOlder === true,
      detail: answer?.fault ?? reading?.fault ?? null,
      readiness: reading?.value ?? null,
      ...(said ?? nothingSaid),
    };
  });
  return [...present, ...departed().map(goneState)];
}

const nothingSaid = { version: null, started_at: null, lease: null, load: null };

function goneState({ incarnation, region, address, sinceMs }: DepartedNode): NodeState {
  const since = new Date(sinceMs).toISOString();
  const detail = `it has not been among the nodes of its region since ${since}, and did not leave in order: it was killed, stands still, or does not reach its store; ask itself`;
  return {
    ...{ incarnation, region, address, state: "gone", is_self: false, reachable: false, detail },
    ...{ readiness: null, ...nothingSaid },
  };
}

async function readCounts({ services, definitions, asker, known }: Parts): Promise<ActorCounts> {
  const answers = await asker.all("operators.counts", {});
  const kinds = await Promise.all(
    definitions.map(async ({ kind, durability }) => {
      const states = new Map<string, number>();
      const nodes = answers.flatMap(({ incarnation, region, value }) => {
        const found = value?.kinds.find((each) => each.kind === kind);
        for (const { state, count } of found?.states ?? [])
          states.set(state, (states.get(state) ?? 0) + count);
        return found === undefined ? [] : [{ incarnation, region, count: found.active }];
      });
      const active = nodes.reduce((sum, { count }) => sum + count, 0);
      const stored =
        durability === "journal" ? await known.count(kind, active) : { count: active, isExact: true };
      return {
        ...{ kind, active, known: stored.count, known_is_exact: stored.isExact, nodes },
        states: [...states]
          .map(([state, count]) => ({ state, count }))
          .sort((a, b) => compareTexts(a.state, b.state)),
      };
    }),
  );
  const attention = attentionReasons.flatMap((reason) => {
    const all = answers.flatMap(({ value }) => value?.attention ?? []);
    const count = all.filter((each) => each.reason === reason).reduce((sum, each) => sum + each.count, 0);
    return count === 0 ? [] : [{ reason, count }];
  });
  const at = new Date(services.clock.now()).toISOString();
  return {
    at,
    kinds: kinds.sort((a, b) => compareTexts(a.kind, b.kind)),
    attention,
    pushes_under_way: sumOfPushes(answers.map(({ value }) => value?.pushes ?? [])),
    missing: missingOf(answers),
  };
}

async function readList({ asker, known }: Parts, query: ActorQuery): Promise<ActorPage> {
  const { kind, state, region, node, after, limit } = query;
  if (query.scope === "known") {
    const page = await known.page({ kind: kind ?? "", state, region, after, limit });
    return { scope: "known", actors: page.rows, next_after: page.nextAfter, missing: [] };
  }
  const question = { kind, state, part: query.part, attention: false, after, limit };
  const answers = await asker.all("operators.actors", question, { region, node });
  const rows = answers.flatMap(({ value }) => value?.rows ?? []);
  rows.sort((a, b) => compareTexts(nameOf(a), nameOf(b)));
  const actors = rows.slice(0, limit);
  const last = actors.at(-1);
  const isLast = rows.length <= limit && answers.every(({ value }) => (value?.rows.length ?? 0) < limit);
  return {
    scope: "active",
    actors,
    next_after: isLast || last === undefined ? null : nameOf(last),
    missing: missingOf(answers),
  };
}

const attentionMax = 200;

/** Those in memory are asked of their nodes; pushes that are in no memory are read from the store. */
async function readAttention(parts: Parts): Promise<AttentionList> {
  const { asker, passive } = parts;
  const question = { kind: null, state: null, part: null, attention: true, after: "", limit: attentionMax };
  const [answers, stored, nodes] = await Promise.all([
    ...([asker.all("operators.actors", question), passive(), readNodes(parts)] as const),
  ]);
  const active = answers.flatMap(({ value }) => value?.rows ?? []);
  const names = new Set(active.map(nameOf));
  const others = stored.rows.filter((row) => !names.has(nameOf(row)));
  return {
    nodes: nodesAttention(nodes),
    actors: [...active, ...others].sort(byUrgency).slice(0, attentionMax),
    total: answers.reduce((sum, { value }) => sum + (value?.total ?? 0), others.length),
    is_complete: stored.isComplete,
    missing: missingOf(answers),
  };
}

async function withParties<A extends { readonly actors: readonly ActorRow[] }>(
  { services }: Parts,
  answer: A,
): Promise<A> {
  const named = async (row: ActorRow): Promise<ActorRow> => ({
    ...row,
    party: await partyNamed(services, row.business_uuid),
  });
  return { ...answer, actors: await Promise.all(answer.actors.map(named)) };
}

async function partyNamed(
  { register }: Pick<InspectedServices, "register">,
  uuid: string | null,
): Promise<ActorRow["party"]> {
  const party = uuid === null ? null : await register.party(uuid);
  return party === null ? null : { kind: party.kind, legal_name: party.legal_name };
}

async function readRefused({ asker }: Parts, query: RefusedQuery): Promise<RefusedList> {
  const answers = await asker.all("operators.refused_requests", query);
  const all = answers.flatMap(({ value }) => (value === null ? [] : [value]));
  return { ...mergeRefused(all), missing: missingOf(answers) };
}

async function readAudit({ asker }: Parts, before: string | null): Promise<AuditPage> {
  const answers = await asker.all("operators.audit", { before, limit: auditPageMax });
  const pages = answers.flatMap(({ incarnation: node, value: page }) =>
    page === null ? [] : [{ node, page }],
  );
  return { ...mergeAudit(pages, auditPageMax), missing: missingOf(answers) };
}

async function readDetail(
  { services, definitions, own, asker, past }: Parts,
  ref: ActorRef,
): Promise<ActorDetail | null> {
  const definition = definitions.find(({ kind }) => kind === ref.kind);
  if (definition === undefined) return null;
  const { report: found, place } = await findReport(own, asker, ref);
  if (found === null) return null;
  const report = isLong(found) ? await withNewest(past, found) : found;
  const isJournaled = definition.durability === "journal";
  const { actorStore: store } = services;
  const activations = isJournaled ? await readActivations(store, ref) : [];
  const head = isJournaled ? await store.readHead(ref) : null;
  const refused = await asker.all("operators.refusals", { ref });
  const parts: DetailParts = {
    states: leavesOf(report.state),
    waits: isLong(report) ? [longJournal] : waitsOf(report),
    place,
    durability: definition.durability,
    machine_version: definition.schemaVersion,
    stored_version: head === null || head.snapshot === null ? null : head.schemaVersion,
    activations: activations.map(({ p, o, t }) => ({ epoch: p, owner: o, since: new Date(t).toISOString() })),
    refused_writes: refused
      .flatMap(({ value }): readonly RefusedWrite[] => value ?? [])
      .sort((a, b) => compareTexts(b.at, a.at)),
  };
  // A node of an earlier release does not say when an actor crashed.
  const party = await partyNamed(services, partyOf(ref));
  return { ...report, crash: report.crash ?? null, party, ...parts };
}

/** Whether it has more events since its snapshot than a report reads, so that its state has to be walked for. */
function isLong({ status, state, failure, head }: ActorReport): boolean {
  return status === "passive" && state === null && failure === null && head > 0;
}

const longJournal: DetailParts["waits"][number] = {
  ...{ code: "journal", until: null, next: null, attention: null },
  words: "It is not in memory, and its journal is so long that its state is still being made from it.",
};
/** Who looks at an actor does not wait longer for its state; the walk goes on, and the next look finds it. */
const newestMs = 1_000;

async function withNewest(past: Parts["past"], report: ActorReport): Promise<ActorReport> {
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), newestMs);
  const found = await Promise.race([past.newest(report.ref), late.promise]).finally(() =>
    clearTimeout(timer),
  );
  if (found === null || !found.ok) return report;
  const { state, context, unreadable } = found.value;
  return { ...report, state, context, failure: unreadable };
}

/** The report of the node that has it; if that node does not answer, what the store has, and why (IN1). */
async function findReport(
  own: OwnNode,
  asker: NodeAsker,
  ref: ActorRef,
): Promise<{ readonly report: ActorReport | null; readonly place: DetailParts["place"] }> {
  const located = await asker.locate(ref);
  const { region, node } = located;
  if (located.at !== "node")
    return { report: await own.actor(ref), place: { at: located.at, region, node, detail: located.detail } };
  const answer = await asker.one(located.member, "operators.actor", { ref });
  if (answer.fault === null)
    return { report: answer.value, place: { at: "node", region, node, detail: null } };
  return { report: await own.actor(ref), place: { at: "node", region, node, detail: answer.fault } };
}

/** The chart of a kind's machine, then those of the machines that it runs for what it keeps. */
function toCharts({ machine, parts = {}, ...facts }: ActorDefinition): readonly MachineChart[] {
  const own = toChart(facts.kind, { ...facts, machine, part_of: null });
  const inner = Object.entries(parts).map(([name, part]) =>
    toChart(name, { ...facts, machine: part, part_of: facts.kind }),
  );
  return [own, ...inner];
}

function toChart(
  kind: string,
  {
    machine,
    schemaVersion: version,
    durability,
    part_of,
  }: Pick<ActorDefinition, "machine" | "schemaVersion" | "durability"> & Pick<MachineChart, "part_of">,
): MachineChart {
  const { root, transitions, events } = chartOf(machine);
  const states: MachineChart["states"][number][] = [];
  const visit = ({ states: inner, ...state }: ChartState, parent: string | null): void => {
    states.push({ ...state, parent });
    for (const child of inner) visit(child, state.path);
  };
  visit(root, null);
  return { kind, part_of, version, durability, states, transitions, events };
}
