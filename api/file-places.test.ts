import { describe, expect, it } from "vitest";
import { FilePlaces } from "./file-places.ts";

function setUp(filesMax: number, filesPerOwnerMax: number) {
  const places = new FilePlaces({ filesMax, filesPerOwnerMax });
  const ended: string[] = [];
  const take = (owner: string, name: string) => places.take(owner, () => void ended.push(name));
  return { places, ended, take };
}

describe("places of files", () => {
  it("are bounded for all and for each owner, and are given back (FP1)", () => {
    const { places, take, ended } = setUp(4, 2);
    const first = take("a", "a1");
    expect([take("a", "a2") === null, take("a", "a3") === null]).toEqual([false, true]);
    first?.();
    first?.();
    expect(places.count).toBe(1);
    expect(take("a", "a4")).not.toBeNull();
    expect(ended).toEqual([]);
  });

  it("of an owner with many go to others that come, until all have as many (FP2)", () => {
    const { places, take, ended } = setUp(6, 6);
    for (let file = 1; file <= 6; file += 1) take("a", `a${file}`);
    for (const file of ["b1", "b2", "b3"]) expect(take("b", file)).not.toBeNull();
    expect(ended).toEqual(["a6", "a5", "a4"]);
    expect(take("b", "b4")).toBeNull();
    expect(take("a", "a7")).toBeNull();
    expect(take("c", "c1")).not.toBeNull();
    expect(ended).toEqual(["a6", "a5", "a4", "a3"]);
    expect(places.count).toBe(6);
  });

  it("are given back once by a file that had to end (FP3)", () => {
    const { places, take } = setUp(2, 2);
    take("a", "a1");
    const release = take("a", "a2");
    take("b", "b1");
    release?.();
    expect(places.count).toBe(2);
  });
});
