// The conformance suite of the port `WitnessStore`.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { WitnessedHead, WitnessStore } from "./witness-store.ts";

export interface OpenWitnessStore {
  readonly store: WitnessStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<{ readonly store: WitnessStore; close(): Promise<void> }>;
  close(): Promise<void>;
}

const head = (size: number, digit = "a"): WitnessedHead => ({
  size,
  root: `sha256:${digit.repeat(64)}`,
  note: `note of ${size} ${digit}`,
});

export function witnessStoreConformance(name: string, open: () => Promise<OpenWitnessStore>): void {
  describe(`witness store: ${name}`, () => {
    let opened: OpenWitnessStore;
    let store: WitnessStore;
    beforeEach(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterEach(async () => await opened.close());

    it("knows nothing at first, and each log for itself", async () => {
      expect(await store.read("a")).toBeNull();
      expect(await store.advance("a", null, head(3))).toBe(true);
      expect(await store.read("a")).toEqual(head(3));
      expect(await store.read("b")).toBeNull();
    });

    it("W1: shows another process what it advanced to", async () => {
      await store.advance("a", null, head(3));
      await store.advance("a", head(3), head(2 ** 50, "b"));
      const other = await opened.reopen();
      expect(await other.store.read("a")).toEqual(head(2 ** 50, "b"));
      await other.close();
    });

    it("W2: advances from the head that is there, and from no other", async () => {
      await store.advance("a", null, head(3));
      for (const from of [null, head(2), head(4), head(3, "b")])
        expect(await store.advance("a", from, head(9))).toBe(false);
      expect(await store.read("a")).toEqual(head(3));
    });

    it("W2: lets one of many win, over several processes", async () => {
      const other = await opened.reopen();
      const tried = await Promise.all(
        ["1", "2", "3", "4", "5", "6"].map(async (digit, at) => {
          const isWinner = await [store, other.store][at % 2]?.advance("a", null, head(5, digit));
          return isWinner === true ? digit : null;
        }),
      );
      const winners = tried.filter((digit) => digit !== null);
      expect(winners).toHaveLength(1);
      expect(await store.read("a")).toEqual(head(5, winners[0]));
      await other.close();
    });

    it("W3: never goes back, nor to another root of the same size", async () => {
      await store.advance("a", null, head(3));
      await expect(store.advance("a", head(3), head(2))).rejects.toThrow(RangeError);
      await expect(store.advance("a", head(3), head(3, "b"))).rejects.toThrow(RangeError);
      expect(await store.advance("a", head(3), head(3))).toBe(true);
      expect(await store.read("a")).toEqual(head(3));
    });
  });
}
