// The page of the nodes and regions of the cluster, with what can be done to them.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, section } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { NodeState } from "../../inspection-shapes.ts";
import type { ClusterState } from "../../shapes.ts";
import { nodesTable } from "./nodes-table.ts";

export interface NodesView {
  readonly nodes: readonly NodeState[];
  /** Null where the node is standalone. */
  readonly cluster: ClusterState | null;
  readonly acts: ComponentChild;
}

export function nodesView({ nodes, cluster, acts }: NodesView, texts: Texts["operations"]): ComponentChild {
  const { overview, nodesPage, clusterActs } = texts;
  return [
    h("div", { class: "title" }, h("h1", null, nodesPage.title)),
    section("nodes", overview.nodes, nodesTable(nodes, texts)),
    cluster === null ? null : section("regions", nodesPage.regions, regionsTable(cluster, texts)),
    section("acts", clusterActs.title, acts),
  ];
}

function regionsTable({ regions }: ClusterState, { nodesPage, none }: Texts["operations"]): ComponentChild {
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
      badge(status === "active" ? "good" : "bad", nodesPage.standings[status]),
      successor ?? none,
      String(members.length),
    ],
  }));
  return dataTable(nodesPage.regionsCaption, columns, rows);
}
