// Acting on the cluster: each choice is a request of the documented API. What is possible is decided by the node.

import { type ComponentChild, h } from "preact";
import { collectionNames } from "../../../protocol/identifiers.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { NodeState } from "../../node-shapes.ts";
import { type ActChoice, type ActField, ActForm } from "./act-form.ts";
import { nodesPath } from "./frame.ts";

export interface ClusterActsProps {
  readonly language: Language;
  readonly nodes: readonly NodeState[];
  /** The names of all regions, dead ones too; none where the node is standalone. */
  readonly regions: readonly string[];
}

export function ClusterActs({ language, ...known }: ClusterActsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { clusterActs } = texts;
  return h(ActForm, {
    ...{ choices: clusterChoices(known, texts), help: clusterActs.help },
    ...{ page: nodesPath, texts: texts.acts },
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
    ...{ name, label, options: regions.map((each) => [each, each] as const) },
  });
  const region = ofRegions("region", labels.region);
  /** What nobody chose is not what is first in a list: nothing gives it back. */
  const toChoose = (name: string, label: string): ActField => ({
    ...{ name, label },
    options: [["", clusterActs.choose], ...regions.map((each) => [each, each] as const)],
  });
  const onRegion = (key: "putIn" | "rejoin", address: string): ActChoice => ({
    ...{ key, words: names[key], fields: [region] },
    request: ({ region: name = "" }) => ({ address, members: { region: name }, subject: name }),
  });
  const inCluster: readonly ActChoice[] = [
    {
      ...{ key: "move", words: names.move },
      fields: [{ name: "party", label: labels.party, options: null }, ofRegions("to", labels.to)],
      request: ({ party = "", to = "" }) => ({
        address: "/ops/cluster/moves",
        members: { party: party.trim(), to },
        subject: `${party.trim()} → ${to}`,
      }),
    },
    {
      ...{ key: "declareDead", words: names.declareDead },
      fields: [
        toChoose("region", labels.region),
        toChoose("successor", labels.successor),
        {
          ...{ name: "force", label: labels.force },
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
      ...{ key: "rebuild", words: names.rebuild },
      fields: [
        {
          ...{ name: "collection", label: labels.collection },
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
    ...{ key: "drain", words: names.drain },
    fields: [
      {
        ...{ name: "node", label: labels.node },
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
