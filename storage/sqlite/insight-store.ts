// What was shown and asked for, in SQLite: the port's obligations I1–I4. Each put is one transaction.

import type { StatementSync } from "node:sqlite";
import { type CollectionName, isCollectionName } from "../../protocol/identifiers.ts";
import { type InsightCount, type InsightKind, type InsightStore, insightKinds } from "../insight-store.ts";
import { numberOf, type Row, textOf } from "./columns.ts";
import { overwritingFreed, type SqliteDatabase } from "./database.ts";

const values = "searches INTEGER NOT NULL, rows INTEGER NOT NULL, fetches INTEGER NOT NULL";
const migrations = [
  `CREATE TABLE insight_shown (
     name TEXT NOT NULL, day TEXT NOT NULL, country TEXT NOT NULL, collection TEXT NOT NULL, company TEXT NOT NULL,
     writer TEXT NOT NULL, ${values}, PRIMARY KEY (name, day, country, collection, company, writer)) WITHOUT ROWID;
   CREATE INDEX insight_shown_by_day ON insight_shown (day);
   CREATE TABLE insight_demand (
     name TEXT NOT NULL, day TEXT NOT NULL, country TEXT NOT NULL, collection TEXT NOT NULL, company TEXT NOT NULL,
     writer TEXT NOT NULL, ${values}, PRIMARY KEY (day, country, collection, name, company, writer)) WITHOUT ROWID;`,
];

/** Opens the store in `database`, creating its tables if they are missing. */
export function openSqliteInsightStore(database: SqliteDatabase): InsightStore {
  database.migrate("insight", migrations);
  const put = {
    shown: putInto(database, "insight_shown"),
    demand: putInto(database, "insight_demand"),
  } satisfies Record<InsightKind, StatementSync>;
  const columns = "SELECT name, day, country, collection, company, writer, searches, rows, fetches FROM";
  const shown = database.prepare(`${columns} insight_shown WHERE name = ? AND day >= ? AND day <= ?`);
  const demand = database.prepare(
    `${columns} insight_demand WHERE day = ? AND country = ? AND collection = ?`,
  );
  const forget = insightKinds.map((kind) => forgetFrom(database, `insight_${kind}`));
  return {
    put: (kind, counts) =>
      database.write((db) =>
        overwritingFreed(db, () => {
          for (const each of counts) {
            const key = [each.name, each.day, each.country, each.collection, each.company, each.writer];
            put[kind].run(...key, each.searches, each.rows, each.fetches);
          }
        }),
      ),
    readShown: async (business, fromDay, toDay) => shown.all(business, fromDay, toDay).map(countOf),
    readDemand: async ({ day, country, collection }) => demand.all(day, country, collection).map(countOf),
    forget: (day, limit) =>
      database.write((db) =>
        overwritingFreed(db, () => {
          let left = limit;
          for (const statement of forget) left -= Number(statement.run(day, left).changes);
          return limit - left;
        }),
      ),
  };
}

function putInto(database: SqliteDatabase, table: string): StatementSync {
  return database.prepare(
    `INSERT INTO ${table} (name, day, country, collection, company, writer, searches, rows, fetches)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       searches = excluded.searches, rows = excluded.rows, fetches = excluded.fetches
     WHERE excluded.searches + excluded.rows + excluded.fetches > ${table}.searches + ${table}.rows + ${table}.fetches`,
  );
}

function forgetFrom(database: SqliteDatabase, table: string): StatementSync {
  const key = "name, day, country, collection, company, writer";
  return database.prepare(
    `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE day < ? LIMIT ?)`,
  );
}

function countOf(row: Row): InsightCount {
  return {
    name: textOf(row["name"]),
    day: textOf(row["day"]),
    country: textOf(row["country"]),
    collection: collectionOf(textOf(row["collection"])),
    company: textOf(row["company"]),
    writer: textOf(row["writer"]),
    searches: numberOf(row["searches"]),
    rows: numberOf(row["rows"]),
    fetches: numberOf(row["fetches"]),
  };
}

function collectionOf(text: string): CollectionName {
  if (!isCollectionName(text)) throw new TypeError(`a count is of no known collection, but ${text}`);
  return text;
}
