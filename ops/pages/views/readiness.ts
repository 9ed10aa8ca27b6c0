// Whether each node is ready, check by check, as its own `/readyz` says.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, type Tone } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { NodeState, Readiness } from "../../node-shapes.ts";

/** In a word, with the checks that fail. */
export function readyBadge(
  { readiness }: NodeState,
  { readiness: words }: Texts["operations"],
): ComponentChild {
  if (readiness === null) return badge("warn", words.unknown);
  const failed = failedOf(readiness);
  if (!readiness.ready) return badge("bad", words.notReady(failed.map(([name]) => name)));
  return failed.length === 0
    ? badge("good", words.ready)
    : badge("warn", words.degraded(failed.map(([name]) => name)));
}

export function readinessTable(nodes: readonly NodeState[], texts: Texts["operations"]): ComponentChild {
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
