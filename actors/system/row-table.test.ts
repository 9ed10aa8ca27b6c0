import { expect, it } from "vitest";
import { defineJsonTable } from "./row-table.ts";

it("names the row that cannot be read, for an operator who looks for it in the store", () => {
  const counts = defineJsonTable<number>("counts", 7);
  const row = { rt: 7, k: 3, k2: 'a"b', body: "rubbish" };
  const view = { row: () => row, rowsOf: () => [row] };
  const named = /^A row of «counts» \(rt 7, k 3, k2 "a\\"b"\) cannot be read: .*rubbish/;
  expect(() => counts.read(view, 'a"b', 3)).toThrow(named);
  expect(() => counts.readAll(view)).toThrow(named);
  const good = { ...row, body: "5" };
  expect(counts.read({ row: () => good, rowsOf: () => [] }, "a")).toBe(5);
});
