import { describe, expect, it } from "vitest";
import { SvcConnectionError, SvcProblemError } from "./errors.ts";
import { mayPass } from "./patience.ts";

function problemWith(status: number, code: string): SvcProblemError {
  return new SvcProblemError({ status, code, detail: code, retryAfterSeconds: null, problem: {} });
}

describe("a failure", () => {
  it("may pass when the service was away, busy or not reached", () => {
    expect(mayPass(new SvcConnectionError("gone", { effect: "unknown", cause: null }))).toBe(true);
    for (const status of [429, 502, 503, 504]) expect(mayPass(problemWith(status, "unavailable"))).toBe(true);
    expect(mayPass(problemWith(409, "idempotency_in_progress"))).toBe(true);
  });

  it("does not pass when the service refused, or it is a fault of this program", () => {
    expect(mayPass(problemWith(409, "idempotency_conflict"))).toBe(false);
    expect(mayPass(problemWith(404, "not_found"))).toBe(false);
    expect(mayPass(new TypeError("x"))).toBe(false);
  });
});
