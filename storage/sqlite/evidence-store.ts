// Evidence in SQLite: the port's obligations EV1–EV4. What everybody's files take up is summed in the transaction that adds one, so the
// bounds are exact. What is forgotten is overwritten with zeros, file by file, since a large one takes the thread for a while.

import {
  assertEvidence,
  countedBytes,
  countedFor,
  type EvidenceStore,
  type EvidenceStoreOptions,
  evidenceKeptMs,
} from "../evidence-store.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import { overwritingFreed, type SqliteDatabase } from "./database.ts";

const migrations = [
  `CREATE TABLE evidence (
     application TEXT NOT NULL, file TEXT NOT NULL, kept_until INTEGER NOT NULL, bytes BLOB NOT NULL,
     PRIMARY KEY (application, file));
   CREATE INDEX evidence_kept ON evidence (kept_until);
   CREATE TABLE evidence_room (
     owner TEXT NOT NULL, application TEXT NOT NULL, file TEXT NOT NULL, counted INTEGER NOT NULL,
     PRIMARY KEY (owner, application, file)) WITHOUT ROWID;
   CREATE INDEX evidence_room_file ON evidence_room (application, file);`,
];

/** Opens the store in `database`, creating its tables if they are missing. */
export function openSqliteEvidenceStore(
  database: SqliteDatabase,
  { bounds, now }: EvidenceStoreOptions,
): EvidenceStore {
  database.migrate("evidence", migrations);
  const taken = database.prepare("SELECT total(counted) AS taken FROM evidence_room WHERE owner = ?");
  const take = database.prepare(
    "INSERT INTO evidence_room (owner, application, file, counted) VALUES (?, ?, ?, ?)",
  );
  const put = database.prepare(
    "INSERT INTO evidence (application, file, kept_until, bytes) VALUES (?, ?, ?, ?)",
  );
  const read = database.prepare("SELECT bytes FROM evidence WHERE application = ? AND file = ?");
  const files = database.prepare("SELECT file FROM evidence WHERE application = ?");
  const late = database.prepare("SELECT application, file FROM evidence WHERE kept_until < ? LIMIT 1");
  const free = database.prepare("DELETE FROM evidence_room WHERE application = ? AND file = ?");
  const drop = database.prepare("DELETE FROM evidence WHERE application = ? AND file = ?");
  const forgetOne = (application: string, file: string): Promise<void> =>
    database.write((db) =>
      overwritingFreed(db, () => {
        free.run(application, file);
        drop.run(application, file);
      }),
    );
  return {
    put: async (file) => {
      assertEvidence(file);
      const old = late.get(now());
      if (old !== undefined) await forgetOne(textOf(old["application"]), textOf(old["file"]));
      const { application, file: id, bytes } = file;
      const [owners, counted] = [countedFor(file, bounds), countedBytes(bytes)];
      return database.write(() => {
        if (owners.some(([owner, max]) => numberOf(taken.get(owner)?.["taken"]) + counted > max))
          return "full";
        for (const [owner] of owners) take.run(owner, application, id, counted);
        put.run(application, id, now() + evidenceKeptMs, bytes);
        return "stored";
      });
    },
    read: async ({ application, file }) => {
      const row = read.get(application, file);
      return row === undefined ? null : bytesOf(row["bytes"]);
    },
    forget: async ({ application, file }) => {
      const names = file === null ? files.all(application).map((row) => textOf(row["file"])) : [file];
      for (const each of names) await forgetOne(application, each);
    },
  };
}
