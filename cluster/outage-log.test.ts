import { beforeEach, describe, expect, it } from "vitest";
import { OutageLog } from "./cluster-view.ts";

let nowMs = 0;
let lines: string[] = [];
let outage: OutageLog;
beforeEach(() => {
  nowMs = 5_000;
  lines = [];
  outage = new OutageLog({
    monotonic: { nowMs: () => nowMs },
    failed: (detail) => lines.push(`failed ${detail}`),
    over: (detail) => lines.push(`over ${detail}`),
  });
});

const fails = (what: string): Promise<void> =>
  outage.watch(what, () => Promise.reject(new Error("no answer")));
const works = (what: string): Promise<void> => outage.watch(what, () => Promise.resolve());

describe("an outage", () => {
  it("is told at once, then once a minute with the count, then that it is over (T1, T2)", async () => {
    await works("view");
    for (let looks = 0; looks < 251; looks += 1) {
      await fails("view");
      nowMs += 500;
    }
    await works("view");
    await works("view");
    expect(lines).toEqual([
      "failed view: no answer",
      "failed view: no answer (failures since the last line: 120)",
      "failed view: no answer (failures since the last line: 120)",
      "over failures: 251",
    ]);
  });

  it("of several is one, and over only when all of them work again (T2)", async () => {
    await fails("view");
    await fails("beats");
    await works("rest");
    await works("view");
    expect(lines).toEqual(["failed view: no answer"]);
    await fails("view");
    await works("beats");
    await works("view");
    expect(lines).toEqual(["failed view: no answer", "over failures: 3"]);
  });

  it("is told anew when it comes back", async () => {
    await fails("view");
    await works("view");
    await fails("view");
    expect(lines).toEqual(["failed view: no answer", "over failures: 1", "failed view: no answer"]);
  });

  it("neither begins nor ends by what began earlier (T3)", async () => {
    const [slow, slower] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const [first, second] = [
      outage.watch("view", () => slow.promise),
      outage.watch("view", () => slower.promise),
    ];
    await works("view");
    slow.reject(new Error("hung"));
    await first;
    expect(lines).toEqual([]);
    await fails("view");
    slower.resolve();
    await second;
    expect(lines).toEqual(["failed view: no answer"]);
  });
});
