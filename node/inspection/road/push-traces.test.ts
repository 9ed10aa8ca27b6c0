import { describe, expect, it } from "vitest";
import { roadSpansMax } from "../../../ops/push-road-shape.ts";
import type { KeptSpan, SpanQuestion } from "../../telemetry/kept-spans.ts";
import { type AskSpans, readTraces } from "./push-road.ts";

const span = (traceId: string, spanId: string, startMs: number): KeptSpan => ({
  ...{ traceId, spanId, parentId: null, name: spanId, startMs, tookUs: 5, failure: null },
});

describe("the traces of a push", () => {
  it("PT1: are asked for again once a node has said which they are, and come from all nodes by time", async () => {
    const asked: SpanQuestion[] = [];
    const ask: AskSpans = async (question) => {
      asked.push(question);
      const knows = question.traces.includes("a");
      return [
        {
          incarnation: "n1",
          region: "eu",
          fault: null,
          value: { traces: ["a"], spans: [span("a", "two", 2.5)] },
        },
        {
          ...{ incarnation: "n2", region: "us", fault: null },
          value: { traces: question.traces, spans: knows ? [span("a", "one", 1.5)] : [] },
        },
        { incarnation: "n3", region: "us", fault: "it is away", value: null },
      ];
    };
    const { traces, missing } = await readTraces({ ask, link: null }, { push: "b.p", traces: [] });
    expect(asked.map((each) => each.traces)).toEqual([[], ["a"]]);
    expect(traces.spans.map(({ span_id, node, region }) => [span_id, node, region])).toEqual([
      ["one", "n2", "us"],
      ["two", "n1", "eu"],
    ]);
    expect(traces).toMatchObject({ recording: true, ids: ["a"], is_complete: true });
    expect(missing).toEqual([{ incarnation: "n3", region: "us", detail: "it is away" }]);
    asked.length = 0;
    await readTraces({ ask, link: null }, { push: "b.p", traces: ["a"] });
    expect(asked).toHaveLength(1);
  });

  it("that are known from the rows alone are named, and more spans than are shown are cut", async () => {
    const off: AskSpans = async () => [{ incarnation: "n", region: "eu", fault: null, value: null }];
    const none = await readTraces({ ask: off, link: "https://t/{trace_id}" }, { push: "b.p", traces: ["a"] });
    expect(none.traces).toEqual({
      ...{ recording: false, ids: ["a"], spans: [], is_complete: true, link: "https://t/{trace_id}" },
    });
    const spans = Array.from({ length: roadSpansMax + 1 }, (_, at) => span("a", `${at}`, at));
    const many: AskSpans = async () => [
      { incarnation: "n", region: "eu", fault: null, value: { traces: ["a"], spans } },
    ];
    const cut = await readTraces({ ask: many, link: null }, { push: "b.p", traces: ["a"] });
    expect([cut.traces.spans.length, cut.traces.is_complete]).toEqual([roadSpansMax, false]);
  });
});
