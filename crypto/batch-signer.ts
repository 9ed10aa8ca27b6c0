// A signer for whoever signs hundreds of messages at a time: long lists go to a thread of their own, in one message each
// way. On the thread pool every signature costs the event loop a job of its own; here it costs a copy.
//   B1. The private key leaves this thread for that one only; nothing of it is written anywhere.
//   B2. A list that the thread did not sign, because it ended or could not be started, is signed on the thread pool.

import type { KeyObject } from "node:crypto";
import { Worker } from "node:worker_threads";
import { createSigner } from "./file-signer.ts";
import type { Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";

export interface SigningOrder {
  readonly id: number;
  readonly key: KeyObject;
  /** The messages, one after the other. */
  readonly messages: Uint8Array;
  /** Where each message ends in `messages`. */
  readonly ends: Uint32Array;
}

export interface SigningAnswer {
  readonly id: number;
  /** 64 bytes each, in order. */
  readonly signatures: Uint8Array<ArrayBuffer>;
}

/** Shorter lists are signed on the thread pool: the way there and back would take longer. */
const listMin = 4;
const signatureLength = 64;

interface Waiting {
  readonly resolve: (signatures: Uint8Array) => void;
  readonly reject: (error: Error) => void;
}

let worker: Worker | null = null;
let orders = 0;
const waiting = new Map<number, Waiting>();

/** Signs messages with a key, 64 bytes each, in order; rejects when it cannot. */
export type SigningThread = (key: KeyObject, messages: readonly Uint8Array[]) => Promise<Uint8Array>;

/** As {@link createSigner}, for an Ed25519 key. Throws for any other. */
export function createBatchSigner(jwk: PrivateJwk, thread: SigningThread = signInThread): Signer {
  if (jwk.kty !== "OKP") throw new TypeError("Long lists are signed with Ed25519 keys only.");
  const signer = createSigner(jwk);
  const key = privateKeyOf(jwk);
  return {
    ...signer,
    signMany: async (messages) => {
      if (messages.length < listMin) return signer.signMany(messages);
      const signatures = await thread(key, messages).catch(() => null);
      if (signatures === null) return signer.signMany(messages);
      return messages.map((_, index) =>
        signatures.slice(index * signatureLength, (index + 1) * signatureLength),
      );
    },
  };
}

async function signInThread(key: KeyObject, messages: readonly Uint8Array[]): Promise<Uint8Array> {
  const ends = new Uint32Array(messages.length);
  let length = 0;
  for (const [index, message] of messages.entries()) {
    length += message.length;
    ends[index] = length;
  }
  const joined = new Uint8Array(length);
  for (const [index, message] of messages.entries()) joined.set(message, (ends[index] ?? 0) - message.length);
  worker ??= startWorker();
  worker.ref();
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  orders += 1;
  waiting.set(orders, { resolve, reject });
  const order: SigningOrder = { id: orders, key, messages: joined, ends };
  worker.postMessage(order, [joined.buffer, ends.buffer]);
  return promise;
}

function startWorker(): Worker {
  const started = new Worker(new URL("./signing-worker.ts", import.meta.url));
  started.on("message", ({ id, signatures }: SigningAnswer) => {
    waiting.get(id)?.resolve(signatures);
    waiting.delete(id);
    // A thread that has nothing to do keeps no process alive.
    if (waiting.size === 0) started.unref();
  });
  started.once("error", (error: Error) => failAll(started, error));
  started.once("messageerror", (error: Error) => failAll(started, error));
  started.once("exit", () => failAll(started, new Error("The signing thread ended.")));
  return started;
}

function failAll(ended: Worker, error: Error): void {
  if (worker !== ended) return;
  worker = null;
  for (const each of waiting.values()) each.reject(error);
  waiting.clear();
}
