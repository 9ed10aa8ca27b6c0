import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import { mergeSelections, TurnRows } from "./turn.ts";

const nowMs = 1_000;

function row(k: number, k2: string, body = ""): PartitionRow {
  return { rt: 16, k, k2, body };
}

function view(loaded: readonly PartitionRow[], ...selections: RowSelection[]): TurnRows {
  const rows = new TurnRows(loaded, nowMs);
  rows.selections = selections;
  return rows;
}

describe("rows of a turn", () => {
  it("W1: only what the command selected is seen, whatever else the turn loaded", () => {
    const rows = view([row(0, "a"), row(0, "b"), row(1, "a")], { rt: 16, keys: ["a"] });
    expect(rows.rowsOf(16)).toEqual([row(0, "a"), row(1, "a")]);
    expect(rows.row(16, 1, "a")).toEqual(row(1, "a"));
    expect(rows.row(16, 7, "a")).toBeUndefined();
    expect(() => rows.row(16, 0, "b")).toThrow(/was read and not selected/);
    expect(() => rows.row(17, 0, "a")).toThrow(/was read and not selected/);
    expect(rows.rowsOf(17)).toEqual([]);
  });

  it("earlier puts and deletes of the turn are seen", () => {
    const rows = view([row(0, "a", "1"), row(0, "b", "1")], { rt: 16, keys: ["a", "b", "c"] });
    rows.put(row(0, "a", "2"));
    rows.put(row(0, "c", "2"));
    rows.delete(row(0, "b"));
    expect(rows.rowsOf(16)).toEqual([row(0, "a", "2"), row(0, "c", "2")]);
    expect(rows.row(16, 0, "b")).toBeUndefined();
  });

  it("W1: a page ends where the store's page ended, so that no gap is mistaken for the end", () => {
    const page: RowSelection = { rt: 16, after: { k: 0, k2: "a" }, limit: 2 };
    const rows = view([row(0, "a"), row(1, "x"), row(3, "x")], page);
    rows.put(row(2, "new"));
    rows.put(row(9, "beyond"));
    expect(rows.rowsOf(16)).toEqual([row(1, "x"), row(2, "new")]);
    expect(() => rows.row(16, 9, "beyond")).toThrow(/not selected/);
    const last = view([row(1, "x")], page);
    last.put(row(9, "beyond"));
    expect(last.rowsOf(16)).toEqual([row(1, "x"), row(9, "beyond")]);
  });

  it("W2: expired rows are not seen, those that expire now still are", () => {
    const expired = { ...row(0, "old"), expiresAtMs: nowMs - 1 };
    const now = { ...row(0, "now"), expiresAtMs: nowMs };
    const rows = view([expired, now], { rt: 16, limit: 9 });
    expect(rows.rowsOf(16)).toEqual([now]);
    expect(rows.row(16, 0, "old")).toBeUndefined();
  });

  it("W3: each key is put or deleted, by the last word on it (property)", () => {
    const step = fc.record({ k2: fc.constantFrom("a", "b/1", "c"), put: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const rows = new TurnRows([], nowMs);
        const last = new Map<string, boolean>();
        for (const { k2, put } of steps) {
          if (put) rows.put(row(5, k2));
          else rows.delete(row(5, k2));
          last.set(k2, put);
        }
        const puts: PartitionRow[] = [];
        const deletes: { rt: number; k: number; k2: string }[] = [];
        rows.collect(puts, deletes);
        const of = (put: boolean) => [...last].filter((each) => each[1] === put).map(([k2]) => k2);
        expect(puts.map((each) => each.k2)).toEqual(of(true));
        expect(deletes).toEqual(of(false).map((k2) => ({ rt: 16, k: 5, k2 })));
      }),
    );
  });

  it("tables of the system itself are out of reach", () => {
    const rows = view([]);
    expect(() => rows.put({ rt: 1, k: 0, k2: "", body: "" })).toThrow(/belongs to the actor system/);
    expect(() => rows.delete({ rt: 4, k: 0, k2: "x" })).toThrow(/belongs to the actor system/);
    expect(() => mergeSelections([[{ rt: 2, limit: 5 }]])).toThrow(/belongs to the actor system/);
  });

  it("selections of a turn are loaded together", () => {
    const merged = mergeSelections([
      [{ rt: 16, keys: ["a", "b"] }],
      [
        { rt: 16, keys: ["b", "c"] },
        { rt: 17, limit: 5 },
      ],
      [
        { rt: 17, limit: 5 },
        { rt: 17, after: { k: 1, k2: "" }, limit: 5 },
        { rt: 18, keys: [] },
      ],
    ]);
    expect(merged).toEqual([
      { rt: 16, keys: ["a", "b", "c"] },
      { rt: 17, limit: 5 },
      { rt: 17, after: { k: 1, k2: "" }, limit: 5 },
    ]);
  });
});
