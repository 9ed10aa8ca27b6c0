import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import type { LimitLease, LimitRule } from "../messages/integration-key.ts";
import { keyLimitsActor } from "./definition.ts";

const open = () => driveActor(keyLimitsActor, "key@region");
const windowMs = 60_000;
const window: LimitRule = { kind: "window", units: 100, window_ms: windowMs };
const bucket: LimitRule = { kind: "bucket", units: 10, per_second: 5 };
const nothing = { spent: 0, need: 0, want: 0 };

function lease(
  actor: ReturnType<typeof open>,
  rule: LimitRule,
  asked: Partial<Pick<LimitLease, "spent" | "need" | "want">>,
) {
  return actor.send({ type: "limit.lease", limit: "query_cost", rule, ...nothing, ...asked });
}

describe("leases of a window (L1)", () => {
  it("are of what is left of it, with half of that in advance, and of the next one once it has ended", () => {
    const actor = open();
    expect(lease(actor, window, { need: 40, want: 10 })).toEqual({
      granted: 50,
      free: 50,
      for_ms: windowMs,
      retry_ms: 0,
    });
    actor.nowMs += 20_000;
    const rest = { for_ms: 40_000 };
    expect(lease(actor, window, { want: 40 })).toEqual({ granted: 25, free: 25, retry_ms: 0, ...rest });
    expect(lease(actor, window, { need: 30 })).toEqual({ granted: 25, free: 0, retry_ms: 40_000, ...rest });
    expect(lease(actor, window, { need: 1, want: 9 })).toMatchObject({ granted: 0, retry_ms: 40_000 });
    actor.nowMs += 39_999;
    expect(lease(actor, window, { need: 1 })).toMatchObject({ granted: 0, retry_ms: 1 });
    actor.nowMs += 1;
    expect(lease(actor, window, { need: 1 })).toMatchObject({ granted: 1, free: 99, for_ms: windowMs });
  });

  it("charge what was spent without one, even if it is more than was left", () => {
    const actor = open();
    expect(lease(actor, window, { spent: 90, want: 20 })).toMatchObject({ granted: 5, free: 5 });
    expect(lease(actor, window, { spent: 30, need: 1 })).toMatchObject({ granted: 0, free: 0 });
  });

  it("last at most a window longer if the clock is set back, and what was spent stays spent", () => {
    const actor = open();
    lease(actor, window, { need: 90 });
    actor.nowMs -= 3_600_000;
    expect(lease(actor, window, { need: 90 })).toMatchObject({ granted: 10, for_ms: windowMs });
    actor.nowMs += windowMs;
    expect(lease(actor, window, { need: 90 })).toMatchObject({ granted: 90 });
  });

  it("leave no trace if they take nothing", () => {
    const actor = open();
    lease(actor, window, {});
    expect(actor.snapshot.context).toEqual({ accounts: {} });
  });

  it("are of one limit each", () => {
    const actor = open();
    lease(actor, window, { need: 100 });
    const other = { type: "limit.lease", limit: "request_rate", rule: window, ...nothing, need: 1 } as const;
    expect(actor.send(other)).toMatchObject({ granted: 1, free: 99 });
  });
});

describe("leases of a bucket (L1)", () => {
  it("are of what it has room for, and it drains steadily", () => {
    const actor = open();
    expect(lease(actor, bucket, { need: 12 })).toEqual({
      granted: 10,
      free: 0,
      for_ms: 1_000,
      retry_ms: 200,
    });
    actor.nowMs += 199;
    expect(lease(actor, bucket, { need: 1 })).toMatchObject({ granted: 0, retry_ms: 1 });
    actor.nowMs += 1;
    expect(lease(actor, bucket, { need: 1 })).toMatchObject({ granted: 1, free: 0 });
    actor.nowMs += 60_000;
    expect(lease(actor, bucket, { want: 9 })).toMatchObject({ granted: 5, free: 5 });
  });

  it("wait for what was spent beyond it", () => {
    const actor = open();
    expect(lease(actor, bucket, { spent: 14 })).toMatchObject({ free: 0, retry_ms: 1_000 });
    actor.nowMs += 1_000;
    expect(lease(actor, bucket, { need: 1 })).toMatchObject({ granted: 1 });
  });
});
