// A machine's statechart as SVG, with the states of one actor lit. The names of its states are also said in words (the label), and
// what is lit has a thicker border besides its colour.

import { type ComponentChild, h } from "preact";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { Box, ChartLayout, DrawnLine, DrawnState, Point } from "../chart/layout.ts";

export interface ChartProps {
  readonly kind: string;
  readonly layout: ChartLayout;
  /** The paths of the states that the actor is in, such as `working.step.queued`. */
  readonly lit: readonly string[];
  readonly texts: Texts["operations"]["actor"];
}

export function Chart({ kind, layout, lit, texts }: ChartProps): ComponentChild {
  const { width, height, states, lines, anywhere } = layout;
  const isLit = (path: string) => lit.some((each) => each === path || each.startsWith(`${path}.`));
  return h(
    "svg",
    {
      ...{ class: "chart", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" },
      "aria-label": texts.chartOf(kind, lit.join(", ") || "–"),
    },
    states.map((state) => drawState(state, isLit(state.path))),
    anywhere === null ? null : drawAnywhere(anywhere, texts.anyState),
    lines.map(drawLine),
  );
}

const titleBaseline = 18;
const lineHeight = 16;

function drawState(
  { x, y, width, height, name, path, isLeaf, isInitial, takes }: DrawnState,
  isLit: boolean,
) {
  const classes = ["state", isLeaf ? "leaf" : "compound", ...(isLit ? ["lit"] : [])].join(" ");
  return h(
    "g",
    { key: path, class: classes, "data-state": path },
    h("rect", { x, y, width, height, rx: 8 }),
    isInitial ? h("circle", { class: "any", cx: x + 11, cy: y + titleBaseline - 4, r: 3.5 }) : null,
    h("text", { class: "name", x: x + (isInitial ? 20 : 12), y: y + titleBaseline }, name),
    takes.map((each, at) =>
      h("text", { class: "takes", x: x + 12, y: y + titleBaseline + (at + 1) * lineHeight }, each),
    ),
  );
}

function drawAnywhere({ x, y, width, height }: Box, name: string): ComponentChild {
  return h(
    "g",
    { class: "anywhere" },
    h("rect", { x, y, width, height, rx: height / 2 }),
    h("text", { x: x + width / 2, y: y + titleBaseline, "text-anchor": "middle" }, name),
  );
}

function drawLine({ from, to, points, label }: DrawnLine): ComponentChild {
  const [last, before] = [points.at(-1), points.at(-2)];
  if (last === undefined || before === undefined) return null;
  const path = points.map(({ x, y }, at) => `${at === 0 ? "M" : "L"}${x} ${y}`).join("");
  return h(
    "g",
    { key: `${from} ${to}`, class: "line" },
    h("path", { d: path }),
    h("path", { class: "head", d: headOf(before, last) }),
    label?.lines.map((text, at) => h("text", { x: label.x + 4, y: label.y + 12 + at * lineHeight }, text)),
  );
}

const headLength = 7;
const headWidth = 3.5;

/** The tip of an arrow that ends at `end`. */
function headOf(before: Point, end: Point): string {
  const length = Math.hypot(end.x - before.x, end.y - before.y) || 1;
  const [dx, dy] = [(end.x - before.x) / length, (end.y - before.y) / length];
  const [bx, by] = [end.x - dx * headLength, end.y - dy * headLength];
  const corner = (side: number) => `${bx - dy * side * headWidth} ${by + dx * side * headWidth}`;
  return `M${end.x} ${end.y}L${corner(1)}L${corner(-1)}Z`;
}
