import { describe, expect, it } from "vitest";
import { joinCountries } from "./country-feeds.ts";
import { type JsonValue, recordBytes } from "./record-set.ts";

function product(country: string, amount: string, members: Readonly<Record<string, JsonValue>> = {}) {
  return recordBytes({
    schema: "svc/products/1",
    business_product_id: "m-1",
    product_name: "Lamp",
    tags: ["a", "b"],
    availability: "in_stock",
    on_sale: false,
    product_url: "https://lamps.example/1",
    countries: [country],
    prices: [{ country, currency: country === "CH" ? "CHF" : "EUR", amount }],
    ...members,
  });
}

function join(...records: readonly Uint8Array[]) {
  const { bytes, notes } = joinCountries(records);
  const record =
    bytes === null ? null : (JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>);
  return {
    record,
    notes: notes.map(({ effect, attribute, code }) => `${attribute} ${code} ${effect}`),
    full: notes,
  };
}

describe("feeds for several countries", () => {
  it("make one record with all prices, the same whatever the order of the feeds", () => {
    const [de, ch] = [product("DE", "19.99"), product("CH", "21.00")];
    const { record, notes } = join(de, ch);
    expect(notes).toEqual([]);
    expect(record).toMatchObject({
      countries: ["CH", "DE"],
      prices: [
        { country: "CH", currency: "CHF", amount: "21.00" },
        { country: "DE", currency: "EUR", amount: "19.99" },
      ],
    });
    expect(join(ch, de).record).toEqual(record);
  });

  it("leave a product of only one of them exactly as it is", () => {
    const bytes = new TextEncoder().encode('{ "business_product_id": "m-1" }');
    expect(joinCountries([bytes])).toEqual({ bytes, notes: [] });
    expect(() => joinCountries([])).toThrow(RangeError);
  });

  it.each<[string, Readonly<Record<string, JsonValue>>]>([
    ["product_name", { product_name: "Lampe" }],
    ["tags", { tags: ["b", "a"] }],
    ["availability", { availability: "preorder" }],
    ["on_sale", { on_sale: "yes" }],
  ])("leave a product out of which %s differs, with both values", (member, members) => {
    const { record, notes, full } = join(product("DE", "1"), product("CH", "1", members));
    expect(record).toBeNull();
    expect(notes).toEqual([`${member} feeds_differ item_left_out`]);
    expect(full[0]?.detail).toContain("A feed after this one has");
  });

  it("leave a product out that has two prices for one country, and join the same one", () => {
    const other = product("AT", "5", { countries: ["AT", "DE"] });
    const twice = (amount: string) =>
      product("DE", amount, {
        countries: ["DE", "AT"],
        prices: [
          { country: "DE", currency: "EUR", amount },
          { country: "AT", currency: "EUR", amount: "5" },
        ],
      });
    expect(join(twice("19.99"), other).record).toMatchObject({ countries: ["AT", "DE"] });
    expect(join(twice("19.99"), product("DE", "18")).notes).toEqual(["prices feeds_differ item_left_out"]);
  });

  it("do not list a product where it is sold out, unless it is everywhere", () => {
    const soldOut = { availability: "out_of_stock" };
    for (const records of [
      [product("DE", "1"), product("CH", "2", soldOut)],
      [product("CH", "2", soldOut), product("DE", "1")],
    ]) {
      const { record, notes, full } = join(...records);
      expect(record).toMatchObject({ countries: ["DE"], availability: "in_stock" });
      expect(notes).toEqual(["availability feeds_differ attribute_left_out"]);
      expect(full[0]?.value).toBe("CH");
    }
    const gone = join(product("DE", "1", soldOut), product("CH", "2", soldOut));
    expect(gone).toMatchObject({ record: { countries: ["CH", "DE"], ...soldOut }, notes: [] });
  });

  it("have the first address, and are on sale only where all are, both with a note", () => {
    const { record, notes } = join(
      product("DE", "1", { on_sale: true }),
      product("CH", "2", { product_url: "https://lamps.example/ch/1" }),
      product("AT", "3", { gtin: "4006381333931", on_sale: true }),
    );
    expect(record).toMatchObject({
      product_url: "https://lamps.example/1",
      on_sale: false,
      gtin: "4006381333931",
      countries: ["AT", "CH", "DE"],
    });
    expect(notes).toEqual([
      "on_sale feeds_differ value_changed",
      "product_url feeds_differ value_changed",
      "on_sale feeds_differ value_changed",
    ]);
  });
});
