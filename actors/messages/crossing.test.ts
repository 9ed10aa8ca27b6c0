import { describe, expect, it } from "vitest";
import { mayCross } from "./crossing.ts";

describe("between nodes", () => {
  it.each([
    ["business", "key.revoke", "ask"],
    ["business", "chunk.assign", "ask"],
    ["integration-key", "nonce.claim", "ask"],
    ["push", "push.accept", "ask"],
    ["push", "hold.release", "deliver"],
    ["integration-key", "key.retire", "deliver"],
    ["region", "rows.index", "ask"],
  ] as const)("a %s is told %s, as %s and in no other way", (kind, type, how) => {
    expect(mayCross(kind, type, how)).toBe(true);
    expect(mayCross(kind, type, how === "ask" ? "deliver" : "ask")).toBe(false);
  });

  it.each([
    // These would settle a chunk that nobody published, or end a push that nobody failed.
    ["push", "chunk.settle"],
    ["push", "chunk.indexed"],
    ["push", "push.prepared"],
    ["region", "rows.applied"],
    ["region", "rows.failed"],
    ["region", "receipts.closed"],
    ["region", "region.open"],
    // These are commands that no actor of the kind has, and kinds that do not exist.
    ["business", "push.accept"],
    ["push", "constructor"],
    ["__proto__", "toString"],
    ["cluster", "view.look"],
  ])("a %s is never told %s", (kind, type) => {
    for (const how of ["ask", "deliver"] as const) expect(mayCross(kind, type, how)).toBe(false);
  });
});
