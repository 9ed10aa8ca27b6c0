import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BoundedMap, madeOnce } from "./bounded-map.ts";

/** The same behaviour by re-insertion into a plain map, whose order is the order of use. */
class Model {
  readonly entries = new Map<number, number>();
  readonly max: number;
  constructor(max: number) {
    this.max = max;
  }
  get(key: number): number | undefined {
    const value = this.entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }
  set(key: number, value: number): void {
    this.entries.delete(key);
    this.entries.set(key, value);
    for (const oldest of this.entries.keys()) if (this.entries.size > this.max) this.entries.delete(oldest);
  }
}

describe("a bounded map", () => {
  it("keeps as many as it may, and then lets go of the one that was used longest ago (L1, L2)", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect([map.size, map.get("a"), map.has("b")]).toEqual([2, 1, true]);
    map.set("c", 3);
    expect([map.size, map.get("b"), map.get("a"), map.get("c")]).toEqual([2, undefined, 1, 3]);
    map.set("a", 4);
    map.set("d", 5);
    expect([map.get("c"), map.get("a"), map.get("d")]).toEqual([undefined, 4, 5]);
  });

  it("takes no look for a use", () => {
    const map = new BoundedMap<string, number>(2);
    map.set("a", 1);
    map.set("b", 2);
    expect(map.has("a")).toBe(true);
    map.set("c", 3);
    expect(map.has("a")).toBe(false);
  });

  it("may keep a single entry, and values that are nothing", () => {
    const map = new BoundedMap<string, null | undefined>(1);
    map.set("a", null);
    expect(map.get("a")).toBeNull();
    map.set("b", undefined);
    expect([map.has("a"), map.has("b"), map.get("b")]).toEqual([false, true, undefined]);
    expect([map.delete("b"), map.delete("b"), map.size]).toEqual([true, false, 0]);
  });

  it.each([0, -1, Number.NaN])("refuses to keep at most %d", (max) => {
    expect(() => new BoundedMap(max)).toThrow(RangeError);
  });

  it("is gone through from the oldest, and what is given may be deleted meanwhile", () => {
    const map = new BoundedMap<string, number>(3);
    for (const [at, key] of ["a", "b", "c"].entries()) map.set(key, at);
    map.get("a");
    for (const [key, value] of map.entries()) if (value > 0) map.delete(key);
    expect([...map.entries()]).toEqual([["a", 0]]);
  });

  it("does what re-insertion into a plain map would do", () => {
    const key = fc.integer({ min: 0, max: 7 });
    const call = fc.oneof(
      fc.record({ kind: fc.constantFrom("get", "set", "set", "delete"), key }),
      fc.record({ kind: fc.constantFrom("clear"), key }),
    );
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 6 }), fc.array(call, { maxLength: 200 }), (max, calls) => {
        const [map, model] = [new BoundedMap<number, number>(max), new Model(max)];
        for (const [at, { kind, key }] of calls.entries()) {
          if (kind === "get") expect(map.get(key)).toBe(model.get(key));
          else if (kind === "delete") expect(map.delete(key)).toBe(model.entries.delete(key));
          else if (kind === "clear") {
            map.clear();
            model.entries.clear();
          } else {
            map.set(key, at);
            model.set(key, at);
          }
          expect(map.size).toBe(model.entries.size);
          for (let each = 0; each < 8; each += 1) expect(map.has(each)).toBe(model.entries.has(each));
          expect([...map.entries()]).toEqual([...model.entries]);
        }
      }),
    );
  });
});

it("makes of each object once what it is asked for", () => {
  let made = 0;
  const sizeOf = madeOnce((list: readonly number[]) => {
    made += 1;
    return { size: list.length };
  });
  const list = [1, 2];
  expect(sizeOf(list)).toEqual({ size: 2 });
  expect(sizeOf(list)).toBe(sizeOf(list));
  expect(sizeOf([1, 2])).not.toBe(sizeOf(list));
  expect(made).toBe(2);
});
