import { describe, expect, it } from "vitest";
import { actorUnavailable } from "../actors/system/definition.ts";
import { signingUnavailable } from "../crypto/port.ts";
import { indexUnavailable } from "../storage/row-index.ts";
import { remoteFailure } from "../transport/actor-transport.ts";
import { failureAnswer } from "./failure.ts";

describe("an infrastructure failure", () => {
  it("of the row index is answered 503 with Retry-After (X5)", () => {
    const answer = failureAnswer(indexUnavailable("overloaded", "busy", { retryAfterSeconds: 2.5 }));
    expect(answer?.problem).toMatchObject({
      status: 503,
      code: "unavailable",
      reason: "index",
      retry_after_seconds: 3,
    });
    expect(answer?.headers).toEqual({ "retry-after": "3" });
  });

  it.each([
    [actorUnavailable("overloaded", { retryAfterSeconds: 0.2, effect: "not_applied" }), 429, undefined, 1],
    [actorUnavailable("quarantined", { retryAfterSeconds: 30, effect: "unknown" }), 503, "quarantined", 30],
    [remoteFailure("overloaded", { retryAfterSeconds: 2, effect: "not_applied" }), 429, undefined, 2],
    [remoteFailure("unreachable", { retryAfterSeconds: 0, effect: "unknown" }), 503, "unreachable", 1],
    [signingUnavailable("hosted_key", "not here"), 503, "hosted_key", 60],
    // A node of an older release does not know the command.
    [remoteFailure("refused", { retryAfterSeconds: 1, effect: "not_applied" }), 503, "upgrading", 1],
  ])("(%s) is answered %i", (error, status, reason, seconds) => {
    const answer = failureAnswer(error);
    expect(answer?.problem).toMatchObject({ status, retry_after_seconds: seconds });
    if (reason !== undefined) expect(answer?.problem).toMatchObject({ code: "unavailable", reason });
  });

  it("is told from a bug, here or at another node", () => {
    expect(failureAnswer(new Error("a bug"))).toBeNull();
    expect(failureAnswer(remoteFailure("refused", { retryAfterSeconds: 1, effect: "unknown" }))).toBeNull();
    const tooLarge = remoteFailure("refused", { retryAfterSeconds: 0, effect: "not_applied" });
    expect(failureAnswer(tooLarge)).toBeNull();
  });
});
