// The events of AI companies in SQLite: the port's obligations E1–E5. An event's position is its number in the file, which
// the single writer's transaction gives it: a reader that has seen a number has seen everything before it.

import type { EventStore, StoredEvent } from "../event-store.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import { overwritingFreed, type SqliteDatabase } from "./database.ts";

const migrations = [
  // Numbers are not assigned again, even after the highest was removed.
  `CREATE TABLE company_event (
     no INTEGER PRIMARY KEY AUTOINCREMENT, region TEXT NOT NULL, company TEXT NOT NULL, retrieval_id TEXT NOT NULL,
     stored_at INTEGER NOT NULL, body TEXT NOT NULL, UNIQUE (retrieval_id, region));
   CREATE INDEX company_event_in_order ON company_event (company, region, no);`,
];

/** Opens the store in `database`, creating its table if it is missing; `now` returns Unix milliseconds. */
export function openSqliteEventStore(database: SqliteDatabase, now: () => number = Date.now): EventStore {
  database.migrate("event", migrations);
  const put = database.prepare(
    `INSERT INTO company_event (region, company, retrieval_id, stored_at, body) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO NOTHING`,
  );
  const read = database.prepare(
    `SELECT no, retrieval_id, body FROM company_event
     WHERE company = ? AND region = ? AND no > ? ORDER BY no LIMIT ?`,
  );
  // Only the lowest numbers are looked at: they were stored first.
  const oldest = database.prepare("SELECT no, stored_at FROM company_event WHERE no > 0 ORDER BY no LIMIT ?");
  const forget = database.prepare("DELETE FROM company_event WHERE no = ?");
  return {
    put: (region, events) =>
      database.write((db) =>
        overwritingFreed(db, () => {
          const atMs = now();
          for (const { company, retrieval_id, body } of events)
            put.run(region, company, retrieval_id, atMs, body);
        }),
      ),
    read: async ({ company, region, after, limit }) =>
      read.all(company, region, after?.at ?? 0, limit).map(eventOf),
    forget: (beforeMs, limit) =>
      database.write((db) =>
        overwritingFreed(db, () => {
          const gone = oldest.all(limit).filter((row) => numberOf(row["stored_at"]) < beforeMs);
          for (const row of gone) forget.run(numberOf(row["no"]));
          return gone.length;
        }),
      ),
  };
}

function eventOf(row: Row): StoredEvent {
  return {
    position: { at: numberOf(row["no"]), id: textOf(row["retrieval_id"]) },
    body: textOf(row["body"]),
  };
}
