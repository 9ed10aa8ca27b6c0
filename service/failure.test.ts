import { describe, expect, it } from "vitest";
import { IndexUnavailable } from "../storage/row-index.ts";
import { failureAnswer } from "./failure.ts";

describe("an infrastructure failure", () => {
  it("of the row index is answered 503 with Retry-After (X5)", () => {
    const answer = failureAnswer(new IndexUnavailable("overloaded", "busy", { retryAfterSeconds: 2.5 }));
    expect(answer?.problem).toMatchObject({
      status: 503,
      code: "unavailable",
      reason: "index",
      retry_after_seconds: 3,
    });
    expect(answer?.headers).toEqual({ "retry-after": "3" });
  });

  it("is told from a bug", () => {
    expect(failureAnswer(new Error("a bug"))).toBeNull();
  });
});
