import { describe, expect, it } from "vitest";
import { ConfigError } from "../configuration/config-error.ts";
import { parseTracing } from "./trace-config.ts";

describe("the settings of traces", () => {
  it("record nothing unless a collector is named, and a tenth of all requests then", () => {
    expect(parseTracing({})).toEqual({ endpoint: null, ratio: 0.1 });
    expect(parseTracing({ SVC_OTLP_ENDPOINT: "http://127.0.0.1:4318" })).toEqual({
      endpoint: "http://127.0.0.1:4318/v1/traces",
      ratio: 0.1,
    });
    const own = { SVC_OTLP_ENDPOINT: "https://otel.example/otlp/v1/traces", SVC_TRACE_RATIO: "0.05" };
    expect(parseTracing(own)).toMatchObject({ endpoint: own.SVC_OTLP_ENDPOINT, ratio: 0.05 });
    for (const [text, ratio] of [
      ["0", 0],
      ["1", 1],
      [".5", 0.5],
    ] as const)
      expect(parseTracing({ ...own, SVC_TRACE_RATIO: text }).ratio).toBe(ratio);
  });

  it.each([
    [{ SVC_OTLP_ENDPOINT: "collector:4318" }, "SVC_OTLP_ENDPOINT"],
    [{ SVC_OTLP_ENDPOINT: "" }, "SVC_OTLP_ENDPOINT"],
    [{ SVC_OTLP_ENDPOINT: "http://user:secret@127.0.0.1:4318" }, "SVC_OTLP_ENDPOINT"],
    [{ SVC_OTLP_ENDPOINT: "http://a", SVC_TRACE_RATIO: "2" }, "SVC_TRACE_RATIO"],
    [{ SVC_OTLP_ENDPOINT: "http://a", SVC_TRACE_RATIO: "-1" }, "SVC_TRACE_RATIO"],
    [{ SVC_OTLP_ENDPOINT: "http://a", SVC_TRACE_RATIO: "all" }, "SVC_TRACE_RATIO"],
    [{ SVC_TRACE_RATIO: "1" }, "SVC_TRACE_RATIO"],
  ])("that cannot be used stop the start: %j", (env, name) => {
    expect(() => parseTracing(env)).toThrow(ConfigError);
    expect(() => parseTracing(env)).toThrow(name);
    expect(() => parseTracing(env)).not.toThrow("secret");
  });
});
