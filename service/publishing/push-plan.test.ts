import { describe, expect, it } from "vitest";
import type { PlannedListings } from "../../actors/messages/business.ts";
import type { Listings } from "../../protocol/price-shock.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { isLarge, loadPlan, type PlanDeps, piecesOf, storePlan } from "./push-plan.ts";

const uuid = "00000000-0000-4000-8000-000000000001";

/** A plan of so many records, each with so many listings. */
function planOfSize(records: number, listings = 1): PlannedListings {
  const each: Listings = Object.fromEntries(
    Array.from({ length: listings }, (_, index) => [`C${index}`, ["1.00", "USD"]]),
  );
  return Array.from({ length: records }, (_, index) => [`svc_${index}`, each] as const);
}

function setUp() {
  const documents = new Map<string, string>();
  const records: Pick<PlanDeps["records"], "putStagedDocument" | "readStagedDocument"> = {
    putStagedDocument: async (_, name, body) => void documents.set(name, body),
    readStagedDocument: async (_, name) => documents.get(name) ?? null,
  };
  return { documents, deps: part<PlanDeps>({ records: rubbish(records), pace: () => null }) };
}

describe("the plan of a push", () => {
  it.each([
    [0, 1, 1],
    [1, 1, 1],
    [1_000, 1, 1],
    [1_001, 1, 26],
    [40, 249, 1],
    [41, 249, 5],
  ])(
    "of %d records with %d listings each is kept in %d pieces and read as it was (PL1)",
    async (count, listings, pieces) => {
      const { documents, deps } = setUp();
      const plan = planOfSize(count, listings);
      await storePlan(deps, "push", plan);
      expect(documents.size).toBe(pieces);
      expect(isLarge([plan])).toBe(pieces > 1);
      expect(await loadPlan(deps, uuid, "push")).toEqual(plan);
    },
  );

  it("is stored in few writes, each of pieces that a store may commit together", async () => {
    const { deps } = setUp();
    const writes: number[] = [];
    let underWay = 0;
    const putStagedDocument = async (): Promise<void> => {
      underWay += 1;
      await new Promise<void>((resolve) => setImmediate(resolve));
      if (underWay > 0) writes.push(underWay);
      underWay = 0;
    };
    await storePlan({ ...deps, records: part({ putStagedDocument }) }, "push", planOfSize(2_100));
    expect(writes).toEqual([25, 25, 3]);
  });

  it("has pieces that are all small, and together are the plan", () => {
    const plan = [...planOfSize(120), ...planOfSize(30, 249), ...planOfSize(1, 9_000)];
    const pieces = [...piecesOf(plan)];
    expect(pieces.flat()).toEqual(plan);
    for (const piece of pieces.slice(0, -1)) {
      expect(piece.length).toBeLessThanOrEqual(40);
      expect(piece.reduce((sum, [, each]) => sum + Object.keys(each).length, 0)).toBeLessThanOrEqual(2_500);
    }
    expect([...piecesOf([])]).toEqual([]);
  });
});
