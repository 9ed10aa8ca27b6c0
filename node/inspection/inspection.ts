// What operators read, from any node, of every node and actor of the cluster.
//   IN1. What is in memory is asked of the node that has it; a node that does not answer is named, and everything else is shown.
//   IN2. What is stored is read here: no actor is claimed or woken.

import type { ActorDefinition, ActorReport } from "../../actors/system/definition.ts";
import { readActivations } from "../../actors/system/journal.ts";
import type { Membership } from "../../cluster/membership.ts";
import { type ChartState, chartOf, leavesOf } from "../../machines/chart.ts";
import type { ActorActing } from "../../ops/cluster.ts";
import {
  type ActorQuery,
  type AuditQuery,
  auditPageMax,
  type Inspection,
  mergeAudit,
  type OwnAudit,
} from "../../ops/inspection.ts";
import {
  type ActorCounts,
  type ActorDetail,
  type ActorPage,
  type ActorRow,
  type AttentionList,
  type AuditPage,
  attentionReasons,
  type DetailParts,
  type MachineChart,
  type NodeAttention,
  type NodeState,
  type Readiness,
  type RefusedRequests as RefusedList,
  type RefusedWrite,
} from "../../ops/inspection-shapes.ts";
import { mergeRefused, type RefusedQuery, type RefusedRequests } from "../../ops/refused-requests.ts";
import type { ReadyReport } from "../../ops/shapes.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import type { Member } from "../../storage/cluster-store.ts";
import type { Acting, Keys, Process, Registering, Stores } from "../composition/capabilities.ts";
import type { DiskSpace } from "../telemetry/disk.ts";
import { createJournalExport } from "./journal-export.ts";
import { createJournalReads, type JournalReads } from "./journal-reads.ts";
import { byUrgency, compareTexts, nameOf, partyOf, waitsOf } from "./look.ts";
import { createActing, createNodeAsker, missingOf, type NodeAsker } from "./node-asker.ts";
import { createOwnNode, type OwnNode, sumOfPushes } from "./own-node.ts";
import {
  createKnownActors,
  createPassiveAttention,
  type KnownActors,
  type PassiveAttention,
  search,
} from "./search.ts";

type InspectedServices = Process & Stores & Keys & Acting & Pick<Registering, "register">;

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
    version,
    refused,
    audit,
    readiness: createOwnReadiness({ check, elapsedMs }),
  });
  const asker = createNodeAsker(services, own);
  const nowMs = (): number => clock.now();
  const inspect = (ref: ActorRef): Promise<ActorReport | null> => own.answers["operators.actor"]({ ref });
  const known = createKnownActors({ store, inspect, whereOf: (ref) => asker.whereIs(ref), elapsedMs });
  const passive = createPassiveAttention({ store, records, inspect, row: known.row, nowMs, elapsedMs });
  const { cluster } = services;
  const departed =
    cluster === null ? () => [] : createDepartedNodes(cluster.membership, { ...cluster, nowMs });
  const past = createJournalReads({ store, definitions, pause });
  const parts: Parts = { services, definitions, own, asker, known, passive, departed, past };
  const charts = definitions.flatMap(toCharts);
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
    incarnation,
    region,
    address,
    state: "gone",
    is_self: false,
    reachable: false,
    detail,
    readiness: null,
    ...nothingSaid,
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
        kind,
        active,
        known: stored.count,
        known_is_exact: stored.isExact,
        nodes,
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
  return { ...report, party: await partyNamed(services, partyOf(ref)), ...parts };
}

/** Whether it has more events since its snapshot than a report reads, so that its state has to be walked for. */
function isLong({ status, state, failure, head }: ActorReport): boolean {
  return status === "passive" && state === null && failure === null && head > 0;
}

const longJournal: DetailParts["waits"][number] = {
  code: "journal",
  until: null,
  next: null,
  attention: null,
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
    return {
      report: await own.answers["operators.actor"]({ ref }),
      place: { at: located.at, region, node, detail: located.detail },
    };
  const answer = await asker.one(located.member, "operators.actor", { ref });
  if (answer.fault === null)
    return { report: answer.value, place: { at: "node", region, node, detail: null } };
  return {
    report: await own.answers["operators.actor"]({ ref }),
    place: { at: "node", region, node, detail: answer.fault },
  };
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

// Which nodes and regions need a look, before any actor: an actor that nobody can ask is in no list.

const order: readonly NodeAttention["reason"][] = ["region_away", "away", "not_ready", "degraded"];

/** The most urgent first. A region of which no node answers is one entry. */
export function nodesAttention(nodes: readonly NodeState[]): readonly NodeAttention[] {
  const regions = [...new Set(nodes.map(({ region }) => region))];
  const found = regions.flatMap((region) => {
    const own = nodes.filter((node) => node.region === region);
    if (own.some(({ reachable }) => reachable)) return own.flatMap(lookAt);
    const words = `No node of ${region} answers (${own.map(whyAway).join("; ")}). What its parties publish waits. If the region is lost, see «A region is lost» in docs/production.md.`;
    return [{ region, incarnation: null, address: null, reason: "region_away" as const, words }];
  });
  return found.sort((a, b) => order.indexOf(a.reason) - order.indexOf(b.reason));
}

function lookAt(node: NodeState): readonly NodeAttention[] {
  const { region, incarnation, address, readiness } = node;
  const of = { region, incarnation, address };
  if (!node.reachable) return [{ ...of, reason: "away", words: `It does not answer: ${whyAway(node)}.` }];
  const failed = Object.entries(readiness?.checks ?? {}).filter(([, outcome]) => outcome !== "ok");
  const words = failed.map(([name, outcome]) => `${name}: ${outcome}`).join("; ");
  if (readiness !== null && !readiness.ready)
    return [
      { ...of, reason: "not_ready", words: `It is not ready, and callers are led elsewhere: ${words}.` },
    ];
  return failed.length === 0
    ? []
    : [{ ...of, reason: "degraded", words: `It serves with faults: ${words}.` }];
}

function whyAway({ incarnation, address, detail }: NodeState): string {
  return `${address ?? incarnation}: ${detail ?? "unknown"}`;
}

// Nodes that were among the members and are not any more, although they did not leave in order: killed, cut off, or standing still.
//   DN1. One that was leaving is not among them, and neither is one whose address has a member again.
//   DN2. They are remembered for an hour, 64 at most, by nodes that run all the while; nobody else knows of them.

interface DepartedNode extends Pick<Member, "incarnation" | "address"> {
  readonly region: string;
  /** When this node learnt of it. */
  readonly sinceMs: number;
}

const departedKeptMs = 3_600_000;
const nodesMax = 64;

export function createDepartedNodes(
  membership: Pick<Membership, "view" | "onChange">,
  { regionNames, nowMs }: { readonly regionNames: readonly string[]; readonly nowMs: () => number },
): () => readonly DepartedNode[] {
  const before = new Map<string, readonly Member[]>();
  let departed: readonly DepartedNode[] = [];
  const look = (): void => {
    for (const region of regionNames) {
      const { members } = membership.view(region);
      const isThere = ({ incarnation }: Member): boolean =>
        members.some((each) => each.incarnation === incarnation);
      const gone = (before.get(region) ?? []).filter((each) => each.state !== "leaving" && !isThere(each));
      before.set(region, members);
      const fresh = gone.map(({ incarnation, address }) => ({
        incarnation,
        address,
        region,
        sinceMs: nowMs(),
      }));
      departed = [...departed, ...fresh]
        .filter((each) => each.region !== region || !members.some(({ address }) => address === each.address))
        .slice(-nodesMax);
    }
  };
  look();
  membership.onChange(look);
  return () => departed.filter(({ sinceMs }) => nowMs() - sinceMs < departedKeptMs);
}

// Whether this node is ready, as it says to operators who look at any node.
//   OR1. However many look, the checks run once at a time. What they found is kept for two seconds while anything fails, so that it is
//        soon seen when it is over, and for ten otherwise: a check counts rows, which takes an embedded node with a million of them
//        a while, and who only watches must not cost it that every time.

interface ReadinessDeps {
  /** What `/readyz` says, and what room it found on the disks: none where that could not be read in time. */
  readonly check: () => Promise<{
    readonly report: Pick<ReadyReport, "ready" | "degraded" | "checks">;
    readonly spaces: readonly DiskSpace[];
  }>;
  readonly elapsedMs: () => number;
}

const keptMs = 10_000;
const keptFailingMs = 2_000;

export function createOwnReadiness({ check, elapsedMs }: ReadinessDeps): () => Promise<Readiness> {
  let kept: Promise<Readiness> | null = null;
  let untilMs = Number.POSITIVE_INFINITY;
  const run = async (): Promise<Readiness> => {
    const { report, spaces } = await check();
    const { ready, degraded, checks } = report;
    const disks = spaces.map(({ place, freeBytes, sizeBytes }) => ({
      place,
      free_bytes: freeBytes,
      size_bytes: sizeBytes,
    }));
    return { ready, degraded, checks, disks };
  };
  return () => {
    if (kept !== null && elapsedMs() < untilMs) return kept;
    untilMs = Number.POSITIVE_INFINITY;
    kept = run();
    const settle = (forMs: number): void => {
      untilMs = elapsedMs() + forMs;
    };
    kept.then(
      ({ checks }) => settle(Object.values(checks).every((each) => each === "ok") ? keptMs : keptFailingMs),
      () => settle(keptFailingMs),
    );
    return kept;
  };
}
