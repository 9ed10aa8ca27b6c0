import { describe, expect, it } from "vitest";
import type { Listings, PlannedListings } from "../messages/business.ts";
import { decideHold } from "./hold.ts";

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

  it("gives every reason at once", () => {
    const plan: PlannedListings = [
      ...repriced(5, "100.00"),
      ...Array.from({ length: 5 }, (_, i) => [`r${i + 5}`, {}] as const),
    ];
    expect(hold(plan)).toEqual(["price_changes", "price_jump", "listings_removed"]);
  });
});
