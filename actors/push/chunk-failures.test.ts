import { describe, expect, it } from "vitest";
import { Unavailable } from "../../std/unavailable.ts";
import { WorkerEnded } from "../../std/worker-calls.ts";
import { StoreError } from "../../storage/actor-store.ts";
import { chunkCrashesMax, chunkFailuresMax, createChunkFailures, laterFailuresMax } from "./process-chunk.ts";

const chunk = { push: "p", chunk: 0 };

/** The number of failures until the chunk is given up; null if it never is. */
function givenUpAfter(error: unknown, failures = createChunkFailures(), name = chunk): number | null {
  for (let count = 1; count <= 1_000; count += 1) if (failures.isLast(name, error)) return count;
  return null;
}

const unavailable = (reason: string, cause?: unknown) =>
  new Unavailable("u", { reason, effect: "not_applied", retryAfterSeconds: 1 }, { cause });

describe("a chunk", () => {
  it.each([
    ["a store that fails", new StoreError("unknown", "timeout")],
    ["a store that refuses", new StoreError("not_applied", "no replica")],
    ["an actor that is overloaded", unavailable("overloaded")],
    ["an actor that is restarting", unavailable("restarting")],
    ["a signer that is away", unavailable("signing")],
    ["a thread that ended", new WorkerEnded("ended")],
    ["a full disk", Object.assign(new Error("no space left"), { code: "ENOSPC" })],
    [
      "a database that is locked",
      Object.assign(new Error("locked"), { errcode: 5, code: "ERR_SQLITE_ERROR" }),
    ],
  ])("is never given up for %s (F1)", (_name, error) => {
    expect(givenUpAfter(error)).toBeNull();
  });

  it.each([
    ["a fault of its own", new TypeError("x is undefined"), chunkFailuresMax],
    [
      "a wrong use of the platform",
      Object.assign(new RangeError("r"), { code: "ERR_OUT_OF_RANGE" }),
      chunkFailuresMax,
    ],
    ["a refusal by another node", unavailable("refused"), chunkFailuresMax],
    ["crashes of the business's actor", unavailable("restarting", new Error("bug")), chunkCrashesMax],
  ])("is given up for %s, after its bound (F2)", (_name, error, bound) => {
    expect(givenUpAfter(error)).toBe(bound);
  });

  it("is given up sooner after another one of its push, and not after one of another push (F3)", () => {
    const failures = createChunkFailures();
    givenUpAfter(new Error("own"), failures);
    expect(givenUpAfter(new Error("own"), failures, { push: "p", chunk: 1 })).toBe(laterFailuresMax);
    expect(givenUpAfter(new Error("own"), failures, { push: "q", chunk: 1 })).toBe(chunkFailuresMax);
  });

  it("that was settled in between begins again", () => {
    const failures = createChunkFailures();
    for (let count = 1; count < chunkFailuresMax; count += 1) failures.isLast(chunk, new Error("own"));
    failures.forget(chunk);
    expect(givenUpAfter(new Error("own"), failures)).toBe(chunkFailuresMax);
  });
});
