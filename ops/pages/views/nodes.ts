// The page of the nodes and regions of the cluster, with their readiness, which is live, and what can be done to them.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, section, shortTime, shownNumber } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { NodeList, NodeState } from "../../node-shapes.ts";
import type { ClusterState } from "../../shapes.ts";
import { ClusterActs } from "./cluster-acts.ts";
import { liveBadge, usePolled } from "./live.ts";
import { nodesTable } from "./nodes-table.ts";
import { readinessTable } from "./readiness.ts";

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
