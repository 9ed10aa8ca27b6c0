// What every implementation of the port in fence-ledger.ts must pass: obligations L1–L3.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { earlier, type FenceLedger, type FenceRefusals, incarnationsMax } from "./fence-ledger.ts";

export interface OpenFenceLedger {
  /** A different region each time the suite opens one. */
  readonly region: string;
  /** Opens another handle, that of another process. */
  handle(): Promise<FenceLedger>;
  close(): Promise<void>;
}

const atMs = 1_780_000_000_000;

export function fenceLedgerConformance(name: string, open: () => Promise<OpenFenceLedger>): void {
  describe(`${name} keeps the contract of a fence ledger`, () => {
    let opened: OpenFenceLedger;
    let ledger: FenceLedger;
    let other: FenceLedger;
    beforeEach(async () => {
      opened = await open();
      ledger = await opened.handle();
      other = await opened.handle();
    });
    afterEach(() => opened.close());

    const refused = (incarnation: string, refusals: number, afterMs = 0): FenceRefusals => ({
      region: opened.region,
      incarnation,
      refusals,
      last_at_ms: atMs + afterMs,
    });
    const found = async (from = other): Promise<readonly FenceRefusals[]> =>
      (await from.read())
        .filter(({ region }) => region === opened.region)
        .toSorted((one, two) => (one.incarnation < two.incarnation ? -1 : 1));

    it("L2: shows another process what was noted, and nothing before", async () => {
      expect(await found()).toEqual([]);
      await ledger.note(refused("a", 1));
      await other.note(refused("b", 7, 5));
      expect(await found()).toEqual([refused("a", 1), refused("b", 7, 5)]);
      expect(await found(ledger)).toEqual(await found());
    });

    it("L1: keeps the highest count of an incarnation, however it comes", async () => {
      for (const count of [2, 5, 5, 3]) await ledger.note(refused("a", count, count));
      expect(await found()).toEqual([refused("a", 5, 5)]);
      await Promise.all([6, 9, 7, 8].map((count) => other.note(refused("a", count, count))));
      expect(await found()).toEqual([refused("a", 9, 9)]);
    });

    it("L3: adds up the incarnations that were refused longest ago", { timeout: 120_000 }, async () => {
      const count = incarnationsMax + 3;
      for (let index = 0; index < count; index += 1) {
        await ledger.note(refused(`n${String(index).padStart(3, "0")}`, index + 1, index));
      }
      const kept = await found();
      expect(kept).toHaveLength(incarnationsMax + 1);
      expect(kept[0]).toEqual(refused(earlier, 1 + 2 + 3, 2));
      expect(kept[1]).toEqual(refused("n003", 4, 3));
      expect(kept.reduce((sum, { refusals }) => sum + refusals, 0)).toBe((count * (count + 1)) / 2);
      // An existing incarnation grows without any other making room.
      await other.note(refused("n003", 10, 1_000));
      expect((await found())[0]).toEqual(refused(earlier, 6, 2));
    });
  });
}
