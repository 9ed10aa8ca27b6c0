// What a node knows of its traces, without what records them: a node that records none does not load it.

import type { Reading } from "../../ops/metrics.ts";
import type { RequestTraces } from "../../std/tracing.ts";
import type { FoundSpans, SpanQuestion } from "./kept-spans.ts";
import type { SpanFigures } from "./span-queue.ts";

export interface Tracing extends RequestTraces, AsyncDisposable {
  figures(): SpanFigures;
  /** The spans of a push that are still in memory. */
  find(question: SpanQuestion): FoundSpans;
}

/** A node that records nothing shows zeros. */
export function traceReadings(tracing: Pick<Tracing, "figures"> | null): readonly Reading[] {
  const nothing = { sent: 0, overflowed: 0, refused: 0, waiting: 0 };
  const { sent, overflowed, refused, waiting } = tracing?.figures() ?? nothing;
  const dropped = (reason: string, value: number): Reading => ({
    name: "svc_trace_spans_dropped_total",
    help: "Spans that were not sent: the queue was full, or the collector did not take them.",
    ...{ kind: "counter", value, labels: { reason } },
  });
  return [
    {
      ...{ name: "svc_trace_spans_total", help: "Spans that the collector took." },
      ...{ kind: "counter", value: sent },
    },
    dropped("queue_full", overflowed),
    dropped("not_taken", refused),
    {
      ...{ name: "svc_trace_spans_waiting", help: "Spans that wait for the collector." },
      ...{ kind: "gauge", value: waiting },
    },
  ];
}
