// What every implementation of the port in receipt-store.ts must pass: obligations T1–T9 and the related reads.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { sha256, toBase64, utf8 } from "../protocol/bytes.ts";
import { recordIdOf } from "../protocol/identifiers.ts";
import { receiptEventText, receiptHashes, receiptPayloadText } from "../protocol/receipt.ts";
import type { CommitOutcome } from "./actor-store.ts";
import { factsOf, hashed, wholeBatch } from "./receipt-batch.fixture.ts";
import { listingTests, retractionTests } from "./receipt-listing.conformance.ts";
import type { ClosedBatch, ReceiptRow, ReceiptStore } from "./receipt-store.ts";
import { fresh, hash, seal, version } from "./record-store.fixture.ts";
import { type RecordStore, signedMembers } from "./record-store.ts";

export interface OpenReceiptStore {
  readonly store: ReceiptStore;
  /** Ends this handle as the loss of the process would, and reopens the same contents. */
  reopen(): Promise<OpenReceiptStore>;
  close(): Promise<void>;
}

let counter = 0;
/** A unique region for each test, so that stores which keep their contents between runs can be used. */
function freshRegion(): string {
  counter += 1;
  return `test-${Date.now().toString(36)}${counter}`;
}

/** The instant of the batch that contains these receipts by default. */
const servedAtMs = Date.parse("2026-11-21T13:58:07.123Z");

/** A retrieval id with that instant. */
function id(unique: string): string {
  return `ret_${servedAtMs.toString(16).padStart(12, "0")}${unique}`;
}

const company = "10000000-0000-4000-8000-000000000001";
const event = receiptEventText({
  company,
  type: "search",
  collection: "products",
  country: "GB",
  rows: 2,
  client_query_id: "q-ü",
});

function receipt(region: string, changes: Partial<ReceiptRow> = {}): ReceiptRow {
  return hashed({
    region,
    batch: "202611211358-i1",
    retrieval_id: id("1"),
    company,
    key_id: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
    nonce: "n-1",
    billable: true,
    served_at_ms: servedAtMs,
    envelope: '{"payloadType":"receipt","payload":"w6k=","note":"ü😀"}',
    event,
    ...changes,
  });
}

function closed(region: string, changes: Partial<ClosedBatch> = {}): ClosedBatch {
  const root = `sha256:${"a".repeat(64)}`;
  return {
    region,
    batch: "202611211358-i1",
    root,
    tree_size: 1,
    closed_at_ms: 1_780_000_060_000,
    ...changes,
  };
}

const later = "999912312359";

/** Closes a batch as the region's actor does: over what it has read of it. */
async function close(store: ReceiptStore, batch: ClosedBatch): Promise<void> {
  await store.closeBatch(batch, await wholeBatch(store, batch.region, batch.batch));
}

export function receiptStoreConformance(name: string, open: () => Promise<OpenReceiptStore>): void {
  let opened: OpenReceiptStore;
  let store: ReceiptStore;
  const reopen = async (): Promise<void> => {
    opened = await opened.reopen();
    store = opened.store;
  };

  describe(`${name} keeps the contract of a receipt store`, () => {
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describe("receipts", () => receiptTests(() => store, reopen));
    describe("receipts taken back", () => retractionTests({ store: () => store, reopen, freshRegion }));
    describe("receipts looked up", () => lookUpTests(() => store));
    describe("receipts of a minute", () => minuteTests(() => store));
    describe("batches", () => batchTests(() => store, reopen));
    describe("receipts forgotten", () => forgettingTests(() => store, reopen));
    describe("receipts of a company", () => listingTests({ store: () => store, reopen, freshRegion }));
  });
}

/** What every engine must pass whose receipts refer to the versions in its records (T11). */
export function receiptReferenceConformance(
  name: string,
  open: () => Promise<
    { readonly receipts: ReceiptStore; readonly records: RecordStore } & Pick<OpenReceiptStore, "close">
  >,
): void {
  describe(`${name} keeps receipts by the versions of their rows`, () => {
    const draw = () => recordIdOf("products", crypto.getRandomValues(new Uint8Array(17)));
    /** Versions of two records, the older one of the first among them, and a receipt of them. */
    const served = () => {
      const [one, other, sealId] = [draw(), draw(), fresh("bat")];
      const numbers = [
        { record_id: one, generation: 1 },
        { record_id: other, generation: 1 },
        { record_id: one, generation: 2 },
      ] as const;
      const signed = numbers.map((number, at) => ({
        ...number,
        adl_origin: hash(String(at)),
        adl_row_sig: toBase64(new Uint8Array(64).fill(at)),
        ai_policy_version: at + 3,
      }));
      const versions = signed.map(({ adl_origin, ...row }) =>
        version(row.record_id, sealId, {
          ...row,
          hash: adl_origin,
          row: JSON.stringify({ adl_origin, ...row }),
        }),
      );
      const region = freshRegion();
      const payloadOf = (rows: readonly (typeof signed)[number][]) =>
        receiptPayloadText({
          ai_company_uuid: company,
          collection: "products",
          country: "GB",
          key_id: "k".repeat(43),
          kind: "search",
          region,
          request_hash: hash("7"),
          retrieval_id: id("1"),
          rows: [...rows],
          served_at: "2026-11-21T13:58:07.123Z",
        });
      const [payloadType, keyId, signature] = ["receipt", "k", new Uint8Array(64).fill(9)];
      const envelope = `{"payloadType":"receipt","payload":"${toBase64(utf8(payloadOf(signed)))}","signatures":[{"keyid":"k","sig":"${toBase64(signature)}"}]}`;
      const kept = receipt(region, { envelope });
      const reference = { payloadType, keyId, signature, payload: payloadOf([]), versions: numbers };
      return { region, kept, appended: { ...kept, reference }, versions, sealId };
    };
    const wanted = { company, keyId: null, fromMs: 0, toMs: servedAtMs + 1, after: null, limit: 5 };

    it("makes them again as they were, also after the versions were purged (T11)", async () => {
      const { receipts, records, close } = await open();
      try {
        const { region, kept, appended, versions, sealId } = served();
        await records.putSeal(seal(sealId));
        await records.putVersions(versions, []);
        await receipts.append(appended);
        const read = async () => [
          await receipts.readReceipt(region, kept.retrieval_id),
          ...(await receipts.listReceipts({ ...wanted, region })).receipts,
        ];
        expect(await read()).toEqual([kept, kept]);
        const purged = versions.map(({ record_id, generation, hash: of, row }) => {
          const remains = JSON.stringify({ purged: {}, signed: signedMembers(row) });
          return { record_id, generation, hash: of, remains };
        });
        await records.purgeVersions(purged.slice(0, 2));
        expect(await read()).toEqual([kept, kept]);
        await records.purgeVersions(purged);
        expect(await read()).toEqual([kept, kept]);
      } finally {
        await close();
      }
    });

    it("says so where they cannot (T11)", async () => {
      const { receipts, close } = await open();
      try {
        const { region, kept, appended } = served();
        await receipts.append(appended);
        await expect(receipts.readReceipt(region, kept.retrieval_id)).rejects.toThrow("cannot be made again");
        await expect(receipts.listReceipts({ ...wanted, region })).rejects.toThrow("cannot be made again");
        expect((await receipts.listFacts({ ...wanted, region })).receipts).toEqual([factsOf(kept)]);
      } finally {
        await close();
      }
    });
  });
}

function receiptTests(store: () => ReceiptStore, reopen: () => Promise<void>): void {
  it("are given back as they were appended, after a loss of the process too (T1)", async () => {
    const region = freshRegion();
    const rows = [receipt(region), receipt(region, { retrieval_id: id("2"), nonce: "n-2", billable: false })];
    for (const row of rows) await store().append(row);
    await reopen();
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual(rows.map(factsOf));
    expect(await store().readReceipt(region, id("2"))).toEqual(rows[1]);
  });

  it("of a batch come with the hashes of their envelopes, and without those (T10)", async () => {
    const region = freshRegion();
    await store().append(receipt(region));
    const [stored] = await wholeBatch(store(), region, "202611211358-i1");
    expect(stored).not.toHaveProperty("envelope");
    expect(stored).toMatchObject(receiptHashes(receipt(region).envelope, sha256));
  });

  it("change nothing when appended again (T2)", async () => {
    const region = freshRegion();
    await store().append(receipt(region));
    await store().append(receipt(region));
    await store().append(receipt(region, { envelope: "{}", nonce: "other", billable: false }));
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual([factsOf(receipt(region))]);
    expect(await store().readReceipt(region, id("1"))).toEqual(receipt(region));
  });

  it("are kept after a commit that was applied, and never without it (T4)", async () => {
    const region = freshRegion();
    const late = Promise.withResolvers<CommitOutcome>();
    const kept = store().append(receipt(region), late.promise);
    const refusal: CommitOutcome = { status: "refused", epoch: 2, head: 7, op: "other" };
    const refused = store().append(receipt(region, { retrieval_id: id("2") }), Promise.resolve(refusal));
    await expect(refused).rejects.toMatchObject({ effect: "not_applied" });
    const failed = store().append(
      receipt(region, { retrieval_id: id("3") }),
      Promise.reject(new Error("no commit")),
    );
    await expect(failed).rejects.toThrow();
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual([]);
    late.resolve({ status: "applied" });
    await kept;
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual([factsOf(receipt(region))]);
  });

  it("are all kept when many are appended at once", async () => {
    const region = freshRegion();
    const rows = Array.from({ length: 150 }, (_, index) =>
      receipt(region, {
        retrieval_id: `r${String(index).padStart(4, "0")}`,
        batch: `20261121135${index % 3}-i1`,
      }),
    );
    await Promise.all(rows.map((row) => store().append(row)));
    for (const batch of ["202611211350-i1", "202611211351-i1", "202611211352-i1"]) {
      expect(await wholeBatch(store(), region, batch)).toEqual(
        rows.filter((row) => row.batch === batch).map(factsOf),
      );
    }
  });

  it("come in pages, each once and in order", async () => {
    const region = freshRegion();
    const batch = "202611211350-i1";
    const ids = Array.from({ length: 900 }, (_, index) => id(String((index * 7) % 900).padStart(4, "0")));
    await Promise.all(ids.map((retrieval_id) => store().append(receipt(region, { retrieval_id, batch }))));
    const pages = await Array.fromAsync(store().readBatch(region, batch));
    expect(Math.max(...pages.map((page) => page.length))).toBeLessThan(800);
    expect(pages.flat().map(({ retrieval_id }) => retrieval_id)).toEqual(ids.toSorted());
  });

  it("come ascending by retrieval id, whatever order they were appended in", async () => {
    const region = freshRegion();
    for (const retrieval_id of ["b", "A", "a1", "a", "0", "~", "_"])
      await store().append(receipt(region, { retrieval_id }));
    const rows = await wholeBatch(store(), region, "202611211358-i1");
    expect(rows.map((row) => row.retrieval_id)).toEqual(["0", "A", "_", "a", "a1", "b", "~"]);
  });

  it("belong to one region", async () => {
    const [here, there] = [freshRegion(), freshRegion()];
    await store().append(receipt(here));
    expect(await store().readReceipt(there, id("1"))).toBeNull();
    expect(await store().readReceipt(here, id("9"))).toBeNull();
    expect(await wholeBatch(store(), there, "202611211358-i1")).toEqual([]);
    expect(await store().openBatches(there, later, 10)).toEqual([]);
    await store().append(receipt(there, { nonce: "n-9" }));
    expect(await store().readReceipt(here, id("1"))).toEqual(receipt(here));
    expect(await store().readReceipt(here, "r1")).toBeNull();
    expect(await store().readReceipt(there, id("1"))).toEqual(receipt(there, { nonce: "n-9" }));
  });
}

function lookUpTests(store: () => ReceiptStore): void {
  it("are found by their id in whichever batch of its minute, open or closed", async () => {
    const region = freshRegion();
    const rows = ["i1", "i2", "i3"].map((incarnation, index) =>
      receipt(region, { batch: `202611211358-${incarnation}`, retrieval_id: id(`${index}`) }),
    );
    for (const row of rows) await store().append(row);
    await close(store(), closed(region, { batch: "202611211358-i2" }));
    const found = await Promise.all(rows.map((row) => store().readReceipt(region, row.retrieval_id)));
    expect(found).toEqual(rows);
    expect(await store().readReceipt(region, id("3"))).toBeNull();
  });
}

function minuteTests(store: () => ReceiptStore): void {
  it("are in the closed batches of their minute and region", async () => {
    const [region, other] = [freshRegion(), freshRegion()];
    for (const batch of ["202611211358-i2", "202611211358-i1", "202611211358-i3", "202611211359-i1"])
      await store().append(receipt(region, { batch }));
    await store().append(receipt(other, { batch: "202611211358-i4" }));
    expect(await store().closedBatches(region, "202611211358")).toEqual([]);
    for (const batch of ["202611211358-i2", "202611211358-i1", "202611211359-i1"])
      await close(store(), closed(region, { batch }));
    await close(store(), closed(other, { batch: "202611211358-i4" }));
    expect(await store().closedBatches(region, "202611211358")).toEqual([
      "202611211358-i1",
      "202611211358-i2",
    ]);
    expect(await store().closedBatches(region, "202611211357")).toEqual([]);
  });
}

function batchTests(store: () => ReceiptStore, reopen: () => Promise<void>): void {
  it("are open from their first receipt until closed, oldest first, those of an earlier minute only", async () => {
    const region = freshRegion();
    const names = [
      "202611211359-i1",
      "202611211357-i2",
      "202611211358-i1",
      "202611211357-i1",
      "202612010000-i1",
    ];
    for (const batch of names) await store().append(receipt(region, { batch }));
    expect(await store().openBatches(region, "202611211359", 10)).toEqual([
      "202611211357-i1",
      "202611211357-i2",
      "202611211358-i1",
    ]);
    expect(await store().openBatches(region, later, 2)).toEqual(["202611211357-i1", "202611211357-i2"]);
    await close(store(), closed(region, { batch: "202611211357-i2" }));
    expect(await store().openBatches(region, "202611211359", 10)).toEqual([
      "202611211357-i1",
      "202611211358-i1",
    ]);
    await reopen();
    expect(await store().openBatches(region, "202611211359", 10)).toEqual([
      "202611211357-i1",
      "202611211358-i1",
    ]);
  });

  it("are told as closed, and closing again changes nothing", async () => {
    const region = freshRegion();
    await store().append(receipt(region));
    expect(await store().readClosed(region, "202611211358-i1")).toBeNull();
    await close(store(), closed(region));
    await close(store(), closed(region));
    await reopen();
    expect(await store().readClosed(region, "202611211358-i1")).toEqual(closed(region));
    expect(await store().readClosed(region, "202611211359-i1")).toBeNull();
  });

  it("take a late receipt after they were closed, and can be closed again over it (T3)", async () => {
    const region = freshRegion();
    await store().append(receipt(region));
    await close(store(), closed(region));
    const late = receipt(region, { retrieval_id: id("0"), nonce: "n-0" });
    await store().append(late);
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual([
      factsOf(late),
      factsOf(receipt(region)),
    ]);
    const again = closed(region, {
      tree_size: 2,
      root: `sha256:${"b".repeat(64)}`,
      closed_at_ms: 1_780_000_120_000,
    });
    await close(store(), again);
    expect(await store().readClosed(region, "202611211358-i1")).toEqual(again);
  });

  it("of a few hundred receipts are read whole", async () => {
    const region = freshRegion();
    const rows = Array.from({ length: 400 }, (_, index) =>
      receipt(region, { retrieval_id: `r${String(index).padStart(4, "0")}`, envelope: "e".repeat(5_000) }),
    );
    for (let first = 0; first < 400; first += 50) {
      await Promise.all(rows.slice(first, first + 50).map((row) => store().append(row)));
    }
    expect(await wholeBatch(store(), region, "202611211358-i1")).toEqual(rows.map(factsOf));
  });
}

function forgettingTests(store: () => ReceiptStore, reopen: () => Promise<void>): void {
  const batch = "202611211358-i1";
  const forgetAll = async (region: string, name = batch): Promise<void> => {
    while (!(await store().forgetReceipts(region, name, 2)));
  };

  it("are those of closed batches of an earlier minute, oldest first", async () => {
    const region = freshRegion();
    const names = ["202611211358-i1", "202611211357-i1", "202611200359-i1", "202611211359-i1"];
    for (const name of names) {
      await store().append(receipt(region, { batch: name }));
      if (name !== "202611200359-i1") await close(store(), closed(region, { batch: name }));
    }
    expect(await store().keptBatches(region, "202611211359", 10)).toEqual([
      "202611211357-i1",
      "202611211358-i1",
    ]);
    await close(store(), closed(region, { batch: "202611200359-i1" }));
    expect(await store().keptBatches(region, "202611211359", 2)).toEqual([
      "202611200359-i1",
      "202611211357-i1",
    ]);
    expect(await store().keptBatches(region, "202611200359", 10)).toEqual([]);
    expect(await store().keptBatches(freshRegion(), later, 10)).toEqual([]);
  });

  it("are gone for good, and what was closed over them stays (T5)", async () => {
    const region = freshRegion();
    const rows = Array.from({ length: 5 }, (_, index) => receipt(region, { retrieval_id: id(`${index}`) }));
    for (const row of rows) await store().append(row);
    const over = closed(region, { tree_size: rows.length });
    await close(store(), over);
    await forgetAll(region);
    await reopen();
    expect(await wholeBatch(store(), region, batch)).toEqual([]);
    expect(await store().readReceipt(region, id("0"))).toBeNull();
    expect(await store().readClosed(region, batch)).toEqual(over);
    expect(await store().keptBatches(region, later, 10)).toEqual([]);
    expect(await store().openBatches(region, later, 10)).toEqual([]);
    await forgetAll(region);
    expect(await store().readClosed(region, batch)).toEqual(over);
  });

  it("are never those of a batch that is open (T5)", async () => {
    const region = freshRegion();
    await store().append(receipt(region));
    await forgetAll(region);
    expect(await wholeBatch(store(), region, batch)).toEqual([factsOf(receipt(region))]);
    expect(await store().openBatches(region, later, 10)).toEqual([batch]);
    await close(store(), closed(region));
    expect(await store().keptBatches(region, later, 10)).toEqual([batch]);
  });

  it("are those of one batch and region alone (T5)", async () => {
    const [region, other] = [freshRegion(), freshRegion()];
    const beside = receipt(region, { batch: "202611211358-i2", retrieval_id: id("2") });
    for (const row of [receipt(region), beside, receipt(other)]) {
      await store().append(row);
      await close(store(), closed(row.region, { batch: row.batch }));
    }
    await forgetAll(region);
    expect(await wholeBatch(store(), region, "202611211358-i2")).toEqual([factsOf(beside)]);
    expect(await store().readReceipt(region, id("2"))).toEqual(beside);
    expect(await wholeBatch(store(), other, batch)).toEqual([factsOf(receipt(other))]);
    expect(await store().keptBatches(region, later, 10)).toEqual(["202611211358-i2"]);
    expect(await store().keptBatches(other, later, 10)).toEqual([batch]);
  });

  it("of an hour long past are found behind hours that were forgotten", async () => {
    const region = freshRegion();
    const hours = ["2026111601", "2026111602", "2026111807", "2026112022"];
    for (const hour of hours) {
      await store().append(receipt(region, { batch: `${hour}30-i1` }));
      await close(store(), closed(region, { batch: `${hour}30-i1` }));
    }
    const found: string[] = [];
    // A call may cover only part of the time range; the next one continues where it ended.
    for (let call = 0; call < 20 && found.length < hours.length; call += 1) {
      for (const name of await store().keptBatches(region, "202611211358", 10)) {
        found.push(name);
        await forgetAll(region, name);
      }
    }
    expect(found).toEqual(hours.map((hour) => `${hour}30-i1`));
  });
}
