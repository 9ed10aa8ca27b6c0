// In a child process, floor of fetch and search: the bare signed server, with a nonce and a receipt on disk for every answer, which it
// gives in bytes that were captured from ours.

import { chooseOpenssl } from "../../crypto/ed25519.ts";
import { type AnswerPlan, BareServer, keyId, newRetrievalId, nonceLifeMs } from "./bare-server.ts";
import { SyncedFile } from "./synced-file.ts";

export interface FloorPlan extends AnswerPlan {
  readonly file: string;
  /** True for a floor without libsodium. */
  readonly isOpenssl?: boolean;
}

const closing = new AsyncDisposableStack();

export const close = () => closing.disposeAsync();

export async function listen(plan: FloorPlan): Promise<number> {
  if (plan.isOpenssl === true) chooseOpenssl();
  const file = closing.adopt(new SyncedFile(plan.file), (opened) => opened.close());
  const { addNonce, addReceipt } = answersIn(file);
  const server = new BareServer(plan, async ({ nonce }) => {
    await server.sign();
    await file.write(() => {
      addNonce(nonce);
      addReceipt(nonce, server.envelope);
    });
    return server.nextBody();
  });
  return await closing.adopt(server, (opened) => opened.close()).listen();
}

/** Makes the tables of nonces and receipts, and adds to them. */
export function answersIn({ db }: SyncedFile) {
  db.exec(`CREATE TABLE nonce (nonce TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE receipt (
      retrieval_id TEXT PRIMARY KEY, key_id TEXT NOT NULL, nonce TEXT NOT NULL, served_at INTEGER NOT NULL,
      envelope TEXT NOT NULL);`);
  const insertNonce = db.prepare("INSERT INTO nonce VALUES (?, ?)");
  const insertReceipt = db.prepare("INSERT INTO receipt VALUES (?, ?, ?, ?, ?)");
  return {
    addNonce: (nonce: string): void => void insertNonce.run(nonce, Date.now() + nonceLifeMs),
    addReceipt: (nonce: string, envelope: string): string => {
      const nowMs = Date.now();
      const retrievalId = newRetrievalId(nowMs);
      insertReceipt.run(retrievalId, keyId, nonce, nowMs, envelope);
      return retrievalId;
    },
  };
}
