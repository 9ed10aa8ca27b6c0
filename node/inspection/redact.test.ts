import { describe, expect, it } from "vitest";
import type { ActorReport } from "../../actors/system/definition.ts";
import { waitsOf } from "./look.ts";
import { redact, redactReport } from "./redact.ts";

const mark = "3q2-7wQfAAAAAAAAAAAAAA";
const report: ActorReport = {
  ...{ ref: { kind: "ad-pool", id: "ret_1@eu-west1" }, status: "active", state: "served" },
  context: { company: "c", session: `${mark}@eu-west1`, served_at_ms: 0, items: [] },
  ...{ epoch: 1, head: 2, owner: "eu-west1/a", mailbox: 0, timers: [], failure: "x".repeat(1_000) },
  outbox: [
    { seq: 1, to: `ad-session/${mark}@eu-west1`, attempts: 4, lastError: "y".repeat(1_000), sinceMs: 0 },
    { seq: 2, to: "ad-campaign/b.spring", attempts: 0, lastError: null, sinceMs: 0 },
  ],
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

  it("has no long message of an error, which may quote a record", () => {
    const { failure, outbox } = redactReport(report);
    for (const text of [failure, outbox[0]?.lastError]) expect(text?.length).toBe(301);
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
