import { expect, it } from "vitest";
import type { ChangeListener } from "../../cluster/cluster-view.ts";
import type { Member } from "../../storage/cluster-store.ts";
import { createDepartedNodes } from "./inspection.ts";

const member = (incarnation: string, address: string, state: Member["state"] = "active"): Member => ({
  incarnation,
  address,
  state,
  protocol_min: 1,
  protocol_max: 1,
  joined_at_ms: 0,
});
const [east, west] = ["eu-west1", "us-east1"] as const;

function open() {
  const views = new Map<string, readonly Member[]>();
  let nowMs = 0;
  let changed: ChangeListener = () => {};
  const departed = createDepartedNodes(
    {
      view: (region) => ({ region, version: 1, members: views.get(region) ?? [] }),
      onChange: (listener) => {
        changed = listener;
      },
    },
    { regionNames: [east, west], nowMs: () => nowMs },
  );
  return {
    names: () => departed().map(({ incarnation, region, sinceMs }) => `${incarnation} ${region} ${sinceMs}`),
    see: async (region: string, ...members: readonly Member[]) => {
      views.set(region, members);
      await changed({ moves: [], missed: false });
    },
    pass: (ms: number) => {
      nowMs += ms;
    },
  };
}

it("DN1: a node that is gone is remembered until its address has a member again, unless it was leaving", async () => {
  const { names, see, pass } = open();
  await see(east, member("a", "h:1"), member("b", "h:2"), member("c", "h:3", "leaving"));
  // The other region has nodes at the same addresses as they are seen there.
  await see(west, member("w", "h:2"));
  expect(names()).toEqual([]);
  pass(7);
  await see(east, member("a", "h:1"));
  expect(names()).toEqual(["b eu-west1 7"]);
  await see(west);
  expect(names()).toEqual(["b eu-west1 7", "w us-east1 7"]);
  await see(east, member("a", "h:1"), member("b2", "h:2", "joining"));
  expect(names()).toEqual(["w us-east1 7"]);
});

it("DN2: it is forgotten after an hour, and no more than 64 are remembered", async () => {
  const { names, see, pass } = open();
  await see(east, ...Array.from({ length: 70 }, (_, at) => member(`n${at}`, `h:${at}`)));
  await see(east);
  expect([names().length, names()[0]]).toEqual([64, "n6 eu-west1 0"]);
  pass(3_599_999);
  expect(names()).toHaveLength(64);
  pass(1);
  expect(names()).toEqual([]);
});
