// The page of the nodes and regions of the cluster, with their readiness, which is live, and what can be done to them.

import { type ComponentChild, h } from "preact";
import { collectionNames } from "../../../protocol/identifiers.ts";
import { badge, dataTable, section, shortTime, shownNumber, type Tone } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { NodeList, NodeState, Readiness } from "../../inspection-shapes.ts";
import type { ClusterState } from "../../shapes.ts";
import { type ActChoice, type ActField, ActForm } from "./act-form.ts";
import { nodesPath, uiBase } from "./frame.ts";
import { liveBadge, usePolled } from "./live.ts";

export interface NodesProps {
  readonly language: Language;
  readonly nodes: readonly NodeState[];
  /** Null where the node is standalone. */
  readonly cluster: ClusterState | null;
}

export function Nodes({ language, nodes, cluster }: NodesProps): ComponentChild {
  const read = usePolled<NodeList>("/ops/nodes", { nodes });
  const body = (regions: ClusterState | null): ComponentChild =>
    nodesBody(
      { language, nodes: read.data.nodes, cluster: regions },
      liveBadge(read.state, textsOf(language).operations),
    );
  return cluster === null ? body(null) : h(InCluster, { cluster, body });
}

interface InClusterProps {
  readonly cluster: ClusterState;
  readonly body: (cluster: ClusterState) => ComponentChild;
}

/** A standalone node has no regions to ask for. */
function InCluster({ cluster, body }: InClusterProps): ComponentChild {
  return body(usePolled("/ops/cluster", cluster).data);
}

function nodesBody({ language, nodes, cluster }: NodesProps, live: ComponentChild): ComponentChild {
  const texts = textsOf(language).operations;
  const { overview, nodesPage, clusterActs, readiness } = texts;
  const regions = cluster?.regions.map(({ region }) => region) ?? [];
  return h(
    "div",
    null,
    h("div", { class: "title" }, h("h1", null, nodesPage.title), live),
    section("nodes", overview.nodes, nodesTable(nodes, texts)),
    section("readiness", readiness.title, readinessTable(nodes, texts)),
    cluster === null
      ? null
      : section(
          "regions",
          nodesPage.regions,
          regionsTable(cluster, nodes, texts),
          refusedWrites(cluster, texts),
        ),
    section("acts", clusterActs.title, h(ClusterActs, { language, nodes, regions })),
  );
}

function regionsTable(
  { regions }: ClusterState,
  nodes: readonly NodeState[],
  { nodesPage, none, node }: Texts["operations"],
): ComponentChild {
  const columns = [
    { name: nodesPage.region },
    { name: nodesPage.standing, kind: "nowrap" as const },
    { name: nodesPage.successor, kind: "nowrap" as const },
    { name: nodesPage.members, kind: "number" as const },
  ];
  const rows = regions.map(({ region, members, standing: { status, successor } }) => ({
    key: region,
    cells: [
      region,
      isSilent(nodes, region) && status === "active"
        ? badge("bad", node.silent)
        : badge(status === "active" ? "good" : "bad", nodesPage.standings[status]),
      successor ?? none,
      String(members.length),
    ],
  }));
  return dataTable(nodesPage.regionsCaption, columns, rows);
}

function isSilent(nodes: readonly NodeState[], region: string): boolean {
  const own = nodes.filter((each) => each.region === region);
  return own.length > 0 && own.every(({ reachable }) => !reachable);
}

/** A write of a node that others had replaced changes nothing, and says that it stood still or was cut off. */
function refusedWrites(
  { fence_refusals: refused }: ClusterState,
  { nodesPage }: Texts["operations"],
): ComponentChild {
  const columns = [
    { name: nodesPage.refusedBy },
    { name: nodesPage.refusals, kind: "number" as const },
    { name: nodesPage.lastRefused, kind: "nowrap" as const },
  ];
  const rows = refused.map(({ region, incarnation, refusals, last_at_ms }) => ({
    key: `${region}/${incarnation}`,
    cells: [
      h("code", null, `${region}/${incarnation}`),
      shownNumber(refusals),
      shortTime(new Date(last_at_ms).toISOString()),
    ],
  }));
  return [
    h("h3", null, nodesPage.refused),
    rows.length === 0
      ? h("p", { class: "quiet" }, nodesPage.noneRefused)
      : dataTable(nodesPage.refusedCaption, columns, rows),
  ];
}

// Acting on the cluster: each choice is a request of the documented API. What is possible is decided by the node.

export interface ClusterActsProps {
  readonly language: Language;
  readonly nodes: readonly NodeState[];
  /** The names of all regions, dead ones too; none where the node is standalone. */
  readonly regions: readonly string[];
}

function ClusterActs({ language, ...known }: ClusterActsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { clusterActs } = texts;
  return h(ActForm, {
    choices: clusterChoices(known, texts),
    help: clusterActs.help,
    page: nodesPath,
    texts: texts.acts,
  });
}

/** The acts that there are: a standalone node can only be drained. */
export function clusterChoices(
  { nodes, regions }: Omit<ClusterActsProps, "language">,
  texts: Texts["operations"],
): readonly ActChoice[] {
  const { clusterActs } = texts;
  const { names, labels } = clusterActs;
  const ofRegions = (name: string, label: string): ActField => ({
    name,
    label,
    options: regions.map((each) => [each, each] as const),
  });
  const region = ofRegions("region", labels.region);
  /** What nobody chose is not what is first in a list: nothing gives it back. */
  const toChoose = (name: string, label: string): ActField => ({
    name,
    label,
    options: [["", clusterActs.choose], ...regions.map((each) => [each, each] as const)],
  });
  const onRegion = (key: "putIn" | "rejoin", address: string): ActChoice => ({
    key,
    words: names[key],
    fields: [region],
    request: ({ region: name = "" }) => ({ address, members: { region: name }, subject: name }),
  });
  const inCluster: readonly ActChoice[] = [
    {
      key: "move",
      words: names.move,
      fields: [{ name: "party", label: labels.party, options: null }, ofRegions("to", labels.to)],
      request: ({ party = "", to = "" }) => ({
        address: "/ops/cluster/moves",
        members: { party: party.trim(), to },
        subject: `${party.trim()} → ${to}`,
      }),
    },
    {
      key: "declareDead",
      words: names.declareDead,
      fields: [
        toChoose("region", labels.region),
        toChoose("successor", labels.successor),
        {
          name: "force",
          label: labels.force,
          options: [
            ["no", clusterActs.forces.no],
            ["yes", clusterActs.forces.yes],
          ],
        },
      ],
      request: ({ region: name = "", successor = "", force = "no" }) => ({
        address: "/ops/cluster/declare-dead",
        members: { region: name, successor, force: force === "yes" },
        subject: `${name} → ${successor}${force === "yes" ? ` (${clusterActs.forces.yes})` : ""}`,
        consequences: clusterActs.consequences(name, successor),
      }),
    },
    onRegion("putIn", "/ops/cluster/put-in"),
    onRegion("rejoin", "/ops/cluster/rejoin"),
    {
      key: "rebuild",
      words: names.rebuild,
      fields: [
        {
          name: "collection",
          label: labels.collection,
          options: collectionNames.map((each) => [each, each] as const),
        },
      ],
      request: ({ collection = "" }) => ({
        address: "/ops/cluster/rebuild",
        members: { collection },
        subject: collection,
      }),
    },
  ];
  const drain = drainOf(nodes, texts);
  return regions.length === 0 ? [drain] : [drain, ...inCluster];
}

function drainOf(
  nodes: readonly NodeState[],
  { clusterActs: { names, labels }, node: { states } }: Texts["operations"],
): ActChoice {
  return {
    key: "drain",
    words: names.drain,
    fields: [
      {
        name: "node",
        label: labels.node,
        options: nodes
          .filter(({ state }) => state !== "gone")
          .map(({ incarnation, region: at, state }) => [
            incarnation,
            `${incarnation}, ${at}, ${states[state]}`,
          ]),
      },
    ],
    request: ({ node = "" }) => ({
      address: `/ops/nodes/${encodeURIComponent(node)}/drain`,
      // The node is drained only if it is still in the state in which this page shows it.
      members: { expected: { state: nodes.find(({ incarnation }) => incarnation === node)?.state } },
      subject: node,
    }),
  };
}

// The nodes of the cluster as a table, with their lease and load.

export function nodesTable(nodes: readonly NodeState[], texts: Texts["operations"]): ComponentChild {
  const { node } = texts;
  const columns = [
    { name: node.node },
    { name: node.region, kind: "nowrap" as const },
    { name: node.state, kind: "nowrap" as const },
    { name: node.version, kind: "nowrap" as const },
    { name: node.lease, kind: "nowrap" as const },
    { name: texts.readiness.column },
    ...[node.load, node.active, node.mailboxed, node.outbox, node.memory].map((name) => ({
      name,
      kind: "number" as const,
    })),
  ];
  const rows = nodes.map((each) => ({ key: each.incarnation, cells: nodeCells(each, texts) }));
  return dataTable(node.caption, columns, rows);
}

function nodeCells(each: NodeState, texts: Texts["operations"]): readonly ComponentChild[] {
  const { node, unknown } = texts;
  const { load } = each;
  const numberOf = (value: number | undefined) => (value === undefined ? unknown : shownNumber(value));
  return [
    [
      h("code", null, each.incarnation),
      each.address === null ? null : h("div", { class: "quiet small" }, each.address),
      each.is_self ? h("span", { class: "quiet small" }, ` ${node.self}`) : null,
      each.reachable ? null : h("div", null, unreachedOf(each, texts)),
    ],
    h("a", { href: `${uiBase}actors?region=${encodeURIComponent(each.region)}` }, each.region),
    // The last that is known of one that does not answer is not how it is.
    each.reachable || each.state === "gone"
      ? badge(stateTones[each.state], node.states[each.state])
      : badge("bad", node.silent),
    each.version ?? unknown,
    leaseOf(each, texts),
    readyBadge(each, texts),
    load === null ? unknown : `${load.busy_percent} %`,
    h("a", { href: `${uiBase}actors?node=${encodeURIComponent(each.incarnation)}` }, numberOf(load?.active)),
    numberOf(load?.mailboxed),
    numberOf(load?.outbox),
    load === null ? unknown : `${shownNumber(Math.round(load.resident_bytes / 1_048_576))} MiB`,
  ];
}

function unreachedOf({ state, detail }: NodeState, { node, unknown }: Texts["operations"]): ComponentChild {
  // What is said of one that is gone is a whole sentence.
  return state === "gone"
    ? h("span", { class: "small" }, detail)
    : h("span", { class: "small bad" }, node.unreachable(detail ?? unknown));
}

const stateTones = {
  standalone: "good",
  active: "good",
  joining: "warn",
  leaving: "warn",
  gone: "bad",
} as const;

function leaseOf({ lease }: NodeState, { node, unknown }: Texts["operations"]): ComponentChild {
  if (lease === null) return unknown;
  return lease.held ? badge("good", node.held(lease.remaining_ms)) : badge("bad", node.lost);
}

// Whether each node is ready, check by check, as its own `/readyz` says.

/** In a word, with the checks that fail. */
function readyBadge({ readiness }: NodeState, { readiness: words }: Texts["operations"]): ComponentChild {
  if (readiness === null) return badge("warn", words.unknown);
  const failed = failedOf(readiness);
  if (!readiness.ready) return badge("bad", words.notReady(failed.map(([name]) => name)));
  return failed.length === 0
    ? badge("good", words.ready)
    : badge("warn", words.degraded(failed.map(([name]) => name)));
}

function readinessTable(nodes: readonly NodeState[], texts: Texts["operations"]): ComponentChild {
  const { node, readiness: words } = texts;
  const columns = [
    { name: node.node, kind: "nowrap" as const },
    { name: words.column, kind: "nowrap" as const },
    { name: words.fails, kind: "words" as const },
    { name: words.inOrder, kind: "words" as const },
    { name: words.disks, kind: "nowrap" as const },
  ];
  const rows = nodes.map((each) => ({
    key: each.incarnation,
    cells: [
      [h("code", null, each.incarnation), h("div", { class: "quiet small" }, each.region)],
      readyBadge(each, texts),
      ...(each.readiness === null
        ? [each.state === "gone" ? words.gone : words.silent(each.detail ?? texts.unknown), "", ""]
        : checksOf(each.readiness, texts)),
    ],
  }));
  return dataTable(words.caption, columns, rows);
}

function checksOf(readiness: Readiness, { readiness: words, none, unknown }: Texts["operations"]) {
  const failed = failedOf(readiness);
  const inOrder = Object.entries(readiness.checks).filter(([, outcome]) => outcome === "ok");
  const tone = ([name]: Check): Tone => (readiness.degraded.includes(name) ? "warn" : "bad");
  return [
    failed.length === 0
      ? none
      : failed.map((check) => h("div", null, badge(tone(check), check[0]), ` ${check[1]}`)),
    inOrder.map(([name]) => name).join(", "),
    readiness.disks.length === 0
      ? unknown
      : readiness.disks.map(({ place, free_bytes, size_bytes }) =>
          h("div", null, words.room(place, gibibytes(free_bytes), gibibytes(size_bytes))),
        ),
  ];
}

type Check = readonly [name: string, outcome: string];

/** Those that the node can do without come last. */
function failedOf({ checks, degraded }: Readiness): readonly Check[] {
  const failed = Object.entries(checks).filter(([, outcome]) => outcome !== "ok");
  return failed.sort(([a], [b]) => Number(degraded.includes(a)) - Number(degraded.includes(b)));
}

function gibibytes(bytes: number): string {
  return (Math.floor((bytes / 2 ** 30) * 100) / 100).toFixed(2);
}
