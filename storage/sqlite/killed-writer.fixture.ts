// A process that writes to one kind of store without end and tells on standard output, by number, what returned.
// Its parent kills it at some point: everything that was told must be there afterwards.

import { SqliteDatabase } from "./database.ts";
import { openSqliteReceiptStore } from "./receipt-store.ts";
import { openSqliteRecordStore } from "./record-store.ts";
import { openSqliteRegisterStore } from "./register-store.ts";
import { tell } from "./tell.fixture.ts";

export const body = (n: number): string => `{"n":${n},"filler":"${"x".repeat(500)}"}`;

/** What write number n of each kind does. */
const writers: Record<string, (database: SqliteDatabase) => (n: number) => Promise<void>> = {
  record: (database) => {
    const store = openSqliteRecordStore(database);
    return async (n) => {
      const identity = {
        record_id: `svc_${n}`,
        business_uuid: "b",
        type: "products",
        hash: `h${n}`,
        generation: 1,
      };
      await store.putSeal({ seal_id: `bat_${n}`, envelope: body(n), tree_size: 1 });
      const version = {
        ...identity,
        bytes: new TextEncoder().encode(body(n)),
        seal_id: `bat_${n}`,
        leaf_index: 0,
        proof: new Uint8Array(),
        sidecar: body(n),
        row: body(n),
        cert_id: "c",
        published_at_ms: n,
      };
      await store.putVersions([version], [{ ...identity, live: true, change: 1 }]);
    };
  },
  receipt: (database) => {
    const store = openSqliteReceiptStore(database);
    const common = { region: "r", batch: "202611211358-i1", key_id: "k", billable: true, served_at_ms: 1 };
    return (n) => store.append({ ...common, retrieval_id: `${n}`, nonce: `${n}`, envelope: body(n) });
  },
  register: (database) => {
    const store = openSqliteRegisterStore(database);
    return (n) => store.put([{ table: "key", partition: "p", key: `${n}`, change: 1, body: body(n) }]);
  },
};

if (import.meta.main) {
  const [kind, path] = process.argv.slice(2);
  const open = writers[kind ?? ""];
  if (open === undefined || path === undefined)
    throw new Error("usage: killed-writer.fixture.ts <kind> <file>");
  const write = open(SqliteDatabase.open(path));
  // A few side by side, so that they share commits.
  const lanes = 4;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = lane; ; n += lanes) {
        await write(n);
        tell(`${n}\n`);
      }
    }),
  );
}
