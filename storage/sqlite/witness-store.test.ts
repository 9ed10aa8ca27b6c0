import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { type OpenWitnessStore, witnessStoreConformance } from "../witness-store.conformance.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteWitnessStore } from "./witness-store.ts";

function openIn(home: string): OpenWitnessStore {
  const database = SqliteDatabase.open(join(home, "witness.db"));
  return {
    store: openSqliteWitnessStore(database),
    reopen: async () => openIn(home),
    close: async () => database.close(),
  };
}

witnessStoreConformance("SQLite", async () => {
  const home = mkdtempSync(join(tmpdir(), "svc-witness-store-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return openIn(home);
});
