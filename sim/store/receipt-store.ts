// Receipts on the model's plain tables: the batch is registered before its first row is written.

import { type CommitOutcome, StoreError } from "../../storage/actor-store.ts";
import type { ClosedBatch, ReceiptRow, ReceiptStore } from "../../storage/receipt-store.ts";
import type { PlainTable } from "./plain-tables.ts";
import type { StoreClient } from "./store-model.ts";

interface BatchName {
  readonly region: string;
  readonly batch: string;
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

  constructor(client: StoreClient) {
    this.#client = client;
    const { tables } = client.model;
    this.#batches = tables.of("receipt_batch");
    this.#rows = tables.of("receipt");
    this.#closed = tables.of("receipt_batch_closed");
    this.#forgotten = tables.of("receipt_batch_forgotten");
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

  readBatch(region: string, batch: string): Promise<readonly ReceiptRow[]> {
    return this.#read((at) => this.#rowsOf(at, region, batch));
  }

  closeBatch(closed: ClosedBatch): Promise<void> {
    const { model, life, region } = this.#client;
    // Closing a batch again over more rows is a different closing; over the same rows it changes nothing.
    const cell = { key: `${closed.region}/${closed.batch}`, value: closed, stamp: closed.tree_size };
    return model.statements.run(life, "write", (reach) => this.#closed.write(region, [cell], reach));
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
        this.#rows
          .values(at)
          .filter((row) => row.region === region && row.retrieval_id === retrievalId)
          .sort((a, b) => (a.batch < b.batch ? -1 : 1))[0] ?? null,
    );
  }

  #rowsOf(at: string, region: string, batch: string): readonly ReceiptRow[] {
    return this.#rows
      .values(at)
      .filter((row) => row.region === region && row.batch === batch)
      .sort((a, b) => (a.retrieval_id < b.retrieval_id ? -1 : 1));
  }

  #count(at: string, region: string, batch: string): number {
    return this.#rowsOf(at, region, batch).length;
  }

  #read<T>(execute: (region: string) => T): Promise<T> {
    const { model, life, region } = this.#client;
    return model.statements.run(life, "read", () => execute(region));
  }
}
