import { describe, expect, it } from "vitest";
import type { ActorReport } from "../../actors/system/definition.ts";
import { redact, redactReport, waitsOf } from "./look.ts";

const mark = "3q2-7wQfAAAAAAAAAAAAAA";
const report: ActorReport = {
  ref: { kind: "ad-pool", id: "ret_1@eu-west1" },
  status: "active",
  state: "served",
  context: { company: "c", session: `${mark}@eu-west1`, served_at_ms: 0, items: [] },
  epoch: 1,
  head: 2,
  owner: "eu-west1/a",
  mailbox: 0,
  timers: [],
  failure: "x".repeat(1_000),
  outbox: [
    { seq: 1, to: `ad-session/${mark}@eu-west1`, attempts: 4, lastError: "y".repeat(1_000), sinceMs: 0 },
    { seq: 2, to: "ad-campaign/b.spring", attempts: 0, lastError: null, sinceMs: 0 },
  ],
  crash: null,
  lastEvents: [{ type: "pool.served", session: `${mark}@eu-west1`, items: [] }],
};

describe("what operators are shown of an actor", () => {
  it("names no conversation that a pool was served to, neither in its effects nor in why it waits (RD4)", () => {
    const shown = redactReport(report);
    const waits = waitsOf(report);
    expect(JSON.stringify([shown, waits])).not.toContain(mark);
    expect(shown.outbox.map(({ to }) => to)).toEqual(["ad-session/(not shown)", "ad-campaign/b.spring"]);
    expect(waits.map(({ words }) => words).join()).toContain(
      "Its effect for ad-session/(not shown) failed 4 times",
    );
  });

  it("has why something failed, whatever its length, up to a bound, and no other long text (RD1)", () => {
    // What Elasticsearch says of an index that takes no writes.
    const cause = `index [svc-eu-west1-products] blocked by: [${"TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark; ".repeat(8)}]`;
    const context = { lastFailure: cause, held: { reason: "r", detail: cause }, words: cause };
    const looked = { ...report, context, failure: cause };
    expect(redactReport(looked)).toMatchObject({
      failure: cause,
      context: {
        lastFailure: cause,
        held: { detail: cause },
        words: `(${cause.length} characters, not shown)`,
      },
    });
    const { failure, outbox } = redactReport({ ...report, failure: "x".repeat(3_000) });
    expect([failure?.length, outbox[0]?.lastError?.length]).toEqual([2_001, 1_000]);
  });

  it("says on a region's own page what its list says: why its index fails", () => {
    const cause = `blocked: ${"x".repeat(400)}`;
    const context = { work: { a: { status: "failed" } }, batchesClosed: 0, lastFailure: cause };
    const looked = {
      ...report,
      ref: { kind: "region", id: "eu-west1" },
      state: { index: "catching_up" },
      context,
      failure: null,
    };
    const [shown, listed] = [redactReport(looked), looked].map((each) =>
      waitsOf(each).map(({ words }) => words),
    );
    expect(shown).toEqual(listed);
    expect(shown?.join()).toContain(cause);
  });

  it("has no member with a name for what is secret, whatever it contains, and no member of its own making (RD1)", () => {
    const context = JSON.parse(
      '{"token":["t"],"seal":{"a":1},"nonces":3,"mark":null,"__proto__":{"sig":"s"}}',
    );
    expect(JSON.stringify(redact(context))).toBe(
      '{"token":"(not shown)","seal":"(not shown)","nonces":3,"mark":null,"__proto__":{"sig":"(not shown)"}}',
    );
    expect(redact({ crash: { while_handling: { type: "push.accept", body: "secret" } } })).toEqual({
      crash: { while_handling: { type: "push.accept", members: ["type", "body"] } },
    });
  });
});
