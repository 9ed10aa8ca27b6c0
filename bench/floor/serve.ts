// Child process, floor of fetch and search: the bare signed server, with a nonce and a receipt on disk for every answer, which it
// gives in bytes that were captured from ours.

import { type AnswerPlan, BareServer, keyId, newRetrievalId, nonceLifeMs, runFloor } from "./bare-server.ts";
import { SyncedFile } from "./synced-file.ts";

export interface FloorPlan extends AnswerPlan {
  /** Path of the store file. */
  readonly file: string;
}

runFloor((plan: FloorPlan) => {
  const file = new SyncedFile(plan.file);
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
  return { server, close: () => file.close() };
});
