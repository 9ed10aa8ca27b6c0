// What every implementation of the port in record-store.ts must pass: obligations R1–R5 and the related reads. An
// adapter's test calls `recordStoreConformance` with a way to open it.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listed, recordListingTests } from "./record-listing.conformance.ts";
import { recordPurgeTests } from "./record-purge.conformance.ts";
import { bytes, fresh, hash, head, seal, stagedIn, version } from "./record-store.fixture.ts";
import type { RecordStore, RecordVersion } from "./record-store.ts";

export interface OpenRecordStore {
  readonly store: RecordStore;
  /** Ends this handle as the loss of the process would, and reopens the same contents. */
  reopen(): Promise<OpenRecordStore>;
  close(): Promise<void>;
}

export function recordStoreConformance(name: string, open: () => Promise<OpenRecordStore>): void {
  let opened: OpenRecordStore;
  let store: RecordStore;
  const reopen = async (): Promise<void> => {
    opened = await opened.reopen();
    store = opened.store;
  };

  describe(`${name} keeps the contract of a record store`, () => {
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describe("versions and heads", () => versionTests(() => store, reopen));
    describe("what is served", () => servingTests(() => store));
    describe("listings", () => recordListingTests(() => store, reopen));
    describe("a purge", () => recordPurgeTests(() => store, reopen));
    describe("staged pushes", () => stagingTests(() => store, reopen));
  });
}

function versionTests(store: () => RecordStore, reopen: () => Promise<void>): void {
  it("give back every member as it was put, after a loss of the process too (R3)", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await store().putSeal(seal(sealId));
    await store().putVersions([version(id, sealId)], [head(id)]);
    const expected = { head: head(id), version: version(id, sealId), seal: seal(sealId) };
    expect(await store().readServed(id)).toEqual(expected);
    await reopen();
    expect(await store().readServed(id)).toEqual(expected);
    expect(await store().readHead(id)).toEqual(head(id));
    expect(await store().readSeal(sealId)).toEqual(seal(sealId));
  });

  it("keep a record that was sealed alone: no leaf, no proof, no tree", async () => {
    const [id, sealId] = [fresh("bf"), fresh("sha256")];
    const alone = version(id, sealId, { leaf_index: null, proof: bytes(), type: "business_files" });
    await store().putSeal(seal(sealId, { tree_size: null }));
    await store().putVersions([alone], [head(id, { type: "business_files" })]);
    const served = await store().readServed(id);
    expect(served?.version).toEqual(alone);
    expect(served?.seal.tree_size).toBeNull();
    expect(served?.version.proof).toHaveLength(0);
    const published = await store().readPublished({ record_id: id, generation: 1, hash: hash("1") });
    expect(published).toMatchObject({ seal_id: sealId, leaf_index: null });
    expect(published?.proof).toHaveLength(0);
  });

  it("take every write again without a change (R1), and immutable ones only once (R2)", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    const other = version(id, sealId, {
      bytes: bytes(6, 6, 6),
      row: "{}",
      sidecar: "{}",
      cert_id: hash("d"),
    });
    for (const changes of [{}, { envelope: "{}", tree_size: 1 }])
      await store().putSeal(seal(sealId, changes));
    for (const each of [version(id, sealId), version(id, sealId), other]) {
      await store().putVersions([each], [head(id)]);
    }
    const expected = { head: head(id), version: version(id, sealId), seal: seal(sealId) };
    expect(await store().readServed(id)).toEqual(expected);
  });

  it("replace a head only by one with a higher change, in whatever order they come (R2)", async () => {
    const id = fresh("svc");
    const withdrawn = head(id, { live: false, change: 5 });
    for (const change of [3, 5, 4, 1]) {
      await store().putHeads([change === 5 ? withdrawn : head(id, { change, generation: change })]);
    }
    expect(await store().readHead(id)).toEqual(withdrawn);
    await store().putHeads([withdrawn]);
    expect(await store().readHead(id)).toEqual(withdrawn);
    await store().putHeads([head(id, { change: 6, generation: 4, hash: hash("6") })]);
    expect(await store().readHead(id)).toEqual(head(id, { change: 6, generation: 4, hash: hash("6") }));
  });

  it("keep one of two heads that share a change, whole, and the same everywhere (R2)", async () => {
    const a = { live: false, change: 5, generation: 9, hash: hash("1") };
    const b = { live: true, change: 5, generation: 2, hash: hash("7") };
    for (const [first, second] of [
      [a, b],
      [b, a],
    ] as const) {
      const id = fresh("svc");
      const uuid = fresh("uuid");
      for (const each of [first, second, first]) {
        await store().putHeads([head(id, { ...each, business_uuid: uuid })]);
      }
      const kept = await store().readHead(id);
      expect([a, b].map((each) => head(id, { ...each, business_uuid: uuid }))).toContainEqual(kept);
      expect(await listed((cursor) => store().listCatalogue(uuid, cursor, 5))).toEqual([kept]);
    }
  });

  it("take two heads of one record in one call", async () => {
    const id = fresh("svc");
    await store().putHeads([head(id, { change: 2, live: false }), head(id, { change: 1 })]);
    expect(await store().readHead(id)).toEqual(head(id, { change: 2, live: false }));
  });

  it("tell their bytes and their origin, in the order asked for, those that exist", async () => {
    const [a, b, sealId] = [fresh("svc"), fresh("svc"), fresh("bat")];
    const first = version(a, sealId, { sidecar: '{"n":1}', published_at_ms: 7 });
    const second = version(a, sealId, { generation: 2, hash: hash("2"), bytes: bytes(2, 0), sidecar: "{}" });
    const other = version(b, sealId, { bytes: bytes() });
    await store().putVersions([first, second, other], []);
    const asked = [
      other,
      second,
      { ...first, hash: hash("9") },
      first,
      { ...first, record_id: fresh("svc") },
    ];
    const origin = ({ record_id, generation, hash: of, ...rest }: RecordVersion) => ({
      record_id,
      generation,
      hash: of,
      bytes: rest.bytes,
      sidecar: rest.sidecar,
      published_at_ms: rest.published_at_ms,
    });
    expect(await store().readOrigins(asked)).toEqual([other, second, first].map(origin));
    expect(await store().readOrigins([])).toEqual([]);
  });

  it("are found as rows by record, generation and hash, in the order asked for, those that exist", async () => {
    const [a, b, sealId] = [fresh("svc"), fresh("svc"), fresh("bat")];
    const second = version(a, sealId, { generation: 2, hash: hash("2"), row: '{"n":2}', bytes: bytes(2) });
    await store().putVersions([version(a, sealId), second, version(b, sealId, { row: '{"n":3}' })], []);
    const asked = [
      { record_id: b, generation: 1, hash: hash("1") },
      { record_id: a, generation: 1, hash: hash("9") },
      { record_id: a, generation: 2, hash: hash("2") },
      { record_id: fresh("svc"), generation: 1, hash: hash("1") },
      { record_id: a, generation: 1, hash: hash("1") },
      // The bytes exist under an earlier generation, but not under the requested one.
      { record_id: a, generation: 3, hash: hash("2") },
    ];
    expect(await store().readRows(asked)).toEqual([
      { record_id: b, generation: 1, hash: hash("1"), row: '{"n":3}' },
      { record_id: a, generation: 2, hash: hash("2"), row: '{"n":2}' },
      { record_id: a, generation: 1, hash: hash("1"), row: version(a, sealId).row },
    ]);
    const id = { record_id: a, generation: 2, hash: hash("2") };
    const { sidecar, seal_id, leaf_index, proof } = second;
    const published = { ...id, row: '{"n":2}', sidecar, seal_id, leaf_index, proof };
    expect(await store().readPublished(id)).toEqual(published);
    expect(await store().readPublished({ ...id, hash: hash("9") })).toBeNull();
    expect(await store().readPublished({ ...id, generation: 3 })).toBeNull();
  });

  it("are listed newest first, with when they were published, also those of the same bytes", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    const dates = [1, 2, 3].map((generation) => ({
      generation,
      hash: hash(String(generation % 2)),
      published_at_ms: 1_780_000_000_000 + generation,
    }));
    await store().putVersions(
      dates.map((date) => version(id, sealId, date)),
      [],
    );
    await store().putHeads([head(id, { generation: 3, change: 3, hash: hash("1") })]);
    const [first, second, third] = dates;
    expect(await store().listVersions(id, null, 10)).toEqual([third, second, first]);
    expect(await store().listVersions(id, null, 2)).toEqual([third, second]);
    expect(await store().listVersions(id, 2, 10)).toEqual([first]);
    expect(await store().listVersions(id, 1, 10)).toEqual([]);
    expect(await store().listVersions(fresh("svc"), null, 10)).toEqual([]);
  });

  it("are found by their bytes among many others, the newest first", async () => {
    const [id, other, sealId] = [fresh("svc"), fresh("svc"), fresh("bat")];
    const twice = [3, 250];
    const dates = Array.from({ length: 260 }, (_, index) => ({
      generation: index + 1,
      hash: hash(twice.includes(index + 1) ? "2" : index % 2 === 0 ? "0" : "1"),
      published_at_ms: 1_780_000_000_000 + index,
    }));
    await store().putVersions(
      dates.map((date) => version(id, sealId, date)),
      [],
    );
    await store().putVersions([version(other, sealId, { hash: hash("5") })], [head(other)]);
    await store().putHeads([head(id, { generation: 260, change: 260, hash: hash("1") })]);
    const date = (generation: number) => dates[generation - 1];
    const asked = [999, 251, 250, 200, 4, 3];
    const found = await Promise.all(asked.map((below) => store().newestWith(id, hash("2"), below)));
    expect(found).toEqual([date(250), date(250), date(3), date(3), date(3), null]);
    expect(await store().newestWith(id, hash("1"), 261)).toEqual(date(260));
    expect(await store().newestWith(id, hash("5"), 999)).toBeNull();
    expect(await store().newestWith(fresh("svc"), hash("2"), 999)).toBeNull();
  });

  it("hold a record as long as the protocol allows, and 200 in one call", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    const long = new Uint8Array(153_600).map((_, index) => index * 31);
    await store().putSeal(seal(sealId));
    const versions = Array.from({ length: 200 }, (_, leaf_index) =>
      version(`${id}${leaf_index}`, sealId, { leaf_index }),
    );
    versions[7] = version(`${id}7`, sealId, { leaf_index: 7, bytes: long });
    await store().putVersions(
      versions,
      versions.map((each) => head(each.record_id)),
    );
    for (const [index, each] of versions.entries()) {
      expect((await store().readServed(`${id}${index}`))?.version).toEqual(each);
    }
  });
}

function servingTests(store: () => RecordStore): void {
  it("is null for an id that nothing was published under", async () => {
    expect(await store().readServed(fresh("svc"))).toBeNull();
    expect(await store().readHead(fresh("svc"))).toBeNull();
    expect(await store().readSeal(fresh("bat"))).toBeNull();
  });

  it("is nothing while the seal, the version or the head is missing (R4)", async () => {
    const [a, b, c, sealId] = [fresh("svc"), fresh("svc"), fresh("svc"), fresh("bat")];
    await store().putVersions([version(a, sealId), version(c, sealId)], [head(a)]);
    await store().putHeads([head(b)]);
    expect(await store().readServed(a)).toBeNull();
    await store().putSeal(seal(sealId));
    expect(await store().readServed(a)).toMatchObject({ seal: { seal_id: sealId } });
    expect(await store().readServed(b)).toBeNull();
    expect(await store().readServed(c)).toBeNull();
  });

  it("is nothing while the version is of another generation or hash than the head (R4)", async () => {
    const [a, b, sealId] = [fresh("svc"), fresh("svc"), fresh("bat")];
    await store().putSeal(seal(sealId));
    await store().putVersions(
      [version(a, sealId), version(b, sealId)],
      [head(a, { generation: 2 }), head(b, { hash: hash("9") })],
    );
    expect(await store().readServed(a)).toBeNull();
    expect(await store().readServed(b)).toBeNull();
    await store().putVersions(
      [version(a, sealId, { generation: 2 }), version(b, sealId, { hash: hash("9") })],
      [],
    );
    expect((await store().readServed(a))?.version).toEqual(version(a, sealId, { generation: 2 }));
  });

  it("is nothing once withdrawn, and the version of the head when published again (R4)", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await store().putSeal(seal(sealId));
    await store().putVersions([version(id, sealId)], [head(id)]);
    await store().putHeads([head(id, { live: false, change: 2 })]);
    expect(await store().readServed(id)).toBeNull();
    const second = version(id, sealId, { generation: 2, hash: hash("2"), bytes: bytes(2) });
    await store().putVersions([second], [head(id, { change: 3, generation: 2, hash: hash("2") })]);
    expect((await store().readServed(id))?.version).toEqual(second);
  });

  it("is the version of the head, not the one written last", async () => {
    const [id, sealId] = [fresh("svc"), fresh("bat")];
    await store().putSeal(seal(sealId));
    const second = version(id, sealId, { generation: 2, hash: hash("2"), bytes: bytes(2) });
    await store().putVersions([second], [head(id, { change: 2, generation: 2, hash: hash("2") })]);
    await store().putVersions([version(id, sealId)], [head(id)]);
    expect((await store().readServed(id))?.version).toEqual(second);
  });

  it("is under the later seal when the same bytes are published again", async () => {
    const [id, first, second] = [fresh("svc"), fresh("bat"), fresh("bat")];
    await store().putSeal(seal(first));
    await store().putSeal(seal(second, { tree_size: 2 }));
    await store().putVersions([version(id, first)], [head(id)]);
    const again = version(id, second, { generation: 2, cert_id: hash("d"), row: '{"n":2}', leaf_index: 1 });
    await store().putVersions([again], [head(id, { change: 2, generation: 2 })]);
    expect(await store().readServed(id)).toEqual({
      head: head(id, { change: 2, generation: 2 }),
      version: again,
      seal: seal(second, { tree_size: 2 }),
    });
    const [earlier] = await store().readRows([{ record_id: id, generation: 1, hash: hash("1") }]);
    expect(earlier?.row).toBe(version(id, first).row);
  });
}

function stagingTests(store: () => RecordStore, reopen: () => Promise<void>): void {
  it("give back their leaves in order, those that exist, after a loss of the process too (R3)", async () => {
    const push = fresh("bat");
    const leaves = Array.from({ length: 30 }, (_, index) => bytes(index, 0, 255));
    await store().stageLeaves(push, 20, leaves.slice(20));
    await store().stageLeaves(push, 0, leaves.slice(0, 10));
    await reopen();
    expect(await store().loadLeaves(push, 0, 10)).toEqual(leaves.slice(0, 10));
    expect(await store().loadLeaves(push, 8, 14)).toEqual([...leaves.slice(8, 10), ...leaves.slice(20, 22)]);
    await store().stageLeaves(push, 5, leaves.slice(5, 25));
    expect(await store().loadLeaves(push, 0, 1_000)).toEqual(leaves);
    await store().stageLeaves(push, 5, leaves.slice(5, 6));
    expect(await store().loadLeaves(push, 0, 1_000)).toEqual(leaves);
    expect(await store().loadLeaves(push, 30, 5)).toEqual([]);
    expect(await store().loadLeaves(fresh("bat"), 0, 5)).toEqual([]);
  });

  it("take more leaves and bytes than one write of the engine may hold", async () => {
    const push = fresh("bat");
    const leaves = Array.from({ length: 2_500 }, (_, index) =>
      new Uint8Array(index % 500 === 0 ? 150_000 : 20).fill(index),
    );
    await store().stageLeaves(push, 0, leaves);
    const loaded: Uint8Array[] = [];
    for (let first = 0; first < 2_500; first += 200)
      loaded.push(...(await store().loadLeaves(push, first, 200)));
    expect(loaded).toEqual(leaves);
  });

  it("keep an empty leaf, and leave another push alone", async () => {
    const [a, b] = [fresh("bat"), fresh("bat")];
    await store().stageLeaves(a, 0, [bytes(), bytes(1)]);
    await store().stageLeaves(b, 0, [bytes(2)]);
    await store().dropStaged(b);
    expect(await store().loadLeaves(a, 0, 5)).toEqual([bytes(), bytes(1)]);
    expect(await store().loadLeaves(b, 0, 5)).toEqual([]);
  });

  it("keep documents by name until they are dropped, which may be repeated", async () => {
    const push = fresh("bat");
    await store().putStagedDocument(push, "plan", '{"v":1,"π":3.14}');
    await store().putStagedDocument(push, "plan", '{"v":1,"π":3.14}');
    await store().putStagedDocument(push, "hold", "[]");
    await reopen();
    expect(await store().readStagedDocument(push, "plan")).toBe('{"v":1,"π":3.14}');
    expect(await store().readStagedDocument(push, "hold")).toBe("[]");
    expect(await store().readStagedDocument(push, "other")).toBeNull();
    await store().stageLeaves(
      push,
      0,
      Array.from({ length: 1_100 }, () => bytes(1)),
    );
    for (let times = 0; times < 2; times += 1) {
      await store().dropStaged(push);
      expect(await store().readStagedDocument(push, "plan")).toBeNull();
      expect(await store().loadLeaves(push, 0, 2_000)).toEqual([]);
    }
  });

  const stagedOf = async (prefix: string, limit: number) =>
    (await stagedIn(store(), limit)).filter(({ push_id }) => push_id.startsWith(prefix));

  it("are listed, each once, in pages of any size, until they are dropped", async () => {
    const prefix = fresh("bat");
    const [a, b, c] = [`${prefix}a`, `${prefix}b`, `${prefix}c`];
    await store().stageLeaves(c, 0, [bytes(1), bytes(2)]);
    await store().stageLeaves(a, 0, [bytes(1), bytes(2)]);
    await store().putStagedDocument(a, "plan", "[]");
    await store().putStagedDocument(b, "plan", "[]");
    const ids = async (limit: number) => (await stagedOf(prefix, limit)).map(({ push_id }) => push_id);
    for (const limit of [1, 2, 3, 100]) expect(await ids(limit)).toEqual([a, b, c]);
    const more = Array.from({ length: 12 }, (_, index) => `${prefix}d${String.fromCharCode(108 - index)}`);
    for (const id of more) await store().putStagedDocument(id, "plan", "[]");
    expect(await ids(5)).toEqual([a, b, c, ...more.toReversed()]);
    for (const id of more) await store().dropStaged(id);
    await store().dropStaged(a);
    for (const limit of [1, 100]) expect(await ids(limit)).toEqual([b, c]);
    await store().stageLeaves(a, 0, [bytes(1)]);
    expect(await ids(100)).toEqual([a, b, c]);
  });

  it("go when nothing was staged later than told, and not before, after a loss of the process too (R6)", async () => {
    const prefix = fresh("bat");
    const [a, b] = [`${prefix}a`, `${prefix}b`];
    await store().stageLeaves(a, 0, [bytes(1), bytes(2)]);
    await store().putStagedDocument(b, "plan", "[]");
    await reopen();
    const before = await stagedOf(prefix, 2);
    const shown = async (): Promise<unknown> => [
      await store().loadLeaves(a, 0, 5),
      await store().readStagedDocument(b, "plan"),
    ];
    for (const { push_id, staged_at_ms } of before) await store().dropStaged(push_id, staged_at_ms - 1);
    expect(await shown()).toEqual([[bytes(1), bytes(2)], "[]"]);
    expect(await stagedOf(prefix, 2)).toEqual(before);
    for (const { push_id, staged_at_ms } of before) await store().dropStaged(push_id, staged_at_ms);
    expect(await shown()).toEqual([[], null]);
    expect(await stagedOf(prefix, 2)).toEqual([]);
  });
}
