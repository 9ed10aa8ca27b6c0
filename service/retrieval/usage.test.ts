import { describe, expect, it } from "vitest";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { usageLinesMax } from "../../protocol/wire/receipts.ts";
import type { UsageCount } from "../../storage/receipt-store.ts";
import { readUsage } from "./own-receipts.ts";

/** Counts of as many keys. */
const countsOf = (keys: number): readonly UsageCount[] =>
  Array.from({ length: keys }, (_, n) => ({
    day: "2026-03-04",
    key_id: `k${n}`,
    kind: "fetch",
    collection: null,
    country: null,
    requests: 2,
    billable: 1,
    rows: 2,
  }));

async function usageOf(counts: readonly UsageCount[], group_by: string | null) {
  const outcome = await readUsage(
    {
      store: part({ readUsage: async () => counts }),
      region: "eu-west1",
      clock: { now: () => Date.parse("2026-03-05T00:00:00.000Z") },
    },
    { caller: rubbish({ party: { uuid: "c" } }), query: { from: null, to: null, group_by } },
  );
  return outcome.kind === "answer" ? JSON.parse(String(outcome.body)) : outcome.problem;
}

describe("usage", () => {
  it("has twenty thousand lines at most, and says how to ask for fewer", async () => {
    expect(usageLinesMax).toBe(20_000);
    const whole = await usageOf(countsOf(usageLinesMax), null);
    expect(whole.usage).toHaveLength(usageLinesMax);
    expect(whole.total).toEqual({ requests: 40_000, billable: 20_000, rows: 40_000 });
    const beyond = countsOf(usageLinesMax + 1);
    expect(await usageOf(beyond, null)).toMatchObject({
      status: 400,
      code: "request_invalid",
      pointer: "/query/group_by",
      detail: expect.stringContaining("ask for fewer days, or group by less"),
    });
    expect(await usageOf(beyond, "day")).toMatchObject({ usage: [{ day: "2026-03-04", requests: 40_002 }] });
  });
});
