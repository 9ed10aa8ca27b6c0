import { describe, expect, it } from "vitest";
import { createRecentMap } from "./recent-map.ts";

describe("recent map", () => {
  it("keeps at most so many, and those that were used last", () => {
    const map = createRecentMap<number, string>(10);
    for (let key = 0; key < 100; key += 1) {
      map.set(key, `value ${key}`);
      expect(map.get(0)).toBe("value 0");
      expect(map.size).toBeLessThanOrEqual(10);
    }
    for (const key of [0, 99, 98, 97, 96]) expect(map.get(key)).toBe(`value ${key}`);
    expect(map.get(50)).toBeUndefined();
  });

  it("gives the newest value, and none once deleted, in whichever half it was", () => {
    const map = createRecentMap<string, number>(4);
    map.set("a", 1);
    for (const key of ["b", "c"]) map.set(key, 0);
    map.set("a", 2);
    expect(map.get("a")).toBe(2);
    expect(map.size).toBe(3);
    for (const key of ["a", "b", "c"]) map.delete(key);
    expect(map.size).toBe(0);
    expect(map.get("a")).toBeUndefined();
  });
});
