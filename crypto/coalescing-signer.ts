// A signer for whoever signs one message a request. The first message of a turn of the event loop is signed at once, on
// this thread: that takes less time than asking another one, and whoever is alone waits for nothing. The others of the
// turn are signed together when it ends, in the signing thread (worker-signer.ts) when they are enough for the way there.
// What is signed together is committed together afterwards. So where many come in every turn none is signed ahead of the
// others, and while a list is in the thread the next one gathers.
//   G1. Every promise settles: a list that cannot be signed rejects each of its messages.
//   G2. A turn signs `onLoopMax` + 1 messages at most on this thread.
//   G3. A message waits for the lists that are in the thread at most, and for none once `listMax` have gathered.

import { sign as signNative } from "node:crypto";
import { packMessages } from "../protocol/packed-messages.ts";
import type { Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";
import { createWorkerSigner, type SigningThread } from "./worker-signer.ts";

/** Messages gathered in a turn up to which they are signed here when it ends; so many make it a busy one. */
const onLoopMax = 2;
/** Messages of one list for the thread: more are several lists, so that the first answers need not wait for the last. */
const listMax = 32;

interface Waiting {
  readonly message: Uint8Array;
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** As {@link createWorkerSigner}: for an Ed25519 key only, throws for any other. */
export function createCoalescingSigner(jwk: PrivateJwk, thread?: SigningThread): Signer {
  const signer = createWorkerSigner(jwk, thread);
  const key = privateKeyOf(jwk);
  const signHere = (message: Uint8Array): Uint8Array => {
    const signature = signNative(null, message, key);
    return new Uint8Array(signature.buffer, signature.byteOffset, signature.length);
  };
  let waiting: Waiting[] = [];
  let endsTurn = false;
  let isBusy = false;
  let listsAway = 0;
  const endTurnLater = (): void => {
    endsTurn = true;
    setImmediate(endTurn);
  };
  const signList = (list: readonly Waiting[]): void => {
    listsAway += 1;
    signer
      .signMany(packMessages(list.map(({ message }) => message)))
      .then(
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
      )
      .then(() => {
        listsAway -= 1;
        if (listsAway === 0 && waiting.length > 0 && !endsTurn) endTurnLater();
      });
  };
  const endTurn = (): void => {
    endsTurn = false;
    isBusy = waiting.length >= onLoopMax || listsAway > 0;
    if (listsAway > 0 && waiting.length < listMax) return;
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
      if (!endsTurn) {
        endTurnLater();
        if (!isBusy) return Promise.resolve(signHere(message));
      }
      const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
      waiting.push({ message, resolve, reject });
      return promise;
    },
  };
}
