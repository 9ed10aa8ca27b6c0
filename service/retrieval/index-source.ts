// The source of truth from which an index is built: every record's last change, removals included.
//   I1. The row of a head that was read is already stored: a version is stored before its head moves.
//   I2. What changes during the read arrives separately: the writer notifies the index.

import { rowPut } from "../../collections/row-change.ts";
import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RecordHead, RecordStore } from "../../storage/record-store.ts";
import type { RowChange } from "../../storage/row-index.ts";

const headsPerPage = 500;

/** Every record of the collection, in the store's order. Errors of the store propagate. */
export async function* indexSource(
  records: RecordStore,
  collection: CollectionName,
): AsyncGenerator<RowChange> {
  for (let cursor: string | null = null; ; ) {
    const page = await records.listHeads(cursor, headsPerPage);
    yield* changesOf(
      records,
      collection,
      page.heads.filter((head) => head.type === collection),
    );
    if (page.cursor === null) return;
    cursor = page.cursor;
  }
}

async function* changesOf(
  records: RecordStore,
  collection: CollectionName,
  heads: readonly RecordHead[],
): AsyncGenerator<RowChange> {
  const live = heads.filter((head) => head.live);
  const rows = await records.readRows(live);
  const byRecord = new Map(rows.map((row) => [row.record_id, row.row]));
  for (const { record_id, generation, change, live: isLive } of heads) {
    const row = isLive ? byRecord.get(record_id) : undefined;
    // A row without text was purged after its head was read, and its removal arrives separately (I2).
    if (row !== undefined && row !== "") yield rowPut(collection, { record_id, generation, change }, row);
    else if (!isLive) yield { kind: "remove", collection, record_id, change };
  }
}
