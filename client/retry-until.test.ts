import { describe, expect, it } from "vitest";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";
import { isTransient } from "./retry-until.ts";

function problemWith(status: number, code: string): SvcProblemError {
  return new SvcProblemError({ status, code, detail: code, retryAfterSeconds: null, problem: {} });
}

describe("a failure", () => {
  it("may pass when the service was away, busy or not reached", () => {
    expect(isTransient(new SvcConnectionError("gone", { effect: "unknown", cause: null }))).toBe(true);
    for (const status of [429, 502, 503, 504])
      expect(isTransient(problemWith(status, "unavailable"))).toBe(true);
    expect(isTransient(problemWith(409, "idempotency_in_progress"))).toBe(true);
  });

  it("does not pass when the service refused, or it is a fault of this program", () => {
    expect(isTransient(problemWith(409, "idempotency_conflict"))).toBe(false);
    expect(isTransient(problemWith(404, "not_found"))).toBe(false);
    expect(isTransient(new TypeError("x"))).toBe(false);
  });
});
