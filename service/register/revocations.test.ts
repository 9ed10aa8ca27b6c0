import { expect, it } from "vitest";
import type { KeptAct } from "../../actors/messages/business.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { createRevocations } from "./revocations.ts";

const uuid = "10000000-0000-4000-8000-000000000001";

/** A party on whose entries so many acts were done, every hundredth of them on a key. */
function open(count: number) {
  const kept = Array.from({ length: count }, (_, at): KeptAct => {
    const entry = (at + 1) % 100 === 0 ? "key/k" : "mandate/m";
    return { act: "a", entry, by: "Ada", reason: "r", at: "2026-11-20T03:00:00.000Z", change: at + 1 };
  });
  let asked = 0;
  const actors = {
    ask: async (_ref: unknown, { after, limit }: { readonly after: number; readonly limit: number }) => {
      asked += 1;
      return { acts: kept.filter(({ change }) => change > after).slice(0, limit) };
    },
  };
  const revocations = createRevocations(rubbish({ actors }));
  return { revocations, asked: () => asked };
}

it("the acts of a party are read in pages", async () => {
  const { revocations } = open(150);
  const first = await revocations.acts(uuid, { after: 0, entry: null });
  expect([first.acts.length, first.next_after]).toEqual([100, 100]);
  const last = await revocations.acts(uuid, { after: 100, entry: null });
  expect([last.acts.length, last.next_after]).toEqual([50, null]);
});

it("those of one entry are found wherever they are, and no more is read for them than a bound", async () => {
  const few = open(350);
  const found = await few.revocations.acts(uuid, { after: 0, entry: "key/k" });
  expect([found.acts.map(({ change }) => change), found.next_after]).toEqual([[100, 200, 300], null]);
  const many = open(10_000);
  const some = await many.revocations.acts(uuid, { after: 0, entry: "key/k" });
  expect([some.acts.length, some.next_after, many.asked()]).toEqual([20, 2_000, 20]);
});
