// In a child process, floor of a push: the work between a batch's body, or a bulk file, and its searchable rows that no
// implementation could skip. Parsing, hashing, the Merkle tree, the canonical form of each row, two signatures per record, and inserts of exactly
// the bytes that the service stored, with the terms of the text index, in plain tables. Nothing is checked, projected or
// analysed. The threads are those of the service; as there, the next chunk is signed while one is written, and rows are
// inserted (push-rows.ts) while the main thread continues; the push is done when everything is committed.

import { createHash, generateKeyPairSync, hash } from "node:crypto";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { Worker } from "node:worker_threads";
import canonicalize from "canonicalize";
import { collections } from "../../collections/collections.ts";
import { indexDocument } from "../../collections/row-change.ts";
import type { Signer } from "../../crypto/port.ts";
import type { PrivateJwk } from "../../crypto/private-jwk.ts";
import { createWorkerSigner } from "../../crypto/worker-signer.ts";
import { parseBase64 } from "../../protocol/bytes.ts";
import { pae, payloadTypes } from "../../protocol/dsse.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { packMessages } from "../../protocol/signed-version.ts";
import { type Spent, spend } from "../work.ts";
import type { FloorRow } from "./push-rows.ts";
import { SyncedFile, syncFile } from "./synced-file.ts";

/** What the service made of one record. */
export interface StoredRecord {
  readonly record_id: string;
  readonly business_uuid: string;
  readonly cert_id: string;
  readonly proof: Uint8Array;
  /** The row without its signature. */
  readonly row: Readonly<Record<string, unknown>>;
  /** Signed bytes of the sidecar's envelope: the payload itself and its pre-authentication encoding. */
  readonly sidecarPayload: Uint8Array;
  readonly sidecarMessage: Uint8Array;
  readonly texts: readonly (string | null)[];
}

export interface FloorPush {
  readonly file: string;
  readonly pushId: string;
  /** In the order of the push, or the home of a node that is not running, in which they are: they are read before the time begins. */
  readonly stored: readonly StoredRecord[] | string;
  /** The request's body, as it was sent to the service, or the path of a file of records, one line of base64 each. */
  readonly from: Uint8Array | string;
}

const chunkSize = 200;

/** A record as it is inserted: what the service made of it, and what the floor made. */
interface Made extends StoredRecord {
  readonly leafIndex: number;
  readonly bytes: Uint8Array;
  readonly hash: string;
  readonly signedRow: string;
  readonly sidecar: string;
}

class FloorStore {
  readonly #file: SyncedFile;
  readonly #version: StatementSync;
  readonly #head: StatementSync;
  readonly #rows: Worker;
  #rowsUnderWay = 0;
  #rowsDone = (): void => {};

  constructor(file: string) {
    this.#file = new SyncedFile(file);
    const { db } = this.#file;
    db.exec(`PRAGMA cache_size = -65536;
      CREATE TABLE IF NOT EXISTS version (
        record_id TEXT NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL, seal_id TEXT NOT NULL,
        leaf_index INTEGER NOT NULL, cert_id TEXT NOT NULL, published_at INTEGER NOT NULL, proof BLOB NOT NULL,
        bytes BLOB NOT NULL, sidecar TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (record_id, generation));
      CREATE TABLE IF NOT EXISTS head (
        record_id TEXT PRIMARY KEY, business_uuid TEXT NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL)
        WITHOUT ROWID;`);
    this.#version = db.prepare("INSERT INTO version VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    this.#head = db.prepare("INSERT INTO head VALUES (?, ?, 1, ?)");
    this.#rows = new Worker(new URL("./push-rows.ts", import.meta.url), { workerData: `${file}-rows` });
    // A failure of the thread ends this process as well: it has no error listener.
    this.#rows.on("message", () => {
      this.#rowsUnderWay -= 1;
      if (this.#rowsUnderWay === 0) this.#rowsDone();
    });
  }

  /** One transaction here, and one for the rows, which is not awaited. */
  insertAll(pushId: string, records: readonly Made[]): void {
    this.#file.transact(() => {
      for (const made of records) {
        const { record_id: id, hash, leafIndex, cert_id: certId, proof, bytes, sidecar, signedRow } = made;
        this.#version.run(id, hash, pushId, leafIndex, certId, Date.now(), proof, bytes, sidecar, signedRow);
        this.#head.run(id, made.business_uuid, hash);
      }
    });
    this.#rowsUnderWay += 1;
    this.#rows.postMessage(
      records.map(({ record_id, texts, signedRow: row }): FloorRow => ({ record_id, row, texts })),
    );
  }

  untilInserted(): Promise<void> {
    return new Promise((resolve) => {
      this.#rowsDone = resolve;
      if (this.#rowsUnderWay === 0) resolve();
    });
  }

  async close(): Promise<void> {
    await this.#rows.terminate();
    this.#file.close();
  }
}

function newSigner(): Signer {
  const { privateKey } = generateKeyPairSync("ed25519");
  return createWorkerSigner(privateKey.export({ format: "jwk" }) as unknown as PrivateJwk);
}

let store: FloorStore | null = null;
const projection = newSigner();
const sidecars = newSigner();

/** What it took until the last record was on disk. */
export async function run({ file, pushId, stored: given, from }: FloorPush): Promise<Spent> {
  store ??= new FloorStore(file);
  const to = store;
  const stored = typeof given === "string" ? readStoredRecords(given, pushId) : given;
  return await spend(async () => {
    const leaves = (await textsIn(from)).map((text) => Buffer.from(text, "base64"));
    merkleRoot(leaves);
    const signFrom = (first: number) => signChunk(first, leaves.slice(first, first + chunkSize), stored);
    let ahead = signFrom(0);
    for (let next = chunkSize; next < leaves.length + chunkSize; next += chunkSize) {
      const signed = await ahead;
      if (next < leaves.length) ahead = signFrom(next);
      to.insertAll(pushId, signed);
    }
    await to.untilInserted();
  });
}

/** Everything stored for a push, in leaf order, from the home of a node that is not running. */
function readStoredRecords(home: string, pushId: string): readonly StoredRecord[] {
  const store = new DatabaseSync(join(home, "store.db"), { readOnly: true });
  try {
    const versions = store
      .prepare(
        `SELECT h.record_id, h.business_uuid, v.cert_id, v.proof, v.row, v.sidecar
         FROM record_version v JOIN record_head h ON h.no = v.record_no WHERE v.seal_id = ? ORDER BY v.leaf_index`,
      )
      .all(pushId);
    return versions.map(({ record_id, business_uuid, cert_id, proof, ...texts }): StoredRecord => {
      const { adl_row_sig: _signature, ...row } = JSON.parse(String(texts["row"])) as JsonObject;
      const { payload } = JSON.parse(String(texts["sidecar"])) as { payload: string };
      const sidecarPayload = parseBase64(payload) ?? new Uint8Array();
      const document = indexDocument("products", row);
      return {
        record_id: String(record_id),
        business_uuid: String(business_uuid),
        cert_id: String(cert_id),
        proof: proof as Uint8Array,
        row,
        sidecarPayload,
        sidecarMessage: pae(payloadTypes["sidecar.v2"], sidecarPayload),
        texts: collections.products.textFields.map((field) => document.texts[field] ?? null),
      };
    });
  } finally {
    store.close();
  }
}

async function textsIn(from: FloorPush["from"]): Promise<readonly string[]> {
  if (typeof from === "string") return (await readFile(from, "latin1")).split("\n").slice(0, -1);
  return (JSON.parse(Buffer.from(from).toString()) as { readonly records: readonly string[] }).records;
}

async function signChunk(
  first: number,
  leaves: readonly Uint8Array[],
  stored: readonly StoredRecord[],
): Promise<readonly Made[]> {
  const some = stored.slice(first, first + leaves.length);
  if (some.length < leaves.length) throw new Error("a record is missing");
  for (const leaf of leaves) JSON.parse(Buffer.from(leaf).toString());
  const hashes = leaves.map((leaf) => `sha256:${hash("sha256", leaf, "hex")}`);
  const rows = some.map(({ row }) => canonicalize(row) ?? "");
  const [rowSignatures, sidecarSignatures] = await Promise.all([
    projection.signMany(packMessages(rows.map((row) => Buffer.from(row)))),
    sidecars.signMany(packMessages(some.map(({ sidecarMessage }) => sidecarMessage))),
  ]);
  return leaves.map((bytes, index): Made => {
    const each = some[index] as StoredRecord;
    const payload = `{"payloadType":"application/vnd.svc.sidecar.v2+json","payload":"${base64(each.sidecarPayload)}"`;
    const signature = `{"keyid":"${sidecars.keyId}","sig":"${base64(sidecarSignatures[index])}"}`;
    return {
      ...each,
      leafIndex: first + index,
      bytes,
      hash: hashes[index] ?? "",
      signedRow: `${rows[index]?.slice(0, -1)},"adl_row_sig":"${base64(rowSignatures[index])}"}`,
      sidecar: `${payload},"signatures":[${signature}]}`,
    };
  });
}

function base64(bytes: Uint8Array | undefined): string {
  return Buffer.from(bytes ?? new Uint8Array()).toString("base64");
}

const [leafMark, nodeMark] = [Uint8Array.of(0), Uint8Array.of(1)];

/** The Merkle root of RFC 6962 §2.1, computed level by level. */
function merkleRoot(leaves: readonly Uint8Array[]): Uint8Array {
  let level: Uint8Array[] = leaves.map((leaf) => createHash("sha256").update(leafMark).update(leaf).digest());
  while (level.length > 1) {
    const next: Uint8Array[] = [];
    for (let left = 0; left < level.length; left += 2) {
      const [a, b] = [level[left], level[left + 1]];
      if (a === undefined) continue;
      next.push(b === undefined ? a : createHash("sha256").update(nodeMark).update(a).update(b).digest());
    }
    level = next;
  }
  return level[0] ?? new Uint8Array();
}

/**
 * Floor of an upload: a bare `node:http` server that writes the body of a request to a file as it arrives, hashes it, and answers
 * once the file is on the disk. It reads no form and bounds nothing.
 */
export async function receiveUpload(path: string): Promise<number> {
  const server = createServer(async (request, response) => {
    const file = await open(path, "w");
    const hash = createHash("sha256");
    for await (const piece of request) {
      hash.update(piece);
      await file.write(piece);
    }
    await syncFile(file);
    await file.close();
    const digest = hash.digest("hex");
    response.writeHead(201, { connection: "close", "content-length": digest.length });
    response.end(digest);
    server.close();
  });
  server.requestTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

export const close = () => store?.close();
