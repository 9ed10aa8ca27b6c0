import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, it } from "vitest";
import { part } from "../../protocol/rubbish.fixture.ts";
import { KeptSpans } from "./kept-spans.ts";

interface Given {
  readonly name?: string;
  readonly push?: string;
  readonly failure?: string;
  readonly parent?: string;
  readonly status?: number;
}

let made = 0;

/** A span that ended, of a push's actor unless another name is given. */
function ended(traceId: string, { name, push, failure, parent, status }: Given): ReadableSpan {
  made += 1;
  const spanId = `s${made}`;
  return part<ReadableSpan>({
    ...{ name: name ?? "push push.accept", startTime: [1, 500_000], duration: [0, 2_500_000] },
    attributes: {
      ...(push === undefined ? {} : { "svc.actor.kind": "push", "svc.actor.id": push }),
      ...(status === undefined ? {} : { "http.response.status_code": status }),
    },
    status: failure === undefined ? { code: 0 } : { code: 2, message: failure },
    spanContext: () => ({ traceId, spanId, traceFlags: 1 }),
    ...(parent === undefined ? {} : { parentSpanContext: { traceId, spanId: parent, traceFlags: 1 } }),
  });
}

describe("kept spans", () => {
  it("KS3: are found by the push that a span of their trace names, and by their trace", () => {
    const kept = new KeptSpans();
    kept.onEnd(ended("a", { name: "sign versions", parent: "p" }));
    kept.onEnd(ended("a", { push: "b.1", failure: "restarting" }));
    kept.onEnd(ended("b", { push: "b.2" }));
    kept.onEnd(ended("c", { name: "region applyRows" }));
    const found = kept.find({ push: "b.1", traces: [] });
    expect(found.traces).toEqual(["a"]);
    expect(found.spans).toMatchObject([
      { name: "sign versions", parentId: "p", startMs: 1_000.5, tookUs: 2_500, failure: null },
      { name: "push push.accept", parentId: null, failure: "restarting" },
    ]);
    expect(kept.find({ push: "none", traces: ["c"] }).spans.map(({ name }) => name)).toEqual([
      "region applyRows",
    ]);
    expect(kept.find({ push: "none", traces: ["d"] })).toEqual({ traces: ["d"], spans: [] });
  });

  it("KS2: are those of pushes alone", () => {
    const kept = new KeptSpans();
    for (const name of ["POST /v1/search/products", "integration-key nonce.claim", "GET /v1/publish/limits"])
      kept.onEnd(ended("a", { name }));
    for (const name of ["POST /v1/publish/products", "business chunk.assign", "integration-key push.charge"])
      kept.onEnd(ended("a", { name }));
    expect(kept.find({ push: "", traces: ["a"] }).spans).toHaveLength(3);
  });

  it("KS2: requests to publish that fail displace nothing, unless work was done for them", () => {
    const kept = new KeptSpans();
    const request = { name: "POST /v1/publish/products" };
    kept.onEnd(ended("a", { ...request, status: 200 }));
    kept.onEnd(ended("b", { push: "b.1" }));
    kept.onEnd(ended("b", { ...request, status: 503, failure: "unavailable" }));
    for (let each = 0; each < 2_000; each += 1)
      kept.onEnd(ended(`t${each}`, { ...request, status: each % 2 === 0 ? 401 : 503 }));
    const names = kept.find({ push: "", traces: ["a", "b", "t1", "t1998"] }).spans.map(({ name }) => name);
    expect(names).toEqual([request.name, "push push.accept", request.name]);
  });

  it("KS1: are bounded in number, by trace and in all, and the oldest traces go first", () => {
    const kept = new KeptSpans();
    const count = (traces: readonly string[]) => kept.find({ push: "", traces }).spans.length;
    for (let each = 0; each < 5_000; each += 1) kept.onEnd(ended("a", { push: "b.1" }));
    expect(count(["a"])).toBe(4_096);
    for (let each = 0; each < 4_096; each += 1) kept.onEnd(ended("b", { push: "b.2" }));
    expect([count(["a"]), count(["b"])]).toEqual([4_096, 4_096]);
    kept.onEnd(ended("c", { push: "b.3" }));
    expect([count(["a"]), count(["b"]), count(["c"])]).toEqual([0, 4_096, 1]);
    for (let each = 0; each < 511; each += 1) kept.onEnd(ended(`t${each}`, { push: "b.4" }));
    expect([count(["b"]), count(["c"]), count(["t510"])]).toEqual([0, 1, 1]);
  });

  it("are forgotten with the node", async () => {
    const kept = new KeptSpans();
    kept.onEnd(ended("a", { push: "b.1" }));
    await kept.shutdown();
    expect(kept.find({ push: "b.1", traces: ["a"] }).spans).toEqual([]);
  });
});
