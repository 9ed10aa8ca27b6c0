import { describe, expect, it } from "vitest";
import { placeOn } from "./placement.ts";

const keys = Array.from({ length: 20_000 }, (_, index) => {
  const hex = Math.imul(index + 1, 0x9e3779b1) >>> 0;
  return `${hex.toString(16).padStart(8, "0")}-0000-4000-8000-${index.toString(16).padStart(12, "0")}`;
});
const nodes = (count: number) =>
  Array.from({ length: count }, (_, index) => ({ address: `127.0.0.1:${7_000 + index}` }));

function shares(of: readonly string[], members: readonly { address: string }[]): number[] {
  const counts = new Map(members.map((member) => [member.address, 0]));
  for (const key of of) {
    const { address } = placeOn(key, members) ?? { address: "" };
    counts.set(address, (counts.get(address) ?? 0) + 1);
  }
  return [...counts.values()];
}

describe("rendezvous hashing", () => {
  it("places nothing without members, everything on the only one", () => {
    expect(placeOn("key", [])).toBeNull();
    expect(placeOn("key", nodes(1))).toEqual(nodes(1)[0]);
  });

  it("spreads keys evenly, on nodes whose names differ in one character, too", () => {
    for (const count of [2, 3, 5, 16]) {
      const fair = keys.length / count;
      for (const share of shares(keys, nodes(count))) {
        expect(Math.abs(share - fair) / fair).toBeLessThan(0.09);
      }
    }
    const numbered = Array.from({ length: 20_000 }, (_, index) => String(index));
    for (const share of shares(numbered, nodes(4)))
      expect(Math.abs(share - 5_000) / 5_000).toBeLessThan(0.06);
  });

  it("moves only what a new member wins and what a member that goes had", () => {
    const [all, fewer] = [nodes(5), nodes(4)];
    let won = 0;
    for (const key of keys) {
      const [before, after] = [placeOn(key, fewer), placeOn(key, all)];
      if (after?.address === all[4]?.address) won += 1;
      else expect(after).toEqual(before);
    }
    expect(Math.abs(won - 4_000) / 4_000).toBeLessThan(0.06);
  });

  it("Z1: the order of the members does not matter, nor what else they are", () => {
    const all = nodes(7).map((node, index) => ({ ...node, incarnation: `i${index}` }));
    for (const key of keys.slice(0, 500)) {
      expect(placeOn(key, [...all].reverse())?.address).toBe(placeOn(key, nodes(7))?.address);
    }
  });
});
