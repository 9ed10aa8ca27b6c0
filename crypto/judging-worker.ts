// The thread that judges lists of signatures.

import { parentPort } from "node:worker_threads";
import { unpackMessages } from "../protocol/signed-version.ts";
import { nativeCrypto } from "./native.ts";
import type { JudgingAnswer, JudgingOrder, SignatureList } from "./turn-lists.ts";

const signatureLength = 64;

function judgeAll({ keys, messages, signatures }: SignatureList): Uint8Array<ArrayBuffer> {
  const unpacked = unpackMessages(messages);
  return Uint8Array.from(keys, (jwk, index) => {
    const signature = signatures.subarray(index * signatureLength, (index + 1) * signatureLength);
    const message = unpacked[index];
    return message !== undefined && nativeCrypto.verify(jwk, message, signature) ? 1 : 0;
  });
}

parentPort?.on("message", (order: JudgingOrder) => {
  const answer: JudgingAnswer = { id: order.id, verdicts: judgeAll(order.list) };
  parentPort?.postMessage(answer, [answer.verdicts.buffer]);
});
// A list that cannot be read ends the thread, so that its caller learns of the failure.
parentPort?.on("messageerror", (error: Error) => {
  throw error;
});
