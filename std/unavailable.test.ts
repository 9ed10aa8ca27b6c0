import { describe, expect, it } from "vitest";
import { Unavailable, unavailableFacts } from "./unavailable.ts";

const facts = { effect: "unknown", reason: "timeout", retryAfterSeconds: 2 } as const;

describe("what is unavailable", () => {
  it("is an error with its facts, its message and its cause", () => {
    const cause = new Error("below");
    const error = new Unavailable("away", facts, { cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "Unavailable", message: "away", cause, ...facts });
  });

  it("has the same facts after it crossed as plain JSON", () => {
    const error = new Unavailable("away", facts);
    expect(unavailableFacts(error)).toEqual(facts);
    expect(unavailableFacts(JSON.parse(JSON.stringify(error)))).toEqual(facts);
  });

  it("is asked again after a second where it does not say when", () => {
    for (const retryAfterSeconds of [undefined, null, "2", -1, Number.NaN])
      expect(unavailableFacts({ ...facts, retryAfterSeconds })).toEqual({ ...facts, retryAfterSeconds: 1 });
    expect(unavailableFacts({ ...facts, retryAfterSeconds: 0 })?.retryAfterSeconds).toBe(0);
  });

  it.each([
    [null],
    [undefined],
    ["timeout"],
    [new Error("a bug")],
    [{ ...facts, effect: "applied" }],
    [{ ...facts, reason: 7 }],
    [{ reason: "timeout", retryAfterSeconds: 2 }],
  ])("is not %o", (value) => {
    expect(unavailableFacts(value)).toBeNull();
  });
});
