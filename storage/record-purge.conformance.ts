// What every record store must pass about purging: R7 of record-store.ts.

import { expect, it } from "vitest";
import { bytes, fresh, hash, head, seal, version } from "./record-store.fixture.ts";
import type { RecordStore } from "./record-store.ts";

const remains = '{"purged":{}}';

export function recordPurgeTests(store: () => RecordStore, reopen: () => Promise<void>): void {
  /** Two versions, the second with other bytes, of a record that is not served. */
  const removed = async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    const first = version(id, sealId);
    const second = version(id, sealId, { generation: 2, hash: hash("2"), bytes: bytes(2, 2) });
    await store().putSeal(seal(sealId));
    await store().putVersions(
      [first, second],
      [head(id, { generation: 2, change: 3, hash: hash("2"), live: false })],
    );
    return { id, first, second };
  };

  it("keeps of a version its place, hash, date, seal and proof, and nothing else (R7)", async () => {
    const { id, first, second } = await removed();
    await store().purgeVersions([{ record_id: id, generation: 1, hash: first.hash, remains }]);
    await reopen();
    expect(await store().readPublished(first)).toEqual({
      record_id: id,
      generation: 1,
      hash: first.hash,
      row: "",
      sidecar: remains,
      seal_id: first.seal_id,
      leaf_index: first.leaf_index,
      proof: first.proof,
    });
    const [origin, row] = [await store().readOrigins([first]), await store().readRows([first])];
    expect(origin).toMatchObject([{ bytes: bytes(), sidecar: remains }]);
    expect(row).toMatchObject([{ row: "" }]);
    expect(await store().readOrigins([second])).toMatchObject([{ bytes: second.bytes }]);
    expect((await store().listVersions(id, null, 9)).map(({ generation }) => generation)).toEqual([2, 1]);
    expect(await store().newestWith(id, first.hash, 9)).toMatchObject({ generation: 1 });
  });

  it("is not undone by the version that is written again, and may be repeated (R7)", async () => {
    const { id, first, second } = await removed();
    const all = [first, second].map(({ generation, hash }) => ({ record_id: id, generation, hash, remains }));
    await store().purgeVersions(all);
    await store().putVersions([first, second], []);
    await store().purgeVersions(all);
    await store().overwriteUnused();
    expect(await store().readOrigins([first, second])).toMatchObject([
      { bytes: bytes() },
      { bytes: bytes() },
    ]);
  });

  it("leaves a later version with the same bytes, and what it serves, alone", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    const first = version(id, sealId);
    const again = version(id, sealId, { generation: 2 });
    await store().putSeal(seal(sealId));
    await store().putVersions([first, again], [head(id, { generation: 2, change: 3 })]);
    await store().purgeVersions([{ record_id: id, generation: 1, hash: first.hash, remains }]);
    await store().overwriteUnused();
    expect((await store().readServed(id))?.version).toEqual(again);
  });

  it("makes nothing of a version that never was", async () => {
    const id = fresh("svc");
    await store().purgeVersions([{ record_id: id, generation: 1, hash: hash("1"), remains }]);
    expect(await store().listVersions(id, null, 9)).toEqual([]);
  });
}
