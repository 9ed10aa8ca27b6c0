// Where the states and transitions of a machine are drawn. The graph is made from the chart of the machine that runs; ELK
// (elkjs) decides the places.
//   CL1. Every state is a box, in the box of the state that it is in; every transition that leads somewhere is a line with its name.
//   CL2. A transition that leaves the state as it is stands inside its box. Those of the whole machine are listed beside it.

import type { ElkExtendedEdge, ElkNode } from "elkjs/lib/elk-api.js";
import type { MachineChart } from "../../inspection-shapes.ts";

type ChartState = MachineChart["states"][number];
type Transition = MachineChart["transitions"][number];

export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Box extends Point {
  readonly width: number;
  readonly height: number;
}

export interface DrawnState extends Box {
  readonly path: string;
  readonly name: string;
  readonly isLeaf: boolean;
  readonly isInitial: boolean;
  /** What it takes without leaving it (CL2). */
  readonly takes: readonly string[];
}

export interface DrawnLine {
  readonly from: string;
  readonly to: string;
  /** The corners of the line, from its state to its target. */
  readonly points: readonly Point[];
  readonly label: (Box & { readonly lines: readonly string[] }) | null;
}

export interface ChartLayout {
  readonly width: number;
  readonly height: number;
  readonly states: readonly DrawnState[];
  readonly lines: readonly DrawnLine[];
  /** Where lines begin that the machine takes in every state; null where there are none. */
  readonly anywhere: Box | null;
  /** What the machine takes in every state without leaving it (CL2). */
  readonly everywhere: readonly string[];
}

export type ElkLayout = (graph: ElkNode) => Promise<ElkNode>;

export async function layOut(chart: MachineChart, elk: ElkLayout): Promise<ChartLayout> {
  const drawn = await elk(graphOf(chart));
  const states: DrawnState[] = [];
  const collect = ({ id, children = [], x = 0, y = 0, width = 0, height = 0 }: ElkNode): void => {
    const state = chart.states.find((each) => each.path === id);
    if (state !== undefined && id !== "")
      states.push({ path: id, name: state.key, x, y, width, height, ...facesOf(chart, state) });
    for (const child of children) collect(child);
  };
  collect(drawn);
  return {
    width: drawn.width ?? 0,
    height: drawn.height ?? 0,
    states,
    lines: edgesOf(drawn).map(lineOf),
    anywhere: boxOf(drawn.children?.find(({ id }) => id === anywhere)),
    everywhere: takenInside(chart, ""),
  };
}

function boxOf(node: ElkNode | undefined): Box | null {
  if (node === undefined) return null;
  const { x = 0, y = 0, width = 0, height = 0 } = node;
  return { x, y, width, height };
}

const charWidth = 7;
const lineHeight = 16;
export const titleHeight = 28;

const options = {
  "elk.algorithm": "layered",
  "elk.direction": "DOWN",
  "elk.hierarchyHandling": "INCLUDE_CHILDREN",
  "elk.edgeRouting": "ORTHOGONAL",
  "elk.spacing.nodeNode": "28",
  "elk.spacing.edgeNode": "20",
  "elk.spacing.edgeEdge": "14",
  "elk.spacing.edgeLabel": "4",
  "elk.layered.spacing.nodeNodeBetweenLayers": "36",
  "elk.layered.spacing.edgeNodeBetweenLayers": "18",
  "elk.layered.nodePlacement.strategy": "NETWORK_SIMPLEX",
  "elk.json.shapeCoords": "ROOT",
  "elk.json.edgeCoords": "ROOT",
  "elk.padding": "[top=16,left=16,bottom=16,right=16]",
};

function graphOf(chart: MachineChart): ElkNode {
  const leaving = chart.transitions.some(({ from, to }) => from === "" && to.length > 0);
  const children = childrenOf(chart, "");
  return {
    id: "",
    layoutOptions: options,
    children: leaving ? [{ id: anywhere, width: 104, height: 28 }, ...children] : children,
    edges: graphEdges(chart),
  };
}

/** Stands for any state, where the whole machine takes an event that leads somewhere. */
const anywhere = "*";

function childrenOf(chart: MachineChart, parent: string): ElkNode[] {
  return chart.states
    .filter((each) => each.parent === parent && each.path !== "")
    .map((state): ElkNode => {
      const { takes } = facesOf(chart, state);
      const children = childrenOf(chart, state.path);
      const width = Math.max(
        state.key.length * 8 + 36,
        ...takes.map((each) => each.length * charWidth + 28),
        96,
      );
      const top = titleHeight + takes.length * lineHeight + 8;
      if (children.length === 0) return { id: state.path, width, height: Math.max(top, 40) };
      const padding = `[top=${top + 12},left=16,bottom=16,right=16]`;
      return {
        id: state.path,
        children,
        layoutOptions: {
          "elk.padding": padding,
          "elk.nodeSize.constraints": "MINIMUM_SIZE",
          "elk.nodeSize.minimum": `(${width},${top})`,
        },
      };
    });
}

/** One line for each pair of states, with the names of all transitions between them. */
function graphEdges(chart: MachineChart): ElkExtendedEdge[] {
  const names = new Map<string, { readonly from: string; readonly to: string; readonly lines: string[] }>();
  for (const transition of chart.transitions) {
    for (const to of transition.to) {
      const from = transition.from === "" ? anywhere : transition.from;
      const key = `${from} ${to}`;
      const line = names.get(key) ?? { from, to, lines: [] };
      const name = nameOf(transition);
      if (!line.lines.includes(name)) line.lines.push(name);
      names.set(key, line);
    }
  }
  return [...names].map(([id, { from, to, lines }]) => ({
    id,
    sources: [from],
    targets: [to],
    labels: [
      {
        text: lines.join("\n"),
        width: Math.max(...lines.map((each) => each.length)) * charWidth + 8,
        height: lines.length * lineHeight,
      },
    ],
  }));
}

function facesOf(
  chart: MachineChart,
  { path, parent }: ChartState,
): Pick<DrawnState, "isLeaf" | "isInitial" | "takes"> {
  return {
    isLeaf: !chart.states.some((each) => each.parent === path && each.path !== path),
    isInitial: chart.states.some((each) => each.path === parent && each.initial === path.split(".").at(-1)),
    takes: takenInside(chart, path),
  };
}

function takenInside(chart: MachineChart, path: string): readonly string[] {
  const inside = chart.transitions.filter(({ from, to }) => from === path && to.length === 0);
  return [...new Set(inside.map(nameOf))];
}

function nameOf({ event, delay, guard }: Transition): string {
  const name = delay === null ? event : `after ${delay}`;
  const shown = guard === null ? "" : `[${guard.split(" ", 1)[0]}]`;
  return [name, shown].filter((each) => each !== "").join(" ");
}

function edgesOf(node: ElkNode): readonly ElkExtendedEdge[] {
  return [...(node.edges ?? []), ...(node.children ?? []).flatMap(edgesOf)];
}

function lineOf({ sources, targets, sections = [], labels = [] }: ElkExtendedEdge): DrawnLine {
  const points = sections.flatMap(({ startPoint, bendPoints = [], endPoint }) => [
    startPoint,
    ...bendPoints,
    endPoint,
  ]);
  const [label] = labels;
  const { x = 0, y = 0, width = 0, height = 0, text = "" } = label ?? {};
  return {
    from: sources[0] ?? "",
    to: targets[0] ?? "",
    points: points.map(({ x, y }) => ({ x, y })),
    label: label === undefined ? null : { x, y, width, height, lines: text.split("\n") },
  };
}
