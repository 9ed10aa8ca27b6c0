// What many callers ask for in one turn of the event loop, such as signatures. The first piece of work of a turn is done at once on this
// thread: that is quicker than asking another thread, and a lone caller waits for nothing. The other pieces of the turn are done
// together when it ends, in a thread if there are enough of them to be worth the round trip. What is done together goes on together, for
// example into one commit. So when many arrive in every turn, none is done ahead of the others, and while a list is in the thread
// the next one gathers.
//   G1. Every promise settles: a list that cannot be done rejects each of its pieces.
//   G2. A turn does at most `onLoopMax` + 1 pieces on this thread.
//   G3. A piece waits at most for the lists that are already in the thread, and for none once `listMax` have gathered, unless as many
//       lists as may be are in the thread.
//   G4. If more wait than are sent, lists are filled in turns that go round the owners.

import { Worker } from "node:worker_threads";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import { type PackedMessages, packMessages } from "../protocol/signed-version.ts";
import { OwnerQueue } from "../std/work.ts";
import { WorkerCalls } from "../std/worker-calls.ts";
import { ed25519Library } from "./ed25519.ts";
import { nativeCrypto } from "./native.ts";
import type { SignatureJudge, Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";
import { createWorkerSigner, type SigningThread } from "./worker-signer.ts";

/** Up to this many gathered pieces are done on this thread when the turn ends; a turn with this many is busy. */
const onLoopMax = 2;
/** Pieces per list sent to the thread. More make several lists, so that the first callers need not wait for the last. */
const listMax = 32;

export interface ListWork<Piece, Done> {
  /** Does one piece on this thread. */
  readonly here: (piece: Piece) => Done;
  /** Does a list in the thread, in its order. */
  readonly away: (pieces: readonly Piece[]) => Promise<readonly Done[]>;
  /** How many lists may be in the thread at once. */
  readonly awayMax: number;
}

interface Waiting<Piece, Done> {
  readonly piece: Piece;
  readonly resolve: (done: Done) => void;
  readonly reject: (error: unknown) => void;
}

/** Returns a function that does a piece at once, or in a list; `owner` is whose it is (G4). */
export function createTurnLists<Piece, Done>({
  here,
  away,
  awayMax,
}: ListWork<Piece, Done>): (owner: string, piece: Piece) => Done | Promise<Done> {
  const waiting = new OwnerQueue<Waiting<Piece, Done>>();
  let gathered = 0;
  let endsTurn = false;
  let isBusy = false;
  let listsAway = 0;
  const take = (most: number): readonly Waiting<Piece, Done>[] => {
    const taken: Waiting<Piece, Done>[] = [];
    for (
      let next = waiting.next();
      next !== undefined;
      next = taken.length < most ? waiting.next() : undefined
    )
      taken.push(next.entry);
    gathered -= taken.length;
    return taken;
  };
  const endTurnLater = (): void => {
    endsTurn = true;
    setImmediate(endTurn);
  };
  const send = (list: readonly Waiting<Piece, Done>[]): void => {
    listsAway += 1;
    away(list.map(({ piece }) => piece))
      .then((done) => {
        if (done.length !== list.length) throw new Error("A list came back with another length.");
        for (const [index, { resolve }] of list.entries()) resolve(done[index] as Done);
      })
      .catch((error: unknown) => {
        for (const { reject } of list) reject(error);
      })
      .then(() => {
        listsAway -= 1;
        if ((listsAway === 0 ? gathered > 0 : gathered >= listMax) && !endsTurn) endTurnLater();
      });
  };
  const endTurn = (): void => {
    endsTurn = false;
    isBusy = gathered >= onLoopMax || listsAway > 0;
    if (listsAway > 0 && gathered < listMax) return;
    if (listsAway === 0 && gathered <= onLoopMax) {
      for (const { piece, resolve } of take(onLoopMax)) resolve(here(piece));
      return;
    }
    while (gathered > 0 && listsAway < awayMax) send(take(listMax));
  };
  return (owner, piece) => {
    if (!endsTurn) {
      endTurnLater();
      if (!isBusy) return here(piece);
    }
    const { promise, resolve, reject } = Promise.withResolvers<Done>();
    waiting.push(owner, { piece, resolve, reject });
    gathered += 1;
    return promise;
  };
}

// Judges the signatures of requests: those of a turn together, in a thread of their own if there are enough of them.
//   V1. The verdict is that of the native port, wherever it is made.
//   V2. A list that the thread did not judge, because it ended or has not started yet, is judged on this thread.
//   V3. The thread starts with the first list, so a node that nobody asks much has none.

export interface JudgingOrder {
  readonly id: number;
  readonly list: SignatureList;
}

export interface JudgingAnswer {
  readonly id: number;
  /** 1 for each signature that holds, otherwise 0, in order. */
  readonly verdicts: Uint8Array<ArrayBuffer>;
}

/** Signatures of 64 bytes each, with their keys and messages. */
export interface SignatureList {
  readonly keys: readonly PublicJwk[];
  readonly messages: PackedMessages;
  readonly signatures: Uint8Array;
}

/** Judges a list; rejects if it cannot. */
export type JudgingThread = (list: SignatureList) => Promise<Uint8Array>;

/** Lists in the thread at once, so that it has the next when it has judged one, and a caller waits for few others. */
const listsMax = 2;
const signatureLength = 64;

const calls = new WorkerCalls<JudgingOrder, JudgingAnswer>(
  "judging",
  () => new Worker(new URL("./judging-worker.ts", import.meta.url)),
  { isKept: false },
);

interface Signature {
  readonly jwk: PublicJwk;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export function createListVerifier(
  thread: JudgingThread = judgeInThread,
  isThere: () => boolean = () => thread !== judgeInThread || calls.thread !== null,
): SignatureJudge {
  const here = ({ jwk, message, signature }: Signature): boolean =>
    nativeCrypto.verify(jwk, message, signature);
  let state: "absent" | "starting" | "ready" = "absent";
  /** By a list of none. */
  const start = (): void => {
    state = "starting";
    thread(packed([])).then(
      () => {
        state = "ready";
      },
      () => {
        state = "absent";
      },
    );
  };
  const away = async (list: readonly Signature[]): Promise<readonly boolean[]> => {
    // An idle one was ended, and another takes a while to start.
    if (state === "absent" || (state === "ready" && !isThere())) start();
    if (state !== "ready") return list.map(here);
    const verdicts = await thread(packed(list)).catch(() => null);
    if (verdicts?.length === list.length) return Array.from(verdicts, (verdict) => verdict === 1);
    state = "absent";
    return list.map(here);
  };
  const judge = createTurnLists({ here, away, awayMax: listsMax });
  return (owner, jwk, message, signature) => {
    if (signature.length !== signatureLength) return nativeCrypto.verify(jwk, message, signature);
    return judge(owner, { jwk, message, signature });
  };
}

/** @internal for tests. */
export function packed(list: readonly Signature[]): SignatureList {
  const signatures = new Uint8Array(list.length * signatureLength);
  for (const [index, { signature }] of list.entries()) signatures.set(signature, index * signatureLength);
  return {
    keys: list.map(({ jwk }) => jwk),
    messages: packMessages(list.map(({ message }) => message)),
    signatures,
  };
}

/** @internal for tests: nothing else shows that the thread judged a list, and not this one (V2). */
export async function judgeInThread(list: SignatureList): Promise<Uint8Array> {
  const { verdicts } = await calls.call((id) => ({ id, list }));
  return verdicts;
}

// A signer for callers that sign one message per request: the messages of a turn are signed together, in the signing
// thread (worker-signer.ts) if there are enough of them.

/** Like {@link createWorkerSigner}, it takes only an Ed25519 key and throws for any other. */
export function createCoalescingSigner(jwk: PrivateJwk, thread?: SigningThread): Signer {
  const signer = createWorkerSigner(jwk, thread);
  const sign = createTurnLists({
    here: ed25519Library().signerOf(privateKeyOf(jwk)),
    away: (messages: readonly Uint8Array[]) => signer.signMany(packMessages(messages)),
    // Whose turn it is was decided before the answer was made.
    awayMax: Number.POSITIVE_INFINITY,
  });
  return { ...signer, sign: async (message) => sign("", message) };
}
