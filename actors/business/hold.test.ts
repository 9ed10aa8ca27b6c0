import { describe, expect, it } from "vitest";
import type { Listings, PlannedListings } from "../messages/business.ts";
import { decideHold } from "./admit.ts";

const catalogue = new Map<string, Listings>(
  Array.from({ length: 20 }, (_, index) => [`r${index}`, { US: ["10.00", "USD"] }] as const),
);

function hold(plan: PlannedListings, listings = 20) {
  return decideHold({
    catalogueListings: listings,
    before: (recordId) => catalogue.get(recordId) ?? {},
    plan,
  }).map(({ code }) => code);
}

const repriced = (count: number, amount: string): PlannedListings =>
  Array.from({ length: count }, (_, index) => [`r${index}`, { US: [amount, "USD"] }] as const);

describe("price-shock hold", () => {
  it("never holds a catalogue below 20 listings", () => {
    expect(hold(repriced(19, "99.00"), 19)).toEqual([]);
  });

  it("holds more than one fifth of prices changed, not exactly one fifth", () => {
    expect(hold(repriced(4, "11.00"))).toEqual([]);
    expect(hold(repriced(5, "11.00"))).toEqual(["price_changes"]);
  });

  it("holds a single price changed by more than half, not by exactly half", () => {
    expect(hold(repriced(1, "15.00"))).toEqual([]);
    expect(hold(repriced(1, "5.00"))).toEqual([]);
    expect(hold(repriced(1, "15.01"))).toEqual(["price_jump"]);
    expect(hold(repriced(1, "4.99"))).toEqual(["price_jump"]);
  });

  it.each([
    ["4.30", "6.45", []],
    ["4.30", "6.450001", ["price_jump"]],
    ["0.07", "0.035", []],
    ["0.03", "0.014999", ["price_jump"]],
    ["0", "0.000001", ["price_jump"]],
    ["999999999999999.999998", "999999999999999.999999", []],
  ])("compares amounts as they are written: %s to %s", (from, to, reasons) => {
    const before = { US: [from, "USD"] } as const;
    const plan = [["r0", { US: [to, "USD"] }]] as const;
    const reasonsOf = decideHold({ catalogueListings: 20, before: () => before, plan });
    expect(reasonsOf.map(({ code }) => code)).toEqual(reasons);
  });

  it("counts a price as changed however little it changes", () => {
    const before = { US: ["999999999999999.999998", "USD"] } as const;
    const plan = Array.from(
      { length: 5 },
      (_, index) => [`r${index}`, { US: ["999999999999999.999999", "USD"] }] as const,
    );
    const reasons = decideHold({ catalogueListings: 20, before: () => before, plan });
    expect(reasons.map(({ code }) => code)).toEqual(["price_changes"]);
  });

  it("treats another currency as a jump", () => {
    expect(hold([["r0", { US: ["10.00", "EUR"] }]])).toEqual(["price_jump"]);
  });

  it("holds more than one fifth of listings removed", () => {
    const dropped = (count: number): PlannedListings =>
      Array.from({ length: count }, (_, index) => [`r${index}`, {}]);
    expect(hold(dropped(4))).toEqual([]);
    expect(hold(dropped(5))).toEqual(["listings_removed"]);
  });

  it("does not count new records, the same price written otherwise, or an unchanged one", () => {
    expect(hold(Array.from({ length: 50 }, (_, index) => [`new${index}`, { US: ["1.00", "USD"] }]))).toEqual(
      [],
    );
    expect(hold(repriced(20, "10.0"))).toEqual([]);
  });

  it("says which listings and by how much, exactly", () => {
    const before: Listings = {
      US: ["0.30", "USD"],
      GB: ["4.30", "GBP"],
      DE: ["7", "EUR"],
      FR: ["2.5", "EUR"],
    };
    const after: Listings = { US: ["0.1", "USD"], GB: ["4.300001", "GBP"], DE: ["7", "USD"] };
    const [changes, jumps] = decideHold({
      catalogueListings: 20,
      before: (recordId) => (recordId === "a" ? before : { US: [recordId === "d" ? "100" : "1", "USD"] }),
      plan: [
        ["a", after],
        ["b", { US: ["1.1", "USD"] }],
        ["c", { US: ["0.95", "USD"] }],
        ["d", { US: ["104", "USD"] }],
      ],
      ownIdOf: (recordId) => (recordId === "a" ? "own a" : null),
    });
    const a = { record_id: "a", business_product_id: "own a" };
    const price = (amount: string, currency: string) => ({ amount, currency });
    const jumped = [
      { ...a, country: "DE", before: price("7", "EUR"), after: price("7", "USD"), change: null },
      { ...a, country: "US", before: price("0.30", "USD"), after: price("0.1", "USD"), change: "-0.2" },
    ];
    expect(jumps).toMatchObject({ code: "price_jump", count: 2, of: 20, largest: jumped });
    expect(changes).toMatchObject({ code: "price_changes", count: 6, of: 20 });
    expect(changes?.largest?.slice(0, 2)).toEqual(jumped);
    expect(changes?.largest?.slice(2)).toMatchObject([
      { record_id: "b", business_product_id: null, change: "0.1" },
      { record_id: "c", change: "-0.05" },
      { record_id: "d", change: "4" },
      { ...a, country: "GB", change: "0.000001" },
    ]);
  });

  it("names ten listings at most, the largest of all, and those from zero first", () => {
    const amounts = Array.from({ length: 30 }, (_, index) => `${20 + ((index * 7) % 30)}.00`);
    const plan = amounts.map((amount, index) => [`r${index}`, { US: [amount, "USD"] }] as const);
    const reasons = decideHold({
      catalogueListings: 100,
      before: (recordId) => ({ US: [recordId === "r4" ? "0" : "10.00", "USD"] }),
      plan,
    });
    const [changed, jump] = reasons;
    expect(changed).toMatchObject({ code: "price_changes", count: 30, of: 100 });
    const found = jump?.largest?.map(({ change }) => Number(change)) ?? [];
    expect(found).toEqual([48, 39, 37, 36, 35, 34, 33, 32, 31, 30]);
    expect(changed?.largest).toEqual(jump?.largest);
  });

  it("names removed listings in the order of the batch", () => {
    const dropped = Array.from({ length: 12 }, (_, index): PlannedListings[number] => [`r${index}`, {}]);
    const [reason] = decideHold({
      catalogueListings: 20,
      before: (recordId) => catalogue.get(recordId) ?? {},
      plan: dropped,
    });
    expect(reason).toMatchObject({ code: "listings_removed", count: 12, of: 20 });
    expect(reason?.largest?.map((each) => each.record_id)).toEqual(dropped.slice(0, 10).map(([id]) => id));
    expect(reason?.largest?.[0]).toMatchObject({ after: null, change: null, before: { amount: "10.00" } });
  });

  it("gives every reason at once", () => {
    const plan: PlannedListings = [
      ...repriced(5, "100.00"),
      ...Array.from({ length: 5 }, (_, i) => [`r${i + 5}`, {}] as const),
    ];
    expect(hold(plan)).toEqual(["price_changes", "price_jump", "listings_removed"]);
  });
});
