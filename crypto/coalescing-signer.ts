// A signer for callers that sign one message per request. The first message of an event-loop turn is signed at once on this
// thread: that is quicker than asking another thread, and a lone caller waits for nothing. The other messages of the turn
// are signed together when it ends, in the signing thread (worker-signer.ts) if there are enough of them to be worth the
// round trip. Messages that are signed together are then committed together. So when many arrive in every turn, none is
// signed ahead of the others, and while a list is in the thread the next one gathers.
//   G1. Every promise settles: a list that cannot be signed rejects each of its messages.
//   G2. A turn signs at most `onLoopMax` + 1 messages on this thread.
//   G3. A message waits at most for the lists that are already in the thread, and for none once `listMax` have gathered.

import { packMessages } from "../protocol/signed-version.ts";
import { ed25519Library } from "./ed25519.ts";
import type { Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";
import { createWorkerSigner, type SigningThread } from "./worker-signer.ts";

/** Up to this many gathered messages are signed on this thread when the turn ends; a turn with this many is busy. */
const onLoopMax = 2;
/** Messages per list sent to the thread. More make several lists, so that the first answers need not wait for the last. */
const listMax = 32;

interface Waiting {
  readonly message: Uint8Array;
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** Like {@link createWorkerSigner}, it takes only an Ed25519 key and throws for any other. */
export function createCoalescingSigner(jwk: PrivateJwk, thread?: SigningThread): Signer {
  const signer = createWorkerSigner(jwk, thread);
  const signHere = ed25519Library().signerOf(privateKeyOf(jwk));
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
