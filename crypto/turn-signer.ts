// A signer for whoever signs one message a request. The first message of a turn of the event loop is signed at once, on
// this thread: that takes less time than asking another one, and whoever is alone waits for nothing. The others of the
// turn are signed together when it ends, in the signing thread (batch-signer.ts) when they are enough for the way there.
//   G1. Every promise settles: a list that cannot be signed rejects each of its messages.
//   G2. A turn signs `onLoopMax` messages at most on this thread.

import { sign as signNative } from "node:crypto";
import { packMessages } from "../protocol/packed-messages.ts";
import { createBatchSigner, type SigningThread } from "./batch-signer.ts";
import type { Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";

/** Messages gathered in a turn up to which they are signed here when it ends. */
const onLoopMax = 2;
/** Messages of one list for the thread: more are several lists, so that the first answers need not wait for the last. */
const listMax = 32;

interface Waiting {
  readonly message: Uint8Array;
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** As {@link createBatchSigner}: for an Ed25519 key only, throws for any other. */
export function createTurnSigner(jwk: PrivateJwk, thread?: SigningThread): Signer {
  const signer = createBatchSigner(jwk, thread);
  const key = privateKeyOf(jwk);
  const signHere = (message: Uint8Array): Uint8Array => {
    const signature = signNative(null, message, key);
    return new Uint8Array(signature.buffer, signature.byteOffset, signature.length);
  };
  let isFirst = true;
  let waiting: Waiting[] = [];
  const signList = (list: readonly Waiting[]): void => {
    signer.signMany(packMessages(list.map(({ message }) => message))).then(
      (signatures) => {
        for (const [index, { resolve, reject }] of list.entries()) {
          const signature = signatures[index];
          if (signature === undefined) reject(new Error("The signing thread gave too few signatures."));
          else resolve(signature);
        }
      },
      (error: unknown) => {
        for (const { reject } of list) reject(error);
      },
    );
  };
  const endTurn = (): void => {
    isFirst = true;
    const gathered = waiting;
    waiting = [];
    if (gathered.length <= onLoopMax) {
      for (const { message, resolve } of gathered) resolve(signHere(message));
      return;
    }
    for (let first = 0; first < gathered.length; first += listMax) {
      signList(gathered.slice(first, first + listMax));
    }
  };
  return {
    ...signer,
    sign: (message) => {
      if (isFirst) {
        isFirst = false;
        setImmediate(endTurn);
        return Promise.resolve(signHere(message));
      }
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      waiting.push({ message, resolve, reject });
      return promise;
    },
  };
}
