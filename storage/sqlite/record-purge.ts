// Empties purged versions in the record store's file.

import type { PurgedVersion } from "../record-store.ts";
import type { SqliteDatabase } from "./database.ts";
import { overwritingFreed } from "./secure-delete.ts";

const purge = `UPDATE record_version SET bytes = x'', row = '', sidecar = ? WHERE generation = ? AND hash = ?
  AND record_no = (SELECT no FROM record_head WHERE record_id = ?)`;

export async function purgeVersions(
  database: SqliteDatabase,
  versions: readonly PurgedVersion[],
): Promise<void> {
  await database.write((db) => {
    overwritingFreed(db, () => {
      const statement = database.prepare(purge);
      for (const { record_id, generation, hash, remains } of versions)
        statement.run(remains, generation, hash, record_id);
    });
  });
}
