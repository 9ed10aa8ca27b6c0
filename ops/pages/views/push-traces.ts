// The traces of a push: the spans that nodes still have in memory, each under the one that caused it, on one scale.

import { type ComponentChild, h } from "preact";
import { dataTable } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { PushRoad, RoadSpan } from "../../push-road-shape.ts";
import { tookWords } from "./push-steps.ts";

type Traces = PushRoad["traces"];
type PushTexts = Texts["operations"]["push"];

export function tracesOf(traces: Traces, { traces: texts, owner, region }: PushTexts): ComponentChild {
  const { ids, spans, recording, link, is_complete: isComplete } = traces;
  if (ids.length === 0) return h("p", { class: "quiet" }, recording ? texts.notThis : texts.off);
  const named = ids.map((id) =>
    h(
      "li",
      { key: id },
      link === null
        ? h("code", null, id)
        : h("a", { href: link.replace("{trace_id}", id), rel: "noreferrer" }, h("code", null, id)),
    ),
  );
  const columns = [
    { name: texts.span },
    { name: texts.bar },
    { name: texts.after, kind: "number" as const },
    { name: texts.took, kind: "number" as const },
    { name: region, kind: "nowrap" as const },
    { name: owner, kind: "nowrap" as const },
  ];
  const ordered = underParents(spans);
  const scale = scaleOf(spans);
  const rows = ordered.map(({ span, depth }) => ({
    key: span.span_id,
    cells: [
      [
        depth === 0 ? null : h("span", { class: "quiet", "aria-hidden": "true" }, `${"· ".repeat(depth)}`),
        span.name,
        span.failure === null ? null : h("span", { class: "badge bad" }, span.failure),
      ],
      bar(span, scale),
      tookWords(Date.parse(span.at) - scale.fromMs),
      tookWords(Math.round(span.took_us / 100) / 10),
      span.region,
      span.node,
    ],
  }));
  return [
    h("ul", null, named),
    spans.length === 0 ? h("p", { class: "quiet" }, texts.gone) : dataTable(texts.caption, columns, rows),
    isComplete ? null : h("p", { class: "quiet" }, texts.cut),
  ];
}

interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
}

function scaleOf(spans: readonly RoadSpan[]): Scale {
  const from = spans.map(({ at }) => Date.parse(at));
  const to = spans.map(({ at, took_us }) => Date.parse(at) + took_us / 1_000);
  return { fromMs: Math.min(...from), toMs: Math.max(...to) };
}

function bar({ at, took_us }: RoadSpan, { fromMs, toMs }: Scale): ComponentChild {
  const share = (ms: number) => (toMs > fromMs ? (ms / (toMs - fromMs)) * 200 : 0);
  const x = Math.min(share(Date.parse(at) - fromMs), 199);
  return h(
    "svg",
    { class: "timeline", viewBox: "0 0 200 16", preserveAspectRatio: "none", "aria-hidden": "true" },
    h("rect", { class: "track", x: 0, y: 7, width: 200, height: 2 }),
    h("rect", { class: "mark", x, y: 4, width: Math.max(share(took_us / 1_000), 1), height: 8 }),
  );
}

const depthMax = 12;

/** Each span after the one that caused it; those whose cause is not here are at the margin. */
function underParents(
  spans: readonly RoadSpan[],
): readonly { readonly span: RoadSpan; readonly depth: number }[] {
  const known = new Set(spans.map(({ span_id }) => span_id));
  const children = Map.groupBy(spans, ({ parent_id }) =>
    parent_id !== null && known.has(parent_id) ? parent_id : "",
  );
  const found: { span: RoadSpan; depth: number }[] = [];
  const visit = (parent: string, depth: number): void => {
    if (depth > depthMax) return;
    for (const span of children.get(parent) ?? []) {
      found.push({ span, depth });
      visit(span.span_id, depth + 1);
    }
  };
  visit("", 0);
  return found;
}
