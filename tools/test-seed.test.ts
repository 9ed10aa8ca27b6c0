import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { seedOf, testSeed } from "./test-seed.ts";

describe("the seed of random tests", () => {
  it("follows from the commit", () => {
    expect(seedOf("59b72a058356cda82f71f20c4b7552b9c445f159")).toBe(seedOf("59b72a058356aaaa"));
    expect(seedOf("59b72a058356cda82f71f20c4b7552b9c445f159")).not.toBe(seedOf("60ad789e37b3"));
    expect(seedOf(null)).toBe(1);
    expect(testSeed({})).toBe(testSeed({ SVC_TEST_SEED: "" }));
  });

  it("is the one that is asked for, and no other text", () => {
    expect(testSeed({ SVC_TEST_SEED: "12" })).toBe(12);
    expect(() => testSeed({ SVC_TEST_SEED: "now" })).toThrow("SVC_TEST_SEED");
  });

  it("is what the properties of this run begin with", () => {
    expect(fc.readConfigureGlobal().seed).toBe(testSeed(process.env));
    expect(process.env["SVC_TEST_SEED"]).toMatch(/^[0-9]+$/);
  });
});
