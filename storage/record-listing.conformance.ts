// What every implementation of the port in record-store.ts must pass for its listings: obligation R5.

import { expect, it } from "vitest";
import { fresh, head } from "./record-store.fixture.ts";
import type { HeadPage, RecordHead, RecordStore } from "./record-store.ts";

/** More pages than any of these tests has to read. */
const pagesMax = 20_000;

/** All heads of a listing, in the order of its pages. */
export async function listed(
  page: (cursor: string | null) => Promise<HeadPage>,
): Promise<readonly RecordHead[]> {
  const heads: RecordHead[] = [];
  let cursor: string | null = null;
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const next: HeadPage = await page(cursor);
    heads.push(...next.heads);
    cursor = next.cursor;
    if (cursor === null) return heads;
  }
  throw new Error("the listing does not end");
}

export function recordListingTests(store: () => RecordStore, reopen: () => Promise<void>): void {
  const byId = (a: RecordHead, b: RecordHead): number => (a.record_id < b.record_id ? -1 : 1);

  it("hold every head once, in the same order each time, whatever the page's size (R5)", async () => {
    const [one, other] = [fresh("uuid"), fresh("uuid")];
    const heads = Array.from({ length: 45 }, (_, index) =>
      head(fresh("svc"), {
        business_uuid: index % 3 === 0 ? other : one,
        live: index % 4 > 0,
        change: 1 + index,
        generation: 1 + (index % 2),
      }),
    );
    await store().putHeads(heads);
    await reopen();
    const mine = (all: readonly RecordHead[]): readonly RecordHead[] =>
      all.filter((each) => each.business_uuid === one || each.business_uuid === other);
    const all = mine(await listed((cursor) => store().listHeads(cursor, 10_000)));
    expect(all.toSorted(byId)).toEqual(heads.toSorted(byId));
    for (const limit of [1, 2, 7, 44]) {
      expect(mine(await listed((cursor) => store().listHeads(cursor, limit)))).toEqual(all);
    }
    for (const uuid of [one, other]) {
      const catalogue = await listed((cursor) => store().listCatalogue(uuid, cursor, 1_000));
      expect(catalogue.toSorted(byId)).toEqual(
        heads.filter((each) => each.business_uuid === uuid).toSorted(byId),
      );
      for (const limit of [1, 3, 14, 30]) {
        expect(await listed((cursor) => store().listCatalogue(uuid, cursor, limit))).toEqual(catalogue);
      }
    }
  });

  it("are those of one type where one is asked for, each once, whatever the page's size (R5)", async () => {
    const [uuid, other] = [fresh("uuid"), fresh("uuid")];
    const types = { svc: "products", bf: "business_files", job: "jobs" } as const;
    const heads = Array.from({ length: 40 }, (_, index) => {
      const prefix = index % 13 === 0 ? "job" : index % 7 === 0 ? "bf" : "svc";
      return head(fresh(prefix), {
        type: types[prefix],
        business_uuid: index % 3 === 0 ? other : uuid,
        live: index % 4 > 0,
      });
    });
    await store().putHeads(heads);
    await reopen();
    for (const business of [uuid, other]) {
      for (const type of Object.values(types)) {
        const wanted = heads.filter((each) => each.business_uuid === business && each.type === type);
        for (const limit of [1, 3, 1_000]) {
          const found = await listed((cursor) => store().listCatalogue(business, cursor, limit, type));
          expect(found.toSorted(byId)).toEqual(wanted.toSorted(byId));
        }
      }
      const all = heads.filter((each) => each.business_uuid === business);
      for (const limit of [1, 4, 1_000]) {
        const found = await listed((cursor) => store().listCatalogue(business, cursor, limit));
        expect(found.toSorted(byId)).toEqual(all.toSorted(byId));
      }
      expect(await listed((cursor) => store().listCatalogue(business, cursor, 5, "events"))).toEqual([]);
    }
  });

  it("refuse the cursor of another type's listing", async () => {
    const uuid = fresh("uuid");
    await store().putHeads([
      ...Array.from({ length: 4 }, () => head(fresh("svc"), { business_uuid: uuid })),
      head(fresh("job"), { business_uuid: uuid, type: "jobs" }),
    ]);
    const { cursor } = await store().listCatalogue(uuid, null, 2, "products");
    expect(cursor).not.toBeNull();
    await expect(store().listCatalogue(uuid, cursor, 2, "jobs")).rejects.toThrow(RangeError);
  });

  it("give no page longer than was asked for, and nothing for a business without records", async () => {
    const uuid = fresh("uuid");
    const ids = Array.from({ length: 12 }, () => fresh("svc"));
    await store().putHeads(ids.map((id) => head(id, { business_uuid: uuid })));
    for (let cursor: string | null = null; ; ) {
      const page: HeadPage = await store().listCatalogue(uuid, cursor, 5);
      expect(page.heads.length).toBeLessThanOrEqual(5);
      cursor = page.cursor;
      if (cursor === null) break;
    }
    expect((await store().listHeads(null, 3)).heads.length).toBeLessThanOrEqual(3);
    expect(await listed((cursor) => store().listCatalogue(fresh("uuid"), cursor, 5))).toEqual([]);
  });

  it("show a head as it is now, and miss none that was there while others come (R5)", async () => {
    const uuid = fresh("uuid");
    const ids = Array.from({ length: 20 }, () => fresh("svc"));
    await store().putVersions(
      [],
      ids.map((id) => head(id, { business_uuid: uuid })),
    );
    const first = await store().listCatalogue(uuid, null, 6);
    const seen = [...first.heads];
    const change = { business_uuid: uuid, change: 2, live: false };
    await store().putHeads(ids.map((id) => head(id, change)));
    await store().putHeads(Array.from({ length: 20 }, () => head(fresh("svc"), { business_uuid: uuid })));
    for (let cursor = first.cursor; cursor !== null; ) {
      const page: HeadPage = await store().listCatalogue(uuid, cursor, 6);
      seen.push(...page.heads);
      cursor = page.cursor;
    }
    const met = seen.filter((each) => ids.includes(each.record_id));
    expect(met.map((each) => each.record_id).toSorted()).toEqual(ids.toSorted());
    expect(met.slice(first.heads.length).every((each) => each.change === 2)).toBe(true);
    const now = await listed((cursor) => store().listCatalogue(uuid, cursor, 100));
    expect(now.filter((each) => ids.includes(each.record_id)).every((each) => !each.live)).toBe(true);
  });
}
