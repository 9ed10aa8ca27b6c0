import { describe, expect, it } from "vitest";
import { failureName, formatTraceparent, parseTraceparent, traceparentOf } from "./tracing.ts";
import { Unavailable } from "./unavailable.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const spanId = "00f067aa0ba902b7";
const text = `00-${traceId}-${spanId}-01`;

describe("a traceparent", () => {
  it("is read, whatever its flags say, and written as that of a recorded trace", () => {
    expect(parseTraceparent(text)).toEqual({ traceId, spanId });
    expect(parseTraceparent(`00-${traceId}-${spanId}-00`)).toEqual({ traceId, spanId });
    expect(formatTraceparent({ traceId, spanId })).toBe(text);
    expect(traceparentOf(`00-${traceId}-${spanId}-00`)).toBe(text);
    expect(traceparentOf(undefined)).toBeNull();
  });

  it.each([
    ["nothing", ""],
    ["another version", text.replace(/^00/, "01")],
    ["no trace", `00-${"0".repeat(32)}-${spanId}-01`],
    ["no span", `00-${traceId}-${"0".repeat(16)}-01`],
    ["upper case", text.toUpperCase()],
    ["a trace that is too short", `00-${traceId.slice(1)}-${spanId}-01`],
    ["more than one", `${text},${text}`],
    ["much more", "0".repeat(100_000)],
    ["a number", 7],
    ["null", null],
  ])("that is %s is no trace", (_what, odd) => {
    expect(parseTraceparent(odd)).toBeNull();
    expect(traceparentOf(odd)).toBeNull();
  });
});

describe("the name of a failure", () => {
  it("is its reason or its kind, and never its message", () => {
    const away = new Unavailable("of «Blue»", { reason: "store", effect: "unknown", retryAfterSeconds: 1 });
    expect([failureName(away), failureName(new TypeError("of «Blue»")), failureName("«Blue»")]).toEqual([
      "store",
      "TypeError",
      "failed",
    ]);
  });
});
