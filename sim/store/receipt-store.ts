// Receipts on the model's plain tables: the batch is registered before its first row is written.

import { type CommitOutcome, StoreError } from "../../storage/actor-store.ts";
import {
  addUsage,
  type ClosedBatch,
  countReceipts,
  pageBounds,
  type ReceiptPage,
  type ReceiptRow,
  type ReceiptStore,
  type ReceiptsWanted,
  type UsageCount,
  type UsageWanted,
  usageOf,
} from "../../storage/receipt-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

/** So few that every other batch has several pages. */
const batchPage = 2;

interface BatchName {
  readonly region: string;
  readonly batch: string;
}

/** What a closed batch contains, which outlives its receipts. */
interface CountedBatch extends BatchName {
  readonly ids: ReadonlySet<string>;
  readonly counts: ReadonlyMap<string, readonly UsageCount[]>;
}

export function openSimReceiptStore(client: StoreClient): ReceiptStore {
  return new SimReceiptStore(client);
}

class SimReceiptStore implements ReceiptStore {
  readonly sharesCommits = false;
  readonly #client: StoreClient;
  readonly #batches: PlainTable<BatchName>;
  readonly #rows: PlainTable<ReceiptRow>;
  readonly #closed: PlainTable<ClosedBatch>;
  readonly #forgotten: PlainTable<BatchName>;
  readonly #counted: PlainTable<CountedBatch>;
  readonly #retracted: PlainTable<BatchName>;

  constructor(client: StoreClient) {
    this.#client = client;
    const { tables } = client.model;
    this.#batches = tables.of("receipt_batch");
    this.#rows = tables.of("receipt");
    this.#closed = tables.of("receipt_batch_closed");
    this.#forgotten = tables.of("receipt_batch_forgotten");
    this.#counted = tables.of("receipt_batch_counted");
    this.#retracted = tables.of("receipt_retracted");
  }

  async append(row: ReceiptRow, after: Promise<CommitOutcome> | null = null): Promise<void> {
    if (after !== null && (await after).status === "refused") {
      throw new StoreError("not_applied", "the commit that the receipt follows was refused");
    }
    const { region, batch } = row;
    const { model, life } = this.#client;
    const name = { key: `${region}/${batch}`, value: { region, batch }, stamp: 1 };
    await model.statements.run(life, "write", (reach) => {
      this.#batches.write(this.#client.region, [name], reach);
    });
    const cell = { key: `${region}/${batch}/${row.retrieval_id}`, value: row, stamp: 1 };
    await model.statements.run(life, "write", (reach) => {
      this.#rows.write(this.#client.region, [cell], reach);
    });
  }

  async retract({ region, batch, retrieval_id }: ReceiptRow): Promise<boolean> {
    const { model, life, region: here } = this.#client;
    return await model.statements.run(life, "write", (reach) => {
      if (this.#closed.read(here, `${region}/${batch}`) !== null) return false;
      const cell = { key: `${region}/${batch}/${retrieval_id}`, value: { region, batch }, stamp: 1 };
      this.#retracted.write(here, [cell], reach);
      return true;
    });
  }

  openBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]> {
    return this.#read((at) =>
      this.#batches
        .values(at)
        .filter((name) => name.region === region && name.batch.slice(0, 12) < beforeMinute)
        .map(({ batch }) => batch)
        .filter(
          (batch) =>
            this.#closed.read(at, `${region}/${batch}`) === null && this.#count(at, region, batch) > 0,
        )
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(0, limit),
    );
  }

  async *readBatch(region: string, batch: string): AsyncGenerator<readonly ReceiptRow[]> {
    for (let after = "", isOver = false; !isOver; ) {
      const page = await this.#read((at) =>
        this.#rowsOf(at, region, batch)
          .filter(({ retrieval_id }) => retrieval_id > after)
          .slice(0, batchPage),
      );
      if (page.length > 0) yield page;
      after = page.at(-1)?.retrieval_id ?? after;
      isOver = page.length < batchPage;
    }
  }

  closeBatch(
    ...[closed, receipts, counts = countReceipts(receipts)]: Parameters<ReceiptStore["closeBatch"]>
  ): Promise<void> {
    const { model, life, region } = this.#client;
    const counted = {
      region: closed.region,
      batch: closed.batch,
      ids: new Set(receipts.map((row) => row.retrieval_id)),
      counts,
    };
    // Closing a batch again over more rows is a different closing; over the same rows it changes nothing.
    const cell = { key: `${closed.region}/${closed.batch}`, value: closed, stamp: closed.tree_size };
    return model.statements.run(life, "write", (reach) => {
      this.#counted.write(region, [{ ...cell, value: counted }], reach);
      this.#closed.write(region, [cell], reach);
    });
  }

  readClosed(region: string, batch: string): Promise<ClosedBatch | null> {
    return this.#read((at) => this.#closed.read(at, `${region}/${batch}`));
  }

  keptBatches(region: string, beforeMinute: string, limit: number): Promise<readonly string[]> {
    return this.#read((at) =>
      this.#closed
        .values(at)
        .filter((closed) => closed.region === region && closed.batch.slice(0, 12) < beforeMinute)
        .map(({ batch }) => batch)
        .filter((batch) => this.#forgotten.read(at, `${region}/${batch}`) === null)
        .sort((a, b) => (a < b ? -1 : 1))
        .slice(0, limit),
    );
  }

  closedBatches(region: string, minute: string): Promise<readonly string[]> {
    return this.#read((at) =>
      this.#closed
        .values(at)
        .filter((closed) => closed.region === region && closed.batch.startsWith(`${minute}-`))
        .map(({ batch }) => batch)
        .sort((a, b) => (a < b ? -1 : 1)),
    );
  }

  async forgetReceipts(region: string, batch: string, limit: number): Promise<boolean> {
    const { model, life, region: here } = this.#client;
    return await model.statements.run(life, "write", (reach) => {
      const key = `${region}/${batch}`;
      if (this.#closed.read(here, key) === null) return true;
      const rows = this.#rowsOf(here, region, batch).slice(0, limit);
      this.#rows.remove(rows.map((row) => `${key}/${row.retrieval_id}`));
      if (rows.length === limit) return false;
      this.#forgotten.write(here, [{ key, value: { region, batch }, stamp: 1 }], reach);
      return true;
    });
  }

  readReceipt(region: string, retrievalId: string): Promise<ReceiptRow | null> {
    return this.#read(
      (at) =>
        this.#rowsAt(at)
          .filter((row) => row.region === region && row.retrieval_id === retrievalId)
          .sort((a, b) => (a.batch < b.batch ? -1 : 1))[0] ?? null,
    );
  }

  listReceipts(wanted: ReceiptsWanted): Promise<ReceiptPage> {
    const { region, company, keyId, limit } = wanted;
    const [low, high] = pageBounds(wanted);
    return this.#read((at) => {
      const found = this.#listed(at, region, company)
        .filter((row) => row.retrieval_id > low && row.retrieval_id <= high)
        .filter((row) => keyId === null || row.key_id === keyId)
        .sort((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1))
        .slice(0, limit);
      return { receipts: found, next: found.length < limit ? null : (found.at(-1)?.retrieval_id ?? null) };
    });
  }

  readUsage({ region, company, fromDay, toDay }: UsageWanted): Promise<readonly UsageCount[]> {
    return this.#read((at) => {
      const closed = this.#counted.values(at).filter((each) => each.region === region);
      const open = this.#listed(at, region, company).filter((row) => this.#contents(at, row) === null);
      const counts = [
        ...closed.flatMap(({ counts }) => counts.get(company) ?? []),
        ...open.map((row) => usageOf(row)),
      ];
      return addUsage(counts.filter(({ day }) => day >= fromDay && day <= toDay));
    });
  }

  /** A receipt that came after its batch was closed is not listed: nobody was given it (T3). */
  #listed(at: string, region: string, company: string): readonly ReceiptRow[] {
    return this.#rowsAt(at).filter((row) => {
      if (row.region !== region || row.company !== company) return false;
      return this.#contents(at, row)?.has(row.retrieval_id) ?? true;
    });
  }

  /** Ids of the receipts over which a batch was closed; null while it is open. */
  #contents(at: string, { region, batch }: BatchName): ReadonlySet<string> | null {
    return this.#counted.read(at, `${region}/${batch}`)?.ids ?? null;
  }

  #rowsOf(at: string, region: string, batch: string): readonly ReceiptRow[] {
    return this.#rowsAt(at)
      .filter((row) => row.region === region && row.batch === batch)
      .sort((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1));
  }

  /** Those that were not taken back. */
  #rowsAt(at: string): readonly ReceiptRow[] {
    return this.#rows
      .values(at)
      .filter(
        ({ region, batch, retrieval_id: id }) =>
          this.#retracted.read(at, `${region}/${batch}/${id}`) === null,
      );
  }

  #count(at: string, region: string, batch: string): number {
    return this.#rowsOf(at, region, batch).length;
  }

  #read<T>(execute: (region: string) => T): Promise<T> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "read", () => execute(region));
  }
}
