// Evidence in SQLite: the port's obligations EV1–EV4. What everybody's files take up is summed in the transaction that adds one, so the
// bounds are exact.
//   ES1. The bytes of a file are written and removed in parts, each in a turn of its own, since a large file would keep the thread. Its row
//        says how many there are and is written first and removed last: a file that is half here is not shown, and is found by `forget`.
//   ES2. What is forgotten is overwritten with zeros.

import { concatBytes } from "../../protocol/bytes.ts";
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
     application TEXT NOT NULL, file TEXT NOT NULL, kept_until INTEGER NOT NULL, size INTEGER NOT NULL,
     PRIMARY KEY (application, file)) WITHOUT ROWID;
   CREATE TABLE evidence_bytes (
     application TEXT NOT NULL, file TEXT NOT NULL, part INTEGER NOT NULL, bytes BLOB NOT NULL,
     PRIMARY KEY (application, file, part));
   CREATE INDEX evidence_kept ON evidence (kept_until);
   CREATE TABLE evidence_room (
     owner TEXT NOT NULL, application TEXT NOT NULL, file TEXT NOT NULL, counted INTEGER NOT NULL,
     PRIMARY KEY (owner, application, file)) WITHOUT ROWID;
   CREATE INDEX evidence_room_file ON evidence_room (application, file);`,
];

const partBytes = 1_048_576;

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
    "INSERT INTO evidence (application, file, kept_until, size) VALUES (?, ?, ?, ?)",
  );
  const add = database.prepare(
    `INSERT INTO evidence_bytes (application, file, part, bytes)
       SELECT application, file, ?, ? FROM evidence WHERE application = ? AND file = ?`,
  );
  const size = database.prepare("SELECT size FROM evidence WHERE application = ? AND file = ?");
  const read = database.prepare(
    "SELECT bytes FROM evidence_bytes WHERE application = ? AND file = ? ORDER BY part",
  );
  const last = database.prepare(
    "SELECT max(part) AS part FROM evidence_bytes WHERE application = ? AND file = ?",
  );
  const dropPart = database.prepare(
    "DELETE FROM evidence_bytes WHERE application = ? AND file = ? AND part = ?",
  );
  const files = database.prepare("SELECT file FROM evidence WHERE application = ?");
  const late = database.prepare("SELECT application, file FROM evidence WHERE kept_until < ? LIMIT 1");
  const free = database.prepare("DELETE FROM evidence_room WHERE application = ? AND file = ?");
  const drop = database.prepare("DELETE FROM evidence WHERE application = ? AND file = ?");
  const forgetOne = async (application: string, file: string): Promise<void> => {
    for (;;) {
      const part = last.get(application, file)?.["part"];
      if (typeof part !== "number") break;
      await database.write((db) => overwritingFreed(db, () => dropPart.run(application, file, part)));
    }
    await database.write(() => {
      free.run(application, file);
      drop.run(application, file);
    });
  };
  return {
    put: async (file) => {
      assertEvidence(file);
      const old = late.get(now());
      if (old !== undefined) await forgetOne(textOf(old["application"]), textOf(old["file"]));
      const { application, file: id, bytes } = file;
      const [owners, counted] = [countedFor(file, bounds), countedBytes(bytes)];
      const outcome = await database.write(() => {
        if (owners.some(([owner, max]) => numberOf(taken.get(owner)?.["taken"]) + counted > max))
          return "full";
        for (const [owner] of owners) take.run(owner, application, id, counted);
        put.run(application, id, now() + evidenceKeptMs, bytes.length);
        return "stored";
      });
      if (outcome === "full") return outcome;
      for (let part = 0; part * partBytes < bytes.length; part += 1) {
        const of = bytes.subarray(part * partBytes, (part + 1) * partBytes);
        // Nothing of a file that was forgotten meanwhile.
        await database.write(() => add.run(part, of, application, id));
      }
      return outcome;
    },
    read: async ({ application, file }) => {
      const row = size.get(application, file);
      if (row === undefined) return null;
      const bytes = concatBytes(...read.all(application, file).map((part) => bytesOf(part["bytes"])));
      return bytes.length === numberOf(row["size"]) ? bytes : null;
    },
    forget: async ({ application, file }) => {
      const names = file === null ? files.all(application).map((row) => textOf(row["file"])) : [file];
      for (const each of names) await forgetOne(application, each);
    },
  };
}
