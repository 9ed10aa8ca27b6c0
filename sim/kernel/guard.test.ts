import { describe, expect, it } from "vitest";
import { installGuard } from "./guard.ts";

describe("the guard", () => {
  const uses: readonly [string, () => unknown][] = [
    ["Date.now", () => Date.now()],
    ["new Date()", () => new Date()],
    ["Math.random", () => Math.random()],
    ["setTimeout", () => setTimeout(() => {}, 0)],
    ["setImmediate", () => setImmediate(() => {})],
    ["performance.now", () => performance.now()],
    ["process.hrtime", () => process.hrtime()],
    ["crypto.randomUUID", () => crypto.randomUUID()],
  ];

  it.each(uses)("names %s and the place that used it (G1)", (source, use) => {
    const guard = installGuard({ nativeWork: false });
    try {
      expect(use).toThrow(`${source} was used inside the simulated world`);
      expect(guard.uses).toHaveLength(1);
      expect(guard.uses[0]).toContain(source);
      expect(guard.uses[0]).toContain("guard.test.ts");
    } finally {
      guard.remove();
    }
    expect(use).not.toThrow("simulated");
  });

  it("leaves what is pure alone", () => {
    const guard = installGuard({ nativeWork: false });
    try {
      expect(new Date(0).toISOString()).toBe("1970-01-01T00:00:00.000Z");
      expect(new Date(5) instanceof Date).toBe(true);
      expect(Date.parse("1970-01-01T00:00:00.001Z")).toBe(1);
      expect(guard.uses).toEqual([]);
    } finally {
      guard.remove();
    }
  });

  it("names native asynchronous work (G1)", async () => {
    const { readFile } = await import("node:fs/promises");
    const guard = installGuard({ nativeWork: true });
    try {
      await readFile(new URL(import.meta.url));
      expect(guard.uses.some((use) => use.includes("native FS"))).toBe(true);
    } finally {
      guard.remove();
    }
  });
});
