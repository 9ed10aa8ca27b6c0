// In a child process, floor of fetch and search: the bare signed server, with a nonce and a receipt on disk for every answer, which it
// gives in bytes that were captured from ours.

import { type AnswerPlan, BareServer, keyId, newRetrievalId, nonceLifeMs } from "./bare-server.ts";
import { SyncedFile } from "./synced-file.ts";

export interface FloorPlan extends AnswerPlan {
  /** Path of the store file. */
  readonly file: string;
}

const closing = new AsyncDisposableStack();

export const close = () => closing.disposeAsync();

/** Starts to listen and returns the port. */
export async function listen(plan: FloorPlan): Promise<number> {
  const file = closing.adopt(new SyncedFile(plan.file), (opened) => opened.close());
  file.db.exec(`CREATE TABLE nonce (nonce TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE receipt (
      retrieval_id TEXT PRIMARY KEY, key_id TEXT NOT NULL, nonce TEXT NOT NULL, served_at INTEGER NOT NULL,
      envelope TEXT NOT NULL);`);
  const addNonce = file.db.prepare("INSERT INTO nonce VALUES (?, ?)");
  const addReceipt = file.db.prepare("INSERT INTO receipt VALUES (?, ?, ?, ?, ?)");
  const server = new BareServer(plan, async ({ nonce }) => {
    await server.sign();
    await file.write(() => {
      const nowMs = Date.now();
      addNonce.run(nonce, nowMs + nonceLifeMs);
      addReceipt.run(newRetrievalId(nowMs), keyId, nonce, nowMs, server.envelope);
    });
    return server.nextBody();
  });
  return await closing.adopt(server, (opened) => opened.close()).listen();
}
