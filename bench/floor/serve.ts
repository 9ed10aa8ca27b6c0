// Child process, floor of fetch and search: a bare `node:http` server that does for every request the work that no
// implementation could skip (one signature verified, one made, a nonce and a receipt on disk) and answers with given bytes.
// Verifying is on the main thread and signing on the thread pool, as in the service.

import { generateKeyPairSync, type KeyObject, randomBytes, sign, verify } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerParent } from "../answer-parent.ts";
import { cpuTimes } from "../cpu-times.ts";
import { flushCount, SyncedFile } from "./synced-file.ts";

export interface FloorPlan {
  /** Path of the store file. */
  readonly file: string;
  /** Length of the caller's signature base. */
  readonly signatureBaseLength: number;
  /** Lengths of the receipt's signed bytes and of its envelope as it is stored. */
  readonly receiptLength: number;
  readonly envelopeLength: number;
  /** Answers, given in turn. */
  readonly bodies: readonly Uint8Array[];
}

const nonceOf = /;nonce="([^"]{16,128})"/;
const nonceLifeMs = 120_000;

class Floor {
  readonly #plan: FloorPlan;
  readonly #commits: SyncedFile;
  readonly #request: { readonly key: KeyObject; readonly base: Uint8Array; readonly signature: Uint8Array };
  readonly #receipt: { readonly key: KeyObject; readonly message: Uint8Array; readonly envelope: string };
  readonly #keep: (nonce: string) => void;
  readonly server: Server;
  #next = 0;

  constructor(plan: FloorPlan) {
    this.#plan = plan;
    this.#commits = new SyncedFile(plan.file);
    const [caller, region] = [generateKeyPairSync("ed25519"), generateKeyPairSync("ed25519")];
    const base = randomBytes(plan.signatureBaseLength);
    this.#request = { key: caller.publicKey, base, signature: sign(null, base, caller.privateKey) };
    const envelope = "e".repeat(plan.envelopeLength);
    this.#receipt = { key: region.privateKey, message: randomBytes(plan.receiptLength), envelope };
    const { db } = this.#commits;
    db.exec(`CREATE TABLE nonce (nonce TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
      CREATE TABLE receipt (
        retrieval_id TEXT PRIMARY KEY, key_id TEXT NOT NULL, nonce TEXT NOT NULL, served_at INTEGER NOT NULL,
        envelope TEXT NOT NULL);`);
    const addNonce = db.prepare("INSERT INTO nonce VALUES (?, ?)");
    const addReceipt = db.prepare("INSERT INTO receipt VALUES (?, ?, ?, ?, ?)");
    const keyId = "k".repeat(43);
    this.#keep = (nonce) => {
      const nowMs = Date.now();
      addNonce.run(nonce, nowMs + nonceLifeMs);
      const retrievalId = `ret_${nowMs.toString(16).padStart(12, "0")}${randomBytes(10).toString("hex")}`;
      addReceipt.run(retrievalId, keyId, nonce, nowMs, envelope);
    };
    this.server = createServer((request, response) => {
      request.resume();
      request.once("end", () => this.#answer(request, response));
    });
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
    this.#commits.close();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { key, base, signature } = this.#request;
    const nonce = nonceOf.exec(String(request.headers["signature-input"]))?.[1];
    if (nonce === undefined || !verify(null, base, key, signature)) {
      response.writeHead(401, { "content-length": 0 }).end();
      return;
    }
    const receipt = this.#receipt;
    sign(null, receipt.message, receipt.key, async (error) => {
      if (error !== null) throw error;
      await this.#commits.write(() => this.#keep(nonce));
      const body = this.#plan.bodies[this.#next % this.#plan.bodies.length] ?? new Uint8Array();
      this.#next += 1;
      response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
      response.end(body);
    });
  }
}

let floor: Floor | null = null;

/** Starts to listen and returns the port. */
async function listen(plan: FloorPlan): Promise<number> {
  const started = new Floor(plan);
  floor = started;
  await new Promise<void>((resolve) => started.server.listen(0, "127.0.0.1", resolve));
  return (started.server.address() as AddressInfo).port;
}

answerParent({ listen, cpuTimes, flushCount }, async () => floor?.close());
