import { describe, expect, it } from "vitest";
import { allEnded } from "./all-ended.ts";

describe("work side by side", () => {
  it("answers in the order of its parts", async () => {
    const late = Promise.withResolvers<string>();
    const both = allEnded([late.promise, Promise.resolve(2)]);
    late.resolve("one");
    expect(await both).toEqual(["one", 2]);
  });

  it("fails with the first failure, but only once every part has ended", async () => {
    const slow = Promise.withResolvers<number>();
    let isSettled = false;
    const told: unknown[] = [];
    const failure = new Error("the first");
    const all = allEnded([slow.promise, Promise.reject(failure)], (error) => told.push(error));
    const watched = all.catch((error: unknown) => {
      isSettled = true;
      return error;
    });
    // By the next macrotask, everything that waits only for this process has run.
    await new Promise(setImmediate);
    expect(told).toEqual([failure]);
    expect(isSettled).toBe(false);
    slow.reject(new Error("the second"));
    expect(await watched).toBe(failure);
    expect(told).toEqual([failure]);
  });
});
