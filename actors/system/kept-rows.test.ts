// What an activation remembers of its actor's rows, and what it asks the store for.

import { describe, expect, it } from "vitest";
import type { PartitionRow } from "../../storage/actor-store.ts";
import { KeptRows } from "./kept-rows.ts";

const row = (k2: string, body = "1", rt = 16): PartitionRow => ({ rt, k: 0, k2, body });

describe("kept rows", () => {
  it("answer what they know, and leave the rest to the store", () => {
    const kept = new KeptRows([16]);
    kept.note([row("a"), row("b", "1", 17)]);
    const page = { rt: 16, limit: 9 };
    const others = { rt: 17, keys: ["b"] };
    expect(kept.find([{ rt: 16, keys: ["a", "c"] }, page, others])).toEqual({
      rows: [row("a")],
      missing: [{ rt: 16, keys: ["c"] }, page, others],
    });
    expect(kept.find([{ rt: 16, keys: ["a"] }]).missing).toEqual([]);
  });

  it("are those that were written last", () => {
    const kept = new KeptRows([16]);
    kept.note([row("a"), row("b")]);
    kept.note([row("a", "2")]);
    kept.forget([{ rt: 16, k: 0, k2: "b" }]);
    expect(kept.find([{ rt: 16, keys: ["a", "b"] }])).toEqual({
      rows: [row("a", "2")],
      missing: [{ rt: 16, keys: ["b"] }],
    });
  });

  it("are at most 65,536 characters, of which the oldest go first", () => {
    const kept = new KeptRows([16]);
    for (const name of ["a", "b", "c"]) kept.note([row(name, "x".repeat(30_000))]);
    expect(kept.find([{ rt: 16, keys: ["a", "b", "c"] }]).missing).toEqual([{ rt: 16, keys: ["a"] }]);
    // A row that is written again counts once.
    for (let times = 0; times < 9; times += 1) kept.note([row("c", "x".repeat(30_000))]);
    expect(kept.find([{ rt: 16, keys: ["b", "c"] }]).missing).toEqual([]);
  });

  it("have no number and do not expire (KR2)", () => {
    const kept = new KeptRows([16]);
    for (const other of [
      { ...row("a"), k: 1 },
      { ...row("a"), expiresAtMs: 1 },
    ])
      expect(() => kept.note([other])).toThrow("table 16 is not one to keep");
  });
});
