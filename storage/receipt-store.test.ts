import { describe, expect, it } from "vitest";
import { servedAtOf } from "./receipt-store.ts";

describe("the instant of a retrieval id", () => {
  it("is read from its hexadecimal digits", () => {
    expect(servedAtOf("ret_019e5d1a2b3c0123456789abcdef0123")).toBe(0x019e5d1a2b3c);
    expect(servedAtOf("ret_000000000000")).toBe(0);
  });

  it.each(["", "ret_", "ret_019e5d1a2b3", "ret_019E5D1A2B3C00", "r1", "xret_019e5d1a2b3c00"])(
    "is none of %j",
    (id) => {
      expect(servedAtOf(id)).toBeNull();
    },
  );
});
