// The thread that signs long lists of messages with Ed25519 keys.

import type { KeyObject } from "node:crypto";
import { parentPort } from "node:worker_threads";
import { unpackMessages } from "../protocol/signed-version.ts";
import { type Ed25519Signer, ed25519Library } from "./ed25519.ts";
import type { SigningAnswer, SigningOrder } from "./worker-signer.ts";

const signatureLength = 64;

/** The signer of the latest order, as most orders follow one with the same key. */
let latest: { readonly key: KeyObject; readonly sign: Ed25519Signer } | null = null;

function signerOf(key: KeyObject): Ed25519Signer {
  if (latest === null || !latest.key.equals(key)) latest = { key, sign: ed25519Library().signerOf(key) };
  return latest.sign;
}

function signAll({ key, messages }: SigningOrder): Uint8Array<ArrayBuffer> {
  const sign = signerOf(key);
  const signatures = new Uint8Array(messages.ends.length * signatureLength);
  for (const [index, message] of unpackMessages(messages).entries()) {
    signatures.set(sign(message), index * signatureLength);
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
