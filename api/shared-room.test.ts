import { describe, expect, it } from "vitest";
import type { Signer } from "../crypto/port.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { SharedRoom } from "./edge.ts";
import { holderOfBody } from "./signed.ts";

function setUp(max: number, perOwnerMax: number, inWorkMax = perOwnerMax) {
  const room = new SharedRoom(max, perOwnerMax, inWorkMax);
  const ended: string[] = [];
  /** What arrives is named by its owner and a number, and holds so much. */
  const take = (name: string, amount = 1) => {
    const holding = room.open(name.charAt(0), () => void ended.push(name));
    return holding.take(amount) ? holding : null;
  };
  return { room, ended, take };
}

describe("room that is shared", () => {
  it("is bounded for all and for each owner, and is given back (SR1)", () => {
    const { room, take, ended } = setUp(4, 2);
    const first = take("a1");
    expect([take("a2") === null, take("a3") === null]).toEqual([false, true]);
    first?.release();
    first?.release();
    expect(room.total).toBe(1);
    expect(take("a4")).not.toBeNull();
    expect(ended).toEqual([]);
  });

  it("goes from an owner with many to others that come, until all have as many (SR2)", () => {
    const { room, take, ended } = setUp(6, 6);
    for (let one = 1; one <= 6; one += 1) take(`a${one}`);
    for (const one of ["b1", "b2", "b3"]) expect(take(one)).not.toBeNull();
    expect(ended).toEqual(["a6", "a5", "a4"]);
    expect(take("b4")).toBeNull();
    expect(take("a7")).toBeNull();
    expect(take("c1")).not.toBeNull();
    expect(ended).toEqual(["a6", "a5", "a4", "a3"]);
    expect(room.total).toBe(6);
  });

  it("is counted by how much each holds, however many they are (SR2)", () => {
    const { room, take, ended } = setUp(12, 6);
    for (const [name, amount] of [
      ["a1", 3],
      ["a2", 3],
      ["b1", 5],
      ["c1", 1],
    ] as const)
      take(name, amount);
    expect(take("d1", 3)).not.toBeNull();
    // What is left of either is no more than the newcomer would have.
    expect(take("e1", 4)).not.toBeNull();
    expect(ended).toEqual(["a2", "b1"]);
    expect(room.total).toBe(11);
    expect(take("f1", 4)).toBeNull();
    expect([ended.length, room.total]).toEqual([2, 11]);
  });

  it("is kept where giving it up would not make room enough (SR2)", () => {
    const { room, take, ended } = setUp(8, 6);
    for (let one = 1; one <= 4; one += 1) for (const owner of ["a", "b"]) take(`${owner}${one}`);
    expect(take("c1", 3)).toBeNull();
    expect([ended, room.total]).toEqual([[], 8]);
  });

  it("is kept by what is worked on (SR3)", () => {
    const { take, ended } = setUp(6, 6);
    for (let one = 1; one <= 6; one += 1) {
      const holding = take(`a${one}`);
      if (one > 2) holding?.arrived(() => {});
    }
    expect([take("b1"), take("b2"), take("b3")].map((each) => each !== null)).toEqual([true, true, false]);
    expect(ended).toEqual(["a2", "a1"]);
  });

  it("is kept by so much of an owner at once: what else has arrived waits, and may have to make room (SR3)", () => {
    const { take, ended } = setUp(9, 9, 2);
    const begun: string[] = [];
    const arrive = (name: string, amount: number) => {
      const holding = take(name, amount);
      holding?.arrived(() => void begun.push(name));
      return holding;
    };
    const [first, second, , fourth] = (
      [
        ["a1", 1],
        ["a2", 1],
        ["a3", 3],
        ["a4", 1],
        ["a5", 1],
      ] as const
    ).map(([name, amount]) => arrive(name, amount));
    expect(begun).toEqual(["a1", "a2"]);
    first?.release();
    // What is larger than the bound has its turn alone, and is not overtaken.
    expect(begun).toEqual(["a1", "a2"]);
    second?.release();
    expect(begun).toEqual(["a1", "a2", "a3"]);
    expect(arrive("b1", 5)).toBeNull();
    expect(arrive("b2", 4)).not.toBeNull();
    expect({ begun, ended }).toEqual({ begun: ["a1", "a2", "a3", "b2"], ended: [] });
    expect(arrive("c1", 2)).not.toBeNull();
    expect({ begun, ended }).toEqual({ begun: ["a1", "a2", "a3", "b2", "c1"], ended: ["a5", "a4"] });
    fourth?.release();
  });

  it("begins with nothing that has to end in the place of what ended before it (SR3)", () => {
    const { take, ended } = setUp(6, 6, 2);
    const begun: string[] = [];
    for (const [name, amount] of [
      ["a1", 1],
      ["a2", 2],
      ["a3", 1],
      ["a4", 2],
    ] as const)
      take(name, amount)?.arrived(() => void begun.push(name));
    expect(begun).toEqual(["a1"]);
    expect(take("b1", 2)).not.toBeNull();
    expect({ begun, ended }).toEqual({ begun: ["a1"], ended: ["a4"] });
    expect(take("c1", 3)).toBeNull();
    expect(take("c2", 2)).not.toBeNull();
    expect({ begun, ended }).toEqual({ begun: ["a1"], ended: ["a4", "a3", "a2"] });
  });

  it("is given back once by what had to end (SR4)", () => {
    const { room, take } = setUp(2, 2);
    take("a1");
    const second = take("a2");
    take("b1");
    second?.release();
    expect(room.total).toBe(2);
  });
});

it("is a party's in production, whatever keys it has, and an address's in a sandbox, whatever parties", () => {
  const sandbox = { grantSigner: part<Signer>({}) };
  for (const [deps, party, address, holder] of [
    [{ grantSigner: null }, { uuid: "p" }, "192.0.2.1", "p"],
    [{ grantSigner: null }, null, "192.0.2.1", "k"],
    [sandbox, { uuid: "p" }, "192.0.2.1", "192.0.2.1"],
    [sandbox, { uuid: "p" }, "", "p"],
  ] as const)
    expect(holderOfBody(deps, { party, key: { key_id: "k" } }, address)).toBe(holder);
});
