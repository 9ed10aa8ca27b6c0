// The traces of a push, from what the nodes of all regions still have of them in memory.
//   PT1. Which traces are a push's own is known from its rows, and from the nodes that had the push. A node that did other work for it,
//        such as that of another region's index, knows the trace alone, and so is asked again once it is known.

import { type PushRoad, type RoadSpan, roadSpansMax } from "../../../ops/push-road-shape.ts";
import type { FoundSpans, SpanQuestion } from "../../telemetry/kept-spans.ts";
import { compareTexts } from "../look.ts";
import type { NodeAnswer } from "../node-asker.ts";

/** Null from a node that records no traces. */
export type AskSpans = (
  question: SpanQuestion,
) => Promise<readonly Omit<NodeAnswer<FoundSpans | null>, "isOlder">[]>;

interface PushTraces {
  readonly traces: PushRoad["traces"];
  readonly missing: NonNullable<PushRoad["missing"]>;
}

export async function readTraces(
  { ask, link }: { readonly ask: AskSpans; readonly link: string | null },
  known: SpanQuestion,
): Promise<PushTraces> {
  const first = await ask(known);
  const ids = [...new Set([...known.traces, ...first.flatMap(({ value }) => value?.traces ?? [])])].sort();
  const isNew = ids.length > new Set(known.traces).size;
  const answers = isNew ? await ask({ push: known.push, traces: ids }) : first;
  const all = answers.flatMap(({ incarnation: node, region, value }) =>
    (value?.spans ?? []).map((each): RoadSpan & { readonly startMs: number } => ({
      ...{ trace_id: each.traceId, span_id: each.spanId, parent_id: each.parentId, name: each.name },
      ...{ region, node, at: new Date(each.startMs).toISOString(), took_us: each.tookUs },
      ...{ failure: each.failure, startMs: each.startMs },
    })),
  );
  all.sort((a, b) => a.startMs - b.startMs || compareTexts(a.span_id, b.span_id));
  const spans = all.slice(0, roadSpansMax).map(({ startMs: _, ...each }): RoadSpan => each);
  const missing = answers.flatMap(({ incarnation, region, fault }) =>
    fault === null ? [] : [{ incarnation, region, detail: fault }],
  );
  const recording = answers.some(({ value }) => value !== null);
  return { traces: { recording, ids, spans, is_complete: spans.length === all.length, link }, missing };
}
