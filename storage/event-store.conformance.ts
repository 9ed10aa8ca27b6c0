// What every implementation of the port in event-store.ts must pass: obligations E1–E4.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { CompanyEvent, EventStore, StoredEvent } from "./event-store.ts";

export interface OpenEventStore {
  readonly store: EventStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenEventStore>;
  close(): Promise<void>;
  /** Lets time pass until everything that was put is read (E2), or further. */
  pass(ms: number): void;
}

const settledMs = 60_000;
let regions = 0;

export function eventStoreConformance(
  name: string,
  open: () => Promise<OpenEventStore>,
  /** Whether events expire on their own, so that there is nothing to forget. */
  expires = false,
): void {
  describe(`${name} keeps the contract of an event store`, () => {
    let opened: OpenEventStore;
    let region: string;
    beforeEach(async () => {
      opened = await open();
      regions += 1;
      region = `region-${Date.now()}-${regions}`;
    });
    afterEach(() => opened.close());

    const event = (n: number, company = "c1"): CompanyEvent => ({
      company,
      retrieval_id: `ret_${String(n).padStart(32, "0")}`,
      body: `{"n":${n}}`,
    });
    const put = (...events: readonly CompanyEvent[]) => opened.store.put(region, events);
    const read = (after: StoredEvent | null = null, limit = 100, company = "c1") =>
      opened.store.read({ region, company, after: after?.position ?? null, limit });
    const bodies = (events: readonly StoredEvent[]) => events.map(({ body }) => body);

    it("E1: gives every event to another process", async () => {
      await put(event(1), event(2));
      opened.pass(settledMs);
      opened = await opened.reopen();
      expect(bodies(await read()).toSorted()).toEqual(['{"n":1}', '{"n":2}']);
      await put(event(1));
      opened.pass(settledMs);
      expect(new Set(bodies(await read()))).toEqual(new Set(['{"n":1}', '{"n":2}']));
    });

    it("E2, E3: reads on from any position, and misses nothing that is put later with a lower id", async () => {
      await put(event(5), event(6), event(7));
      opened.pass(settledMs);
      const first = await read(null, 2);
      expect(first).toHaveLength(2);
      await put(event(1), event(2));
      opened.pass(settledMs);
      const rest = await read(first.at(-1));
      expect(new Set([...bodies(first), ...bodies(rest)])).toEqual(
        new Set([5, 6, 7, 1, 2].map((n) => `{"n":${n}}`)),
      );
      expect(rest).toHaveLength(3);
      expect(await read(rest.at(-1))).toEqual([]);
      expect(await read()).toEqual([...first, ...rest]);
    });

    it("E2: is never ahead of what may still come", async () => {
      const seen: StoredEvent[] = [];
      for (let n = 0; n < 30; n += 1) {
        await put(event(100 - n));
        opened.pass(n % 3 === 0 ? 3_000 : 0);
        seen.push(...(await read(seen.at(-1) ?? null, 2)));
      }
      opened.pass(settledMs);
      seen.push(...(await read(seen.at(-1) ?? null)));
      expect(bodies(seen).toSorted()).toEqual(
        Array.from({ length: 30 }, (_, n) => `{"n":${100 - n}}`).toSorted(),
      );
    });

    it("E3: keeps companies and regions apart", async () => {
      await put(event(1), event(2, "c2"));
      await opened.store.put(`${region}-other`, [event(3)]);
      opened.pass(settledMs);
      expect(bodies(await read())).toEqual(['{"n":1}']);
      expect(bodies(await read(null, 10, "c2"))).toEqual(['{"n":2}']);
      expect(await read(null, 10, "c3")).toEqual([]);
    });

    it("takes many at once", async () => {
      const many = Array.from({ length: 230 }, (_, n) => event(n, `c${n % 2}`));
      await put(...many);
      opened.pass(settledMs);
      let after: StoredEvent | null = null;
      const seen: string[] = [];
      for (;;) {
        const page: readonly StoredEvent[] = await read(after, 20, "c1");
        if (page.length === 0) break;
        seen.push(...bodies(page));
        after = page.at(-1) ?? null;
      }
      expect(seen.toSorted()).toEqual(
        many
          .filter(({ company }) => company === "c1")
          .map(({ body }) => body)
          .toSorted(),
      );
    });

    it.skipIf(expires)("E4: forgets what was stored before an instant, a few at a time", async () => {
      const startMs = Date.now();
      await put(event(1), event(2), event(3));
      opened.pass(settledMs);
      await put(event(4));
      expect(await opened.store.forget(startMs - 1_000, 2)).toBe(0);
      expect(await opened.store.forget(startMs + settledMs / 2, 2)).toBe(2);
      expect(await opened.store.forget(startMs + settledMs / 2, 2)).toBe(1);
      expect(bodies(await read())).toEqual(['{"n":4}']);
    });
  });
}
