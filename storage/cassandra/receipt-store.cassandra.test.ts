import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { receiptEventText } from "../../protocol/receipt.ts";
import { hashed, wholeBatch } from "../receipt-batch.fixture.ts";
import { receiptReferenceConformance, receiptStoreConformance } from "../receipt-store.conformance.ts";
import type { ReceiptRow } from "../receipt-store.ts";
import { hasCassandra, openStoreIn, openTestKeyspace, type TestKeyspace } from "./keyspace.fixture.ts";
import { recordTables } from "./migrations.ts";
import { receiptListingTables } from "./receipt-listing.ts";
import { openCassandraReceiptStore } from "./receipt-store.ts";
import { openCassandraRecordStore } from "./record-store.ts";
import type { CassandraSession } from "./session.ts";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let keyspace: TestKeyspace;
  let session: CassandraSession;
  beforeAll(async () => {
    keyspace = await openTestKeyspace([...recordTables, ...receiptListingTables]);
    session = await keyspace.connect();
  });
  afterAll(async () => {
    await session?.close();
    await keyspace?.[Symbol.asyncDispose]();
  });

  receiptStoreConformance("the Cassandra store", () => openStoreIn(keyspace, openCassandraReceiptStore));
  receiptReferenceConformance("the Cassandra store", async () => ({
    receipts: openCassandraReceiptStore(session),
    records: openCassandraRecordStore(session),
    close: async () => {},
  }));

  const servedAtMs = Date.parse("2026-03-04T05:06:07.123Z");
  const batch = "202603040506-i1";
  const receipt = (region: string, unique: string): ReceiptRow =>
    hashed({
      region,
      batch,
      retrieval_id: `ret_${servedAtMs.toString(16).padStart(12, "0")}${unique}`,
      company: "c",
      key_id: "k",
      nonce: unique,
      billable: false,
      served_at_ms: servedAtMs,
      envelope: "{}",
      event: receiptEventText({
        company: "c",
        type: "fetch",
        collection: null,
        country: null,
        rows: 1,
        client_query_id: null,
      }),
    });
  /** Counts what is sent, and fails the statements that `fails` selects. */
  const watched = (fails: (cql: string) => boolean = () => false) => {
    const sent: string[] = [];
    const execute: CassandraSession["execute"] = async (cql, params, options) => {
      sent.push(cql);
      if (fails(cql)) throw new Error("refused by the test");
      return await session.execute(cql, params, options);
    };
    const batch: CassandraSession["batch"] = (statements, options) => session.batch(statements, options);
    return { sent, session: { ...session, execute, batch } };
  };

  it("writes a receipt and its pointer, and twice more for the first of a batch (B1)", async () => {
    const { sent, session: counted } = watched();
    const store = openCassandraReceiptStore(counted);
    await Promise.all(Array.from({ length: 20 }, (_, n) => store.append(receipt("r-count", `${n}`))));
    await store.append(receipt("r-count", "20"));
    expect(sent).toHaveLength(2 * 21 + 2);
  });

  it("acknowledges no receipt of a batch that could not be made known, and tries again with the next (B1)", async () => {
    let isDown = true;
    const { session: failing } = watched((cql) => isDown && cql.startsWith("INSERT INTO receipt_open"));
    const store = openCassandraReceiptStore(failing);
    await expect(store.append(receipt("r-down", "0"))).rejects.toThrow();
    isDown = false;
    expect(await store.openBatches("r-down", "999912312359", 5)).toEqual([]);
    await store.append(receipt("r-down", "1"));
    expect(await store.openBatches("r-down", "999912312359", 5)).toEqual([batch]);
  });

  it("keeps a closed batch closed when another process announces it later (B2)", async () => {
    const store = openCassandraReceiptStore(session);
    await store.append(receipt("r-closed", "0"));
    await store.closeBatch({ region: "r-closed", batch, root: "x", tree_size: 1, closed_at_ms: 1 }, []);
    const ahead = openCassandraReceiptStore(session, { now: () => Date.now() + 3_600_000 });
    await ahead.append(receipt("r-closed", "1"));
    expect(await store.openBatches("r-closed", "999912312359", 5)).toEqual([]);
    expect(await wholeBatch(store, "r-closed", batch)).toHaveLength(2);
  });

  it("keeps the closing over the most receipts, whichever is written last (B3)", async () => {
    const store = openCassandraReceiptStore(session);
    const closed = { region: "r-most", batch, root: "x", tree_size: 1, closed_at_ms: 1 };
    const over = (tree_size: number) => ({
      ...closed,
      tree_size,
      root: `x${9 - tree_size}`,
      closed_at_ms: 9 - tree_size,
    });
    for (const tree_size of [0, 1, 3, 2]) await store.closeBatch(over(tree_size), []);
    expect(await store.readClosed("r-most", batch)).toEqual(over(3));
  });

  it("forgets an hour long past without open batches, and no other (B4)", async () => {
    const hours = async (region: string) =>
      (
        await session.execute(`SELECT hour FROM receipt_hour WHERE region = ?`, [region], {
          idempotent: true,
        })
      ).rows.map((row) => row["hour"]);
    const closeOf = (region: string) => ({ region, batch, root: "x", tree_size: 1, closed_at_ms: 1 });
    const soon = openCassandraReceiptStore(session, { now: () => servedAtMs + 7_200_000 });
    const later = openCassandraReceiptStore(session, { now: () => servedAtMs + 3 * 3_600_000 });
    for (const region of ["r-h1", "r-h2"]) await soon.append(receipt(region, "0"));
    await later.openBatches("r-h1", "999912312359", 5);
    expect(await hours("r-h1")).toEqual(["2026030405"]);
    for (const region of ["r-h1", "r-h2"]) await soon.closeBatch(closeOf(region), []);
    await later.openBatches("r-h1", "999912312359", 5);
    await soon.openBatches("r-h2", "999912312359", 5);
    expect(await hours("r-h1")).toEqual([]);
    expect(await hours("r-h2")).toEqual(["2026030405"]);
    expect((await later.readReceipt("r-h1", receipt("r-h1", "0").retrieval_id))?.nonce).toBe("0");
  });

  const closeOf = (region: string, name: string) => ({
    region,
    batch: name,
    root: "x",
    tree_size: 1,
    closed_at_ms: 1,
  });

  it("names a batch until its receipts are gone, also where forgetting was interrupted (F1)", async () => {
    let isDown = true;
    const { session: failing } = watched((cql) => isDown && cql.startsWith("UPDATE receipt_closed"));
    const store = openCassandraReceiptStore(failing);
    await store.append(receipt("r-half", "0"));
    await store.closeBatch(closeOf("r-half", batch), []);
    await expect(store.forgetReceipts("r-half", batch, 1)).rejects.toThrow();
    expect(await store.keptBatches("r-half", "202603040600", 5)).toEqual([batch]);
    isDown = false;
    expect(await store.forgetReceipts("r-half", batch, 1)).toBe(true);
    expect(await store.keptBatches("r-half", "202603040600", 5)).toEqual([]);
    expect(await store.readClosed("r-half", batch)).toEqual(closeOf("r-half", batch));
  });

  it("leaves no hour behind in which a batch was open, however many after it are done (F2)", async () => {
    const store = openCassandraReceiptStore(session);
    const [early, late] = ["202603040159-i1", "202603040301-i1"];
    for (const name of [early, late]) await store.append({ ...receipt("r-late", "0"), batch: name });
    await store.closeBatch(closeOf("r-late", late), []);
    for (const name of await store.keptBatches("r-late", "202603040600", 5))
      await store.forgetReceipts("r-late", name, 1);
    for (let look = 0; look < 3; look += 1)
      expect(await store.keptBatches("r-late", "202603040600", 5)).toEqual([]);
    await store.closeBatch(closeOf("r-late", early), []);
    expect(await store.keptBatches("r-late", "202603040600", 5)).toEqual([early]);
  });

  it("looks at no hour again that is done (F2)", async () => {
    const store = openCassandraReceiptStore(session);
    await store.closeBatch(closeOf("r-done", batch), []);
    await store.forgetReceipts("r-done", batch, 1);
    await store.keptBatches("r-done", "202603040900", 5);
    const { sent, session: counted } = watched();
    await openCassandraReceiptStore(counted).keptBatches("r-done", "202603040900", 5);
    expect(sent.filter((cql) => cql.startsWith("SELECT name, forgotten_at"))).toHaveLength(1);
    expect(sent.filter((cql) => cql.includes("DISTINCT"))).toEqual([]);
  });

  const listed = async (region: string) => {
    const wanted = { region, company: "c", keyId: null, fromMs: 0, toMs: Date.now(), after: null, limit: 9 };
    const store = openCassandraReceiptStore(session);
    const { receipts } = await store.listReceipts(wanted);
    const days = { fromDay: "2026-03-01", toDay: "2026-03-31" };
    const [counted] = await store.readUsage({ region, company: "c", ...days });
    return [receipts.map(({ nonce }) => nonce), counted?.requests ?? 0];
  };

  it("lists and counts nothing whose append wrote only one of its two rows, before its batch is closed (L1, L2)", async () => {
    const store = openCassandraReceiptStore(session);
    await store.append(receipt("r-split", "0"));
    for (const [nonce, table] of [
      ["1", "receipt "],
      ["2", "receipt_of_company "],
    ] as const) {
      const { session: failing } = watched((cql) => cql.startsWith(`INSERT INTO ${table}`));
      await expect(openCassandraReceiptStore(failing).append(receipt("r-split", nonce))).rejects.toThrow(
        "refused by the test",
      );
    }
    expect(await listed("r-split")).toEqual([["0"], 1]);
    await store.closeBatch(closeOf("r-split", batch), await wholeBatch(store, "r-split", batch));
    expect(await listed("r-split")).toEqual([["0", "2"], 2]);
  });

  it("counts a batch once, however often its closing is interrupted and repeated (L2, L3)", async () => {
    const store = openCassandraReceiptStore(session);
    for (const nonce of ["0", "1"]) await store.append(receipt("r-again", nonce));
    const close = async (by: CassandraSession, tree_size: number): Promise<void> => {
      const receipts = await wholeBatch(store, "r-again", batch);
      await openCassandraReceiptStore(by).closeBatch({ ...closeOf("r-again", batch), tree_size }, receipts);
    };
    for (const table of ["receipt_usage", "receipt_closed"]) {
      const { session: failing } = watched((cql) => cql.startsWith(`INSERT INTO ${table} `));
      await expect(close(failing, 2)).rejects.toThrow("refused by the test");
      expect(await listed("r-again")).toEqual([["0", "1"], 2]);
    }
    const { session: failing } = watched((cql) => cql.startsWith("DELETE FROM receipt_open"));
    await expect(close(failing, 2)).rejects.toThrow("refused by the test");
    await store.append(receipt("r-again", "2"));
    expect(await listed("r-again")).toEqual([["0", "1", "2"], 3]);
    await close(session, 3);
    await store.append(receipt("r-again", "3"));
    expect(await listed("r-again")).toEqual([["0", "1", "2"], 3]);
  });

  it("sums up a day that is long over once, and again after a batch of it was closed late (U2)", async () => {
    const minutes = Array.from({ length: 30 }, (_, minute) => `2026030405${String(minute + 10)}-i1`);
    let nowMs = servedAtMs + 3 * 86_400_000;
    const later = { now: () => nowMs };
    const { sent, session: counted } = watched();
    const store = openCassandraReceiptStore(counted, later);
    for (const [n, name] of minutes.entries()) {
      const row = { ...receipt("r-sum", `${n}`), batch: name };
      await store.append(row);
      if (n < 29) await store.closeBatch(closeOf("r-sum", name), [row]);
    }
    const read = async () => {
      const days = { fromDay: "2026-03-04", toDay: "2026-03-04" };
      const before = sent.length;
      nowMs += 10_000;
      const [counts] = await store.readUsage({ region: "r-sum", company: "c", ...days });
      const sums = sent.slice(before).filter((cql) => cql.startsWith("INSERT INTO receipt_usage"));
      const whole = sent.slice(before).filter((cql) => cql.startsWith("SELECT name, counts"));
      return { requests: counts?.requests, sums: sums.length, whole: whole.length };
    };
    // One batch is still open, and its pointer is not of its minute.
    expect(await read()).toEqual({ requests: 29, sums: 0, whole: 1 });
    const last = minutes[29] ?? "";
    await store.closeBatch(closeOf("r-sum", last), await wholeBatch(store, "r-sum", last));
    expect(await read()).toEqual({ requests: 30, sums: 1, whole: 1 });
    expect(await read()).toEqual({ requests: 30, sums: 0, whole: 0 });
    const late = { ...receipt("r-sum", "30"), batch: "202603040550-i1" };
    await store.append(late);
    await store.closeBatch(closeOf("r-sum", late.batch), [late]);
    expect(await read()).toEqual({ requests: 31, sums: 1, whole: 1 });
    expect(await read()).toEqual({ requests: 31, sums: 0, whole: 0 });
  });
});
