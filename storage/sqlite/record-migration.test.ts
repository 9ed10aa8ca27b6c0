import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { SqliteDatabase } from "./database.ts";
import { openSqliteRecordStore } from "./record-store.ts";
import { recordMigrations } from "./record-tables.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-record-migration-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it("serves and lists what was stored before records had numbers", async () => {
  await using database = SqliteDatabase.open(join(folder, "store.db"));
  database.migrate("record", recordMigrations.slice(0, 2));
  database.db.exec(`
    INSERT INTO record_seal VALUES ('seal', '{"sealed":true}', 2);
    INSERT INTO record_head VALUES ('b', 'shop', 'products', 1, 2, 7, 'h2'), ('a', 'shop', 'products', 0, 1, 3, 'h1');
    INSERT INTO record_version VALUES
      ('b', 1, 'h1', 'seal', 0, 'cert', 10, x'01', x'02', 'sidecar 1', 'row 1'),
      ('b', 2, 'h2', 'seal', 1, 'cert', 20, x'03', x'04', 'sidecar 2', 'row 2'),
      ('a', 1, 'h1', 'seal', NULL, 'cert', 10, x'', x'05', 'sidecar 3', 'row 3');`);
  const store = openSqliteRecordStore(database);
  const b = { record_id: "b", business_uuid: "shop", type: "products", generation: 2, hash: "h2" };
  expect(await store.readServed("b")).toEqual({
    head: { ...b, live: true, change: 7 },
    version: {
      ...b,
      ...{ seal_id: "seal", leaf_index: 1, cert_id: "cert", published_at_ms: 20 },
      ...{ proof: Uint8Array.of(3), bytes: Uint8Array.of(4), sidecar: "sidecar 2", row: "row 2" },
    },
    seal: { seal_id: "seal", envelope: '{"sealed":true}', tree_size: 2 },
  });
  const first = { record_id: "b", generation: 1, hash: "h1" };
  expect(await store.readPublished(first)).toEqual({
    ...first,
    ...{ row: "row 1", sidecar: "sidecar 1", seal_id: "seal", leaf_index: 0, proof: Uint8Array.of(1) },
  });
  const { heads } = await store.listCatalogue("shop", null, 10);
  expect(heads.map((head) => [head.record_id, head.live, head.generation, head.change])).toEqual([
    ["a", false, 1, 3],
    ["b", true, 2, 7],
  ]);
});
