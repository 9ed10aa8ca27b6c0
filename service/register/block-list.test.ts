import { getHeapStatistics } from "node:v8";
import fc from "fast-check";
import { expect, it } from "vitest";
import { createBlockList } from "./register.ts";

const groups = ["g1", "g2", "g3"];
const businesses: readonly string[] = ["a", "b", "c", "d"];
const put = fc.record({
  business: fc.constantFrom(...businesses),
  groups: fc.uniqueArray(fc.constantFrom(...groups)),
  change: fc.nat(9),
});

it("knows who blocks a company's groups, by the highest change of each business", () => {
  fc.assert(
    fc.property(fc.array(put, { maxLength: 30 }), (puts) => {
      const list = createBlockList();
      const expected = new Map<string, (typeof puts)[number]>();
      for (const each of puts) {
        list.put(each.business, each.groups, each.change);
        if ((expected.get(each.business)?.change ?? 0) <= each.change) expected.set(each.business, each);
        for (const group of groups) {
          const company = { group, former_groups: ["g1"] };
          const blockers = [...expected.values()].filter((known) =>
            known.groups.some((blocked) => blocked === group || blocked === "g1"),
          );
          const uuids = blockers.map(({ business }) => business);
          expect([...list.blockedBusinesses(company)].sort()).toEqual(uuids.sort());
          for (const uuid of businesses) expect(list.hasBlocked(uuid, company)).toBe(uuids.includes(uuid));
        }
      }
    }),
  );
});

it("loads whoever blocks a group with work for each of them, however many others did", () => {
  const uuids = Array.from({ length: 8_000 }, (_, at) => `business ${at}`);
  const list = createBlockList();
  const before = getHeapStatistics().total_allocated_bytes;
  for (const uuid of uuids) list.put(uuid, ["g1"], 1);
  const allocated = getHeapStatistics().total_allocated_bytes - before;
  expect(list.blockedBusinesses({ group: "g1" })).toHaveLength(uuids.length);
  // Some 800 bytes each; a copy of the list for each would be 32,000 on average.
  expect(allocated / uuids.length).toBeLessThan(4_000);
});
