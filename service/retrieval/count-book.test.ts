import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { InsightCount } from "../../storage/insight-store.ts";
import { CountBook, type CountBookOptions, type CountPlace } from "./insight.ts";

/** A store as the port says: the highest total of a writer counts. Writes fail while `isAway`. */
function world(options: Partial<CountBookOptions> = {}) {
  const stored = new Map<string, InsightCount>();
  const state = { isAway: false, writes: 0 };
  const put = async (counts: readonly InsightCount[]): Promise<void> => {
    state.writes += 1;
    for (const count of counts) {
      const { searches, rows, fetches, ...key } = count;
      const name = JSON.stringify(key);
      const known = stored.get(name);
      const total = (each: InsightCount) => each.searches + each.rows + each.fetches;
      if (known === undefined || total(known) < total(count)) stored.set(name, count);
    }
    // The write may have been applied although it fails.
    if (state.isAway) throw new Error("away");
  };
  const book = new CountBook({ name: "n1", cellsMax: 1_000, ...options });
  const sum = (wanted: Partial<InsightCount>) => {
    const found = [...stored.values()].filter((count) =>
      Object.entries(wanted).every(([key, value]) => count[key as keyof InsightCount] === value),
    );
    const of = (key: "searches" | "rows" | "fetches") => found.reduce((all, count) => all + count[key], 0);
    return [of("searches"), of("rows"), of("fetches")];
  };
  return { book, stored, state, put, sum };
}

function place(change: Partial<CountPlace> = {}): CountPlace {
  return { day: "2026-03-04", country: "US", collection: "products", company: "c1", ...change };
}

describe("a count book", () => {
  it("counts a search once for each name in it, and each of its rows", async () => {
    const { book, put, sum } = world();
    book.search(place(), ["a", "b", "a"]);
    book.search(place(), ["a"]);
    book.search(place(), []);
    book.fetch(place({ country: "" }), "a");
    await book.flush(put);
    expect(sum({ name: "a", country: "US" })).toEqual([2, 3, 0]);
    expect(sum({ name: "a", country: "" })).toEqual([0, 0, 1]);
    expect(sum({ name: "b" })).toEqual([1, 1, 0]);
  });

  it("writes only what changed, and after a failure all of it again (B1, B4)", async () => {
    const { book, state, put, sum } = world();
    book.search(place(), ["a"]);
    state.isAway = true;
    await expect(book.flush(put)).rejects.toThrow("away");
    expect(book.waiting).toBe(1);
    book.search(place(), ["a"]);
    state.isAway = false;
    await book.flush(put);
    expect(sum({ name: "a" })).toEqual([2, 2, 0]);
    expect(book.waiting).toBe(0);
    const { writes } = state;
    await book.flush(put);
    expect(state.writes).toBe(writes);
  });

  it("begins under another writer what it let go, on a new day or when it is full (B2, B3)", async () => {
    const { book, put, stored, sum } = world({ cellsMax: 2 });
    book.search(place(), ["a", "b"]);
    await book.flush(put);
    book.search(place(), ["a"]);
    book.search(place({ day: "2026-03-05" }), ["a"]);
    await book.flush(put);
    expect(sum({ name: "a" })).toEqual([3, 3, 0]);
    expect(new Set([...stored.values()].map((count) => count.writer)).size).toBe(3);
  });

  it("counts as lost what it has no room for, and nothing that it knows (B3)", async () => {
    const { book, state, put, sum } = world({ cellsMax: 2 });
    state.isAway = true;
    book.search(place(), ["a", "b", "c", "d"]);
    expect([book.lost, book.waiting]).toEqual([2, 2]);
    await expect(book.flush(put)).rejects.toThrow();
    for (let n = 0; n < 50; n += 1) book.search(place(), [`e${n}`]);
    expect(book.waiting).toBe(2);
    state.isAway = false;
    await book.flush(put);
    expect(sum({ name: "a" })).toEqual([1, 1, 0]);
    expect(sum({ name: "e1" })).toEqual([0, 0, 0]);
    book.search(place(), ["e1"]);
    await book.flush(put);
    expect(sum({ name: "e1" })).toEqual([1, 1, 0]);
  });

  it("keeps nothing of a place in which nothing is counted (B3)", async () => {
    const { book, put } = world({ cellsMax: 10, namesPerCompanyMax: 3 });
    const countries = Array.from({ length: 26 * 26 }, (_, index) =>
      String.fromCharCode(65 + Math.floor(index / 26), 65 + (index % 26)),
    );
    for (const country of countries) book.search(place({ country }), []);
    expect(book.places).toBe(0);
    for (const country of countries) book.search(place({ country }), ["a"]);
    expect([book.places, book.lost]).toEqual([3, countries.length - 3]);
    await book.flush(put);
    for (const company of countries) {
      book.search(place({ company }), ["a"]);
      expect(book.places).toBeLessThanOrEqual(10);
      await book.flush(put);
    }
  });

  it("lets one company name only so many names a day, and leaves the others alone (B3)", async () => {
    const { book, put, stored } = world({ namesPerCompanyMax: 3 });
    for (let n = 0; n < 10; n += 1) book.search(place({ country: n % 2 === 0 ? "US" : "GB" }), [`k${n}`]);
    book.search(place(), ["k0"]);
    book.search(place({ company: "c2" }), ["x"]);
    book.search(place({ day: "2026-03-05" }), ["y"]);
    await book.flush(put);
    expect([...stored.values()].map((count) => count.name)).toEqual(["k0", "k1", "k2", "x", "y"]);
    expect(book.lost).toBe(7);
  });

  it("has stored, after any history, exactly what was counted", async () => {
    const name = fc.constantFrom("a", "b", "c");
    const where = fc.record({
      day: fc.constantFrom("2026-03-03", "2026-03-04", "2026-03-05"),
      country: fc.constantFrom("US", "GB"),
      company: fc.constantFrom("c1", "c2"),
    });
    const step = fc.oneof(
      fc.record({ search: fc.array(name, { maxLength: 4 }), where }),
      fc.record({ fetch: name, where }),
      fc.record({ flush: fc.constantFrom("works", "fails", "twice") }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const { book, state, put, stored } = world({ cellsMax: 40 });
        const expected = new Map<string, number[]>();
        const count = (of: string, at: object, add: readonly number[]) => {
          const key = JSON.stringify([of, at]);
          const known = expected.get(key) ?? [0, 0, 0];
          expected.set(
            key,
            known.map((value, index) => value + (add[index] ?? 0)),
          );
        };
        for (const each of steps) {
          if ("flush" in each) {
            state.isAway = each.flush === "fails";
            const flushes = each.flush === "twice" ? [book.flush(put), book.flush(put)] : [book.flush(put)];
            await Promise.allSettled(flushes);
            state.isAway = false;
            continue;
          }
          const at = place(each.where);
          if ("fetch" in each) {
            book.fetch(at, each.fetch);
            count(each.fetch, at, [0, 0, 1]);
            continue;
          }
          book.search(at, each.search);
          for (const of of each.search) count(of, at, [0, 1, 0]);
          for (const of of new Set(each.search)) count(of, at, [1, 0, 0]);
        }
        await book.flush(put);
        expect(book.lost).toBe(0);
        const found = new Map<string, number[]>();
        for (const { name: of, writer: _, searches, rows, fetches, ...at } of stored.values()) {
          const key = JSON.stringify([of, place(at)]);
          const known = found.get(key) ?? [0, 0, 0];
          found.set(
            key,
            known.map((value, index) => value + ([searches, rows, fetches][index] ?? 0)),
          );
        }
        expect(found).toEqual(expected);
      }),
      { numRuns: 300 },
    );
  });
});
