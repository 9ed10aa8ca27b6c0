// Judges the signatures of requests: those of a turn together (turn-lists.ts), in a thread of their own if there are enough of them.
//   V1. The verdict is that of the native port, wherever it is made.
//   V2. A list that the thread did not judge, because it ended or has not started yet, is judged on this thread.
//   V3. The thread starts with the first list, so a node that nobody asks much has none.

import { Worker } from "node:worker_threads";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import { type PackedMessages, packMessages } from "../protocol/signed-version.ts";
import { WorkerCalls } from "../std/worker-calls.ts";
import { nativeCrypto } from "./native.ts";
import type { SignatureJudge } from "./port.ts";
import { createTurnLists } from "./turn-lists.ts";

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
);

interface Signature {
  readonly jwk: PublicJwk;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

export function createListVerifier(thread: JudgingThread = judgeInThread): SignatureJudge {
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
    if (state === "absent") start();
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
