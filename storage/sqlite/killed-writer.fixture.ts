// A process that writes to one kind of store without end and reports each write that returned, by number, on standard
// output. Its parent kills it at some point: everything reported must be there afterwards.

import { newActor } from "../actor-store.ts";
import { hashed } from "../receipt-batch.fixture.ts";
import { recordIdFor } from "../row-index.fixture.ts";
import { openSqliteActorStore } from "./actor-store.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteReceiptStore } from "./receipt-store.ts";
import { openSqliteRecordStore } from "./record-store.ts";
import { openSqliteRegisterStore } from "./register-store.ts";
import { SqliteRowIndex } from "./row-index.ts";
import { tell } from "./tell.fixture.ts";

export const body = (n: number): string => `{"n":${n},"filler":"${"x".repeat(500)}"}`;

/** Row n as it is given to the index. */
export const row = (n: number): string =>
  JSON.stringify({ countries: ["US"], product_name: `product w${n}`, published_at: n, filler: body(n) });

/** What write number n of each kind does. */
const writers: Record<string, (path: string) => (n: number) => Promise<unknown>> = {
  actor: (path) => {
    const store = openSqliteActorStore(SqliteDatabase.open(path), { now: Date.now });
    return (n) =>
      store.commit({
        ref: { kind: "k", id: `${n}` },
        epoch: 1,
        expectedHead: newActor.head,
        expectedOp: newActor.op,
        op: `${n}`,
        puts: [{ rt: 16, k: 0, k2: "", body: body(n) }],
        deletes: [],
        wakeAtMs: null,
        creates: "w",
      });
  },
  record: (path) => {
    const store = openSqliteRecordStore(SqliteDatabase.open(path));
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
  receipt: (path) => {
    const store = openSqliteReceiptStore(SqliteDatabase.open(path));
    const common = {
      region: "r",
      batch: "202611211358-i1",
      company: "c",
      key_id: "k",
      billable: true,
      served_at_ms: 1,
      event: "{}",
    };
    return (n) => store.append(hashed({ ...common, retrieval_id: `${n}`, nonce: `${n}`, envelope: body(n) }));
  },
  register: (path) => {
    const store = openSqliteRegisterStore(SqliteDatabase.open(path));
    return (n) => store.put([{ table: "key", partition: "p", key: `${n}`, change: 1, body: body(n) }]);
  },
  index: (path) => {
    const index = new SqliteRowIndex(path);
    const common = { collection: "products", business_uuid: "b", generation: 1, change: 1 } as const;
    return async (n) => {
      await index.apply([
        { kind: "put", ...common, record_id: recordIdFor("products", 1, n), row: row(n) },
        // So that the text index has deletions as well.
        { kind: "remove", ...common, record_id: recordIdFor("products", 1, n - 20), change: 2 },
      ]);
    };
  },
};

if (import.meta.main) {
  const [kind, path] = process.argv.slice(2);
  const open = writers[kind ?? ""];
  if (open === undefined || path === undefined)
    throw new Error("usage: killed-writer.fixture.ts <kind> <file>");
  const write = open(path);
  // A few concurrent writers, so that they share commits; or so many that a commit is made while an earlier one is flushed.
  const lanes = kind === "actor" ? 100 : 4;
  await Promise.all(
    Array.from({ length: lanes }, async (_, lane) => {
      for (let n = lane; ; n += lanes) {
        await write(n);
        tell(`${n}\n`);
      }
    }),
  );
}
