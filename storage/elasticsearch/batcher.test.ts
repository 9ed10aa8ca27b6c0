import { describe, expect, it } from "vitest";
import { Batcher } from "./row-index.ts";

/** Calls that end when the test lets them. */
function heldCalls() {
  const calls: { readonly changes: readonly number[]; readonly end: PromiseWithResolvers<void> }[] = [];
  const call = async (changes: readonly number[]): Promise<readonly string[]> => {
    const end = Promise.withResolvers<void>();
    calls.push({ changes, end });
    await end.promise;
    return changes.map(String);
  };
  return { calls, gathering: new Batcher(call, { callsMax: 2, changesMax: 3 }) };
}

describe("gathering", () => {
  it("puts what comes while calls are under way into the next one, in order and whole (G1)", async () => {
    const { calls, gathering } = heldCalls();
    const all = [[1], [2, 3], [4], [5, 6, 7], [8]].map((changes) => gathering.apply(changes));
    expect(calls.map((call) => call.changes)).toEqual([[1], [2, 3]]);
    calls[1]?.end.resolve();
    expect(await all[1]).toEqual(["2", "3"]);
    expect(calls.slice(2).map((call) => call.changes)).toEqual([[4, 5, 6, 7]]);
    calls[0]?.end.resolve();
    await all[0];
    expect(calls.slice(3).map((call) => call.changes)).toEqual([[8]]);
    for (const { end } of calls) end.resolve();
    expect(await Promise.all(all)).toEqual([["1"], ["2", "3"], ["4"], ["5", "6", "7"], ["8"]]);
  });

  it("fails all callers of a call that failed, and goes on (G2)", async () => {
    const { calls, gathering } = heldCalls();
    const all = [1, 2, 3, 4].map((change) => gathering.apply([change]).catch((error: unknown) => error));
    calls[0]?.end.reject(new Error("first"));
    expect(await all[0]).toMatchObject({ message: "first" });
    expect(calls[2]?.changes).toEqual([3, 4]);
    calls[2]?.end.reject(new Error("third"));
    expect(await Promise.all(all.slice(2))).toMatchObject([{ message: "third" }, { message: "third" }]);
    calls[1]?.end.resolve();
    const last = gathering.apply([5]);
    calls[3]?.end.resolve();
    expect([await all[1], await last]).toEqual([["2"], ["5"]]);
  });
});
