// The thread that signs long lists of messages with Ed25519 keys.

import { sign } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { unpackMessages } from "../protocol/signed-version.ts";
import type { SigningAnswer, SigningOrder } from "./worker-signer.ts";

const signatureLength = 64;

function signAll({ key, messages }: SigningOrder): Uint8Array<ArrayBuffer> {
  const signatures = new Uint8Array(messages.ends.length * signatureLength);
  for (const [index, message] of unpackMessages(messages).entries()) {
    signatures.set(sign(null, message, key), index * signatureLength);
  }
  return signatures;
}

parentPort?.on("message", (order: SigningOrder) => {
  const answer: SigningAnswer = { id: order.id, signatures: signAll(order) };
  parentPort?.postMessage(answer, [answer.signatures.buffer]);
});
// A list that cannot be read ends the thread, so that its caller learns of the failure.
parentPort?.on("messageerror", (error: Error) => {
  throw error;
});
