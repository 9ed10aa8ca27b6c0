// Thread that signs long lists of messages with Ed25519 keys.

import { sign } from "node:crypto";
import { parentPort } from "node:worker_threads";
import type { SigningAnswer, SigningOrder } from "./batch-signer.ts";

const signatureLength = 64;

function signAll(order: SigningOrder): Uint8Array<ArrayBuffer> {
  const signatures = new Uint8Array(order.ends.length * signatureLength);
  let start = 0;
  for (const [index, end] of order.ends.entries()) {
    signatures.set(sign(null, order.messages.subarray(start, end), order.key), index * signatureLength);
    start = end;
  }
  return signatures;
}

parentPort?.on("message", (order: SigningOrder) => {
  const answer: SigningAnswer = { id: order.id, signatures: signAll(order) };
  parentPort?.postMessage(answer, [answer.signatures.buffer]);
});
// A list that cannot be read ends the thread, so that whoever waits for it hears of it.
parentPort?.on("messageerror", (error: Error) => {
  throw error;
});
