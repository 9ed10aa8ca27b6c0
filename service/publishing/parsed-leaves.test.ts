import { describe, expect, it } from "vitest";
import { createParsedLeaves } from "./push-leaves.ts";

const leaf = (recordId: string) => ({ record: { product_name: recordId }, recordId, judgedBy: "1.0" });

describe("parsed leaves", () => {
  it("are given once each (J1)", () => {
    const leaves = createParsedLeaves();
    leaves.put("a", [leaf("r0"), undefined, leaf("r2")], 100);
    expect(leaves.take("a", 2)).toEqual(leaf("r2"));
    expect(leaves.take("a", 2)).toBeUndefined();
    expect(leaves.take("a", 1)).toBeUndefined();
    expect(leaves.take("b", 0)).toBeUndefined();
    expect(leaves.take("a", 0)).toEqual(leaf("r0"));
  });

  it("are forgotten when the push is dropped, or others came after it (J2)", () => {
    const leaves = createParsedLeaves();
    for (const push of ["a", "b", "c"]) leaves.put(push, [leaf(push)], 1);
    leaves.drop("b");
    expect(["a", "b", "c"].map((push) => leaves.take(push, 0)?.recordId)).toEqual([
      undefined,
      undefined,
      "c",
    ]);
  });

  it("may be verdicts, which come one after another and are given once as well (J1)", () => {
    const leaves = createParsedLeaves();
    for (const at of [1, 70]) leaves.note("a", at, { recordId: `r${at}`, judgedBy: "3.0" });
    expect([0, 1, 70, 70].map((at) => leaves.take("a", at))).toEqual([
      undefined,
      { recordId: "r1", judgedBy: "3.0" },
      { recordId: "r70", judgedBy: "3.0" },
      undefined,
    ]);
  });

  it("are not kept of a push that is too large, nor what was kept of it before (J2)", () => {
    const leaves = createParsedLeaves();
    leaves.put("a", [leaf("r0")], 16 * 1024 * 1024);
    leaves.put("a", [leaf("r0")], 16 * 1024 * 1024 + 1);
    expect(leaves.take("a", 0)).toBeUndefined();
  });
});
