import { describe, expect, it } from "vitest";
import { PlainTable } from "./plain-tables.ts";

function newTable() {
  const waiting: (() => void)[] = [];
  const coins: boolean[] = [];
  let missed = 0;
  const table = new PlainTable<string>({
    regions: ["here", "there"],
    coin: () => coins.shift() ?? false,
    replicate: (_from, _to, change) => waiting.push(change),
    missed: () => {
      missed += 1;
    },
  });
  return { table, waiting, coins, missedCount: () => missed };
}

const cell = (value: string, stamp: number) => ({ key: "k", value, stamp });

describe("a plain table", () => {
  it("shows a write that was answered to every later read of its region (L1)", () => {
    const { table } = newTable();
    table.write("here", [cell("a", 1)], "full");
    expect(table.read("here", "k")).toBe("a");
    table.write("here", [cell("late", 0)], "full");
    expect(table.read("here", "k")).toBe("a");
  });

  it("shows what a minority heard to some reads, and once seen for ever (L2)", () => {
    const { table, coins, missedCount } = newTable();
    table.write("here", [cell("a", 1)], "partial");
    coins.push(false, true);
    expect(table.read("here", "k")).toBeNull();
    expect(missedCount()).toBe(1);
    expect(table.read("here", "k")).toBe("a");
    expect(table.read("here", "k")).toBe("a");
    expect(missedCount()).toBe(1);
  });

  it("deletes everywhere what is stamped no later, and nothing else", () => {
    const { table, waiting, coins } = newTable();
    table.write("here", [cell("a", 1)], "full");
    waiting.pop()?.();
    table.write("there", [cell("b", 3)], "full");
    table.write("here", [cell("c", 2)], "partial");
    table.remove(["k"], 2);
    expect(table.read("there", "k")).toBe("b");
    coins.push(true);
    expect(table.read("here", "k")).toBeNull();
    table.remove(["k"]);
    expect(table.read("there", "k")).toBeNull();
  });

  it("tells other regions later, in whatever order, and the higher stamp wins (L3)", () => {
    const { table, waiting } = newTable();
    table.write("here", [cell("a", 1)], "full");
    table.write("here", [cell("b", 2)], "full");
    expect(table.read("there", "k")).toBeNull();
    waiting.pop()?.();
    waiting.pop()?.();
    expect(table.read("there", "k")).toBe("b");
  });
});
