// The fence ledger in SQLite: the port's obligations L1–L3. Each note is one transaction.

import { earlier, type FenceLedger, type FenceRefusals, leastRecent, withEarlier } from "../fence-ledger.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE fence_refusal (
     region TEXT NOT NULL, incarnation TEXT NOT NULL, refusals INTEGER NOT NULL, last_at INTEGER NOT NULL,
     PRIMARY KEY (region, incarnation)) WITHOUT ROWID;`,
];

/** Opens the ledger in `database`, creating its table if it is missing. */
export function openSqliteFenceLedger(database: SqliteDatabase): FenceLedger {
  database.migrate("fence", migrations);
  const columns = "SELECT region, incarnation, refusals, last_at FROM fence_refusal";
  const all = database.prepare(columns);
  const ofRegion = database.prepare(`${columns} WHERE region = ?`);
  const remove = database.prepare("DELETE FROM fence_refusal WHERE region = ? AND incarnation = ?");
  const put = database.prepare(
    `INSERT INTO fence_refusal VALUES (?, ?, ?, ?) ON CONFLICT (region, incarnation) DO UPDATE SET
       refusals = excluded.refusals, last_at = excluded.last_at WHERE excluded.refusals > refusals`,
  );
  const keep = ({ region, incarnation, refusals, last_at_ms }: FenceRefusals): void =>
    void put.run(region, incarnation, refusals, last_at_ms);
  return {
    note: (refusals) =>
      database.write(() => {
        const kept = ofRegion.all(refusals.region).map(refusalsOf);
        const isKnown = kept.some(({ incarnation }) => incarnation === refusals.incarnation);
        const folded = isKnown ? null : leastRecent(kept);
        if (folded !== null) {
          const known = kept.find(({ incarnation }) => incarnation === earlier);
          remove.run(folded.region, folded.incarnation);
          keep(withEarlier(known, folded));
        }
        keep(refusals);
      }),
    read: async () => all.all().map(refusalsOf),
  };
}

function refusalsOf(row: Row): FenceRefusals {
  return {
    region: textOf(row["region"]),
    incarnation: textOf(row["incarnation"]),
    refusals: numberOf(row["refusals"]),
    last_at_ms: numberOf(row["last_at"]),
  };
}
