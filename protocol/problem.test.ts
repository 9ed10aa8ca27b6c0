import { describe, expect, it } from "vitest";
import { problem, problemCodes } from "./problem.ts";

describe("a problem", () => {
  it("has the members of RFC 9457 and a stable code", () => {
    expect(problem("rate_limited", "Slow down.", { retry_after_seconds: 5 })).toEqual({
      type: "urn:svc:problem:rate_limited",
      title: "Too many requests",
      status: 429,
      code: "rate_limited",
      detail: "Slow down.",
      retry_after_seconds: 5,
    });
  });

  it("has the status that the specification gives its code", () => {
    const statuses = Object.fromEntries(
      Object.entries(problemCodes).map(([code, { status }]) => [code, status]),
    );
    expect(statuses).toMatchObject({
      request_invalid: 400,
      signature_missing: 401,
      signature_invalid: 401,
      signature_expired: 401,
      key_unknown: 401,
      digest_mismatch: 401,
      nonce_reused: 401,
      allowance_exhausted: 402,
      source_not_allowed: 403,
      not_found: 404,
      method_not_allowed: 405,
      idempotency_in_progress: 409,
      record_too_large: 413,
      idempotency_key_reused: 422,
      rate_limited: 429,
      unavailable: 503,
    });
  });

  it("has a title of its own for every code", () => {
    const titles = Object.values(problemCodes).map(({ title }) => title);
    expect(new Set(titles).size).toBe(titles.length);
    for (const code of Object.keys(problemCodes)) expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
  });
});
