// A signer for callers that sign hundreds of messages at a time: long lists go to a dedicated thread, with one message each
// way. On the thread pool every signature costs the event loop a job; here it costs a copy.
//   B1. The private key leaves this thread only for that one; no part of it is written anywhere.
//   B2. A list that the thread did not sign, because it ended or could not be started, is signed on the thread pool.

import type { KeyObject } from "node:crypto";
import { Worker } from "node:worker_threads";
import type { PackedMessages } from "../protocol/signed-version.ts";
import { WorkerCalls } from "../std/worker-calls.ts";
import type { Signer } from "./port.ts";
import { createSigner, type PrivateJwk, privateKeyOf } from "./private-jwk.ts";

export interface SigningOrder {
  readonly id: number;
  readonly key: KeyObject;
  readonly messages: PackedMessages;
}

export interface SigningAnswer {
  readonly id: number;
  /** The signatures, 64 bytes each, in order. */
  readonly signatures: Uint8Array<ArrayBuffer>;
}

/** Shorter lists are signed on the thread pool: the round trip to the thread would take longer. */
const listMin = 4;
const signatureLength = 64;

const calls = new WorkerCalls<SigningOrder, SigningAnswer>(
  "signing",
  () => new Worker(new URL("./signing-worker.ts", import.meta.url)),
  { isKept: false },
);

/** Signs messages with a key and returns signatures of 64 bytes each, in order; rejects if it cannot. */
export type SigningThread = (key: KeyObject, messages: PackedMessages) => Promise<Uint8Array>;

/** Makes a signer like {@link createSigner}, for an Ed25519 key only. Throws for any other. */
export function createWorkerSigner(jwk: PrivateJwk, thread: SigningThread = signInThread): Signer {
  if (jwk.kty !== "OKP") throw new TypeError("Long lists are signed with Ed25519 keys only.");
  const signer = createSigner(jwk);
  const key = privateKeyOf(jwk);
  return {
    ...signer,
    signMany: async (messages) => {
      const { length } = messages.ends;
      if (length < listMin) return signer.signMany(messages);
      const signatures = await thread(key, messages).catch(() => null);
      if (signatures === null) return signer.signMany(messages);
      return Array.from({ length }, (_, index) =>
        signatures.subarray(index * signatureLength, (index + 1) * signatureLength),
      );
    },
  };
}

/** @internal for tests: nothing else shows that the thread signed a list, and not the pool (B2). */
export async function signInThread(key: KeyObject, messages: PackedMessages): Promise<Uint8Array> {
  // Copied rather than transferred: should the thread end, they are signed elsewhere (B2).
  const { signatures } = await calls.call((id) => ({ id, key, messages }));
  return signatures;
}
