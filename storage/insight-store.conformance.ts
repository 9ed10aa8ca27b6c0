// What every implementation of the port in insight-store.ts must pass: obligations I1–I4.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InsightCount, InsightStore } from "./insight-store.ts";

export interface OpenInsightStore {
  readonly store: InsightStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenInsightStore>;
  close(): Promise<void>;
}

const business = "00000000-0000-4000-8000-00000000000b";

function count(change: Partial<InsightCount> = {}): InsightCount {
  return {
    name: business,
    day: dayOf(0),
    country: "US",
    collection: "products",
    company: "10000000-0000-4000-8000-00000000000c",
    writer: "w1.0",
    searches: 1,
    rows: 3,
    fetches: 0,
    ...change,
  };
}

/** The day so many days from today: counts of long ago may be gone in a store that forgets by itself. */
function dayOf(days: number): string {
  return new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10);
}

const inOrder = (counts: readonly InsightCount[]): readonly InsightCount[] =>
  counts.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

export function insightStoreConformance(
  name: string,
  open: () => Promise<OpenInsightStore>,
  /** Whether counts expire on their own, so that there is nothing to forget. */
  expires = false,
): void {
  describe(`${name} keeps the contract of an insight store`, () => {
    let opened: OpenInsightStore;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    const shown = async (from = dayOf(-3), to = dayOf(3)): Promise<readonly InsightCount[]> =>
      inOrder(await opened.store.readShown(business, from, to));

    it("I1: keeps the highest count of a writer, however it comes", async () => {
      const { store } = opened;
      for (const rows of [3, 9, 9, 4]) await store.put("shown", [count({ rows })]);
      expect(await shown()).toEqual([count({ rows: 9 })]);
      await Promise.all([12, 10, 15, 11].map((rows) => store.put("shown", [count({ rows })])));
      expect(await shown()).toEqual([count({ rows: 15 })]);
      await store.put("shown", [count({ rows: 15, fetches: 1 }), count({ rows: 15, fetches: 2 })]);
      expect(await shown()).toEqual([count({ rows: 15, fetches: 2 })]);
    });

    it("I2: shows another process what was put", async () => {
      await opened.store.put("shown", [count()]);
      await opened.store.put("demand", [count({ name: "kettle", rows: 0 })]);
      const other = await opened.reopen();
      expect(await other.store.readShown(business, dayOf(0), dayOf(0))).toEqual([count()]);
      const place = { day: dayOf(0), country: "US", collection: "products" } as const;
      expect(await other.store.readDemand(place)).toEqual([count({ name: "kettle", rows: 0 })]);
      await other.close();
      opened = await other.reopen();
    });

    it("I3: keeps apart whatever differs in any part of its key", async () => {
      const counts = [
        count(),
        count({ writer: "w2.0", rows: 4 }),
        count({ company: "10000000-0000-4000-8000-00000000000d", rows: 5 }),
        count({ collection: "jobs", rows: 6 }),
        count({ country: "", rows: 0, searches: 0, fetches: 7 }),
        count({ day: dayOf(-1), rows: 8 }),
      ];
      const other = count({ name: "00000000-0000-4000-8000-00000000000f", rows: 9 });
      await opened.store.put("shown", [...counts, other]);
      expect(await shown()).toEqual(inOrder(counts));
      expect(await opened.store.readShown(other.name, dayOf(0), dayOf(0))).toEqual([other]);
      expect(await shown(dayOf(-1), dayOf(-1))).toEqual([counts[5]]);
      expect(await shown(dayOf(1), dayOf(2))).toEqual([]);
      const place = { day: dayOf(0), country: "US", collection: "products" } as const;
      expect(await opened.store.readDemand(place)).toEqual([]);
      const subjects = ["kettle", "Kettle", "ケトル"].map((subject) => count({ name: subject, rows: 0 }));
      await opened.store.put("demand", [...subjects, count({ name: "else", country: "GB" })]);
      expect(inOrder(await opened.store.readDemand(place))).toEqual(inOrder(subjects));
      expect(await shown()).toEqual(inOrder(counts));
    });

    it.skipIf(expires)("I4: forgets what is of earlier days, a few at a time, and nothing else", async () => {
      const days = [dayOf(-3), dayOf(-2), dayOf(-1), dayOf(0)];
      await opened.store.put(
        "shown",
        days.map((day) => count({ day })),
      );
      await opened.store.put(
        "demand",
        days.map((day) => count({ day, name: "kettle" })),
      );
      expect(await opened.store.forget(dayOf(-1), 3)).toBe(3);
      expect(await opened.store.forget(dayOf(-1), 3)).toBe(1);
      expect(await opened.store.forget(dayOf(-1), 3)).toBe(0);
      expect(await shown()).toEqual([count({ day: dayOf(-1) }), count({ day: dayOf(0) })]);
      const demand = async (day: string | undefined) =>
        opened.store.readDemand({ day: day ?? "", country: "US", collection: "products" });
      expect(await demand(days[1])).toEqual([]);
      expect(await demand(days[2])).toHaveLength(1);
    });
  });
}
