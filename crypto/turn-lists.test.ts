import { setImmediate as turnEnd } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import type { PublicJwk } from "../protocol/keys/jwk.ts";
import { nativeCrypto } from "./native.ts";
import { createSigner, generatePrivateJwk } from "./private-jwk.ts";
import { createListVerifier, type JudgingThread, judgeInThread, packed } from "./turn-lists.ts";

interface Signed {
  readonly jwk: PublicJwk;
  readonly message: Uint8Array;
  readonly signature: Uint8Array;
}

const signers = (["Ed25519", "ES256"] as const).map((algorithm) =>
  createSigner(generatePrivateJwk(algorithm)),
);

/** Signed messages of two bytes, every third of which is forged. */
async function signedMessages(count: number): Promise<readonly Signed[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, index) => {
      const { publicJwk: jwk, sign } = signers[index % 2] as (typeof signers)[number];
      const message = Uint8Array.of(index, index >> 8);
      const signature = await sign(message);
      if (index % 3 === 0) signature[index % 64] = (signature[index % 64] ?? 0) ^ 1;
      return { jwk, message, signature };
    }),
  );
}

const expectedOf = (all: readonly Signed[]): readonly boolean[] =>
  all.map(({ jwk, message, signature }) => nativeCrypto.verify(jwk, message, signature));

function judgeAll(judge: ReturnType<typeof createListVerifier>, all: readonly Signed[], owner = "a") {
  return Promise.all(all.map(({ jwk, message, signature }) => judge(owner, jwk, message, signature)));
}

/** A thread that is ready at once, and judges a list only when the test releases it. */
function heldThread() {
  const lists: (readonly number[])[] = [];
  const held: (() => void)[] = [];
  const thread: JudgingThread = async ({ keys, messages, signatures }) => {
    if (keys.length === 0) return new Uint8Array();
    const starts = [0, ...messages.ends];
    lists.push(keys.map((_, index) => messages.bytes[starts[index] ?? 0] ?? -1));
    await new Promise<void>((resolve) => held.push(resolve));
    return Uint8Array.from(keys, (jwk, index) => {
      const message = messages.bytes.subarray(starts[index], messages.ends[index]);
      return nativeCrypto.verify(jwk, message, signatures.subarray(64 * index, 64 * index + 64)) ? 1 : 0;
    });
  };
  const release = (): void => held.splice(0, 1)[0]?.();
  return { thread, lists, held, release };
}

/** A verifier whose thread has started, after a turn in which only one asked. */
async function readyVerifier(thread: JudgingThread, isThere?: () => boolean) {
  const judge = createListVerifier(thread, isThere);
  await judgeAll(judge, await signedMessages(5));
  await judgeAll(judge, await signedMessages(1));
  await turnEnd();
  return judge;
}

async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await turnEnd();
}

/** What is judged once the thread gives its lists back, one in each turn. */
async function releasing<T>(release: () => void, judged: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = judged.finally(() => {
    isSettled = true;
  });
  while (!isSettled) {
    release();
    await turnEnd();
  }
  return settled;
}

describe("a verifier of lists", () => {
  it("says what the native port says, before its thread has started and in it, however many ask (V1, V2)", async () => {
    const judge = createListVerifier();
    const all = await signedMessages(200);
    for (const count of [1, 3, 40, 200, 200]) {
      const some = all.slice(0, count);
      expect(await judgeAll(judge, some)).toEqual(expectedOf(some));
    }
  });

  it("has a thread that judges every list alike (V1)", async () => {
    const all = await signedMessages(100);
    for (const some of [all, all.slice(0, 1), []]) {
      const verdicts = await judgeInThread(packed(some));
      expect(Array.from(verdicts, (verdict) => verdict === 1)).toEqual(expectedOf(some));
    }
  });

  it("judges whoever is alone at once", async () => {
    const { thread, lists } = heldThread();
    const judge = await readyVerifier(thread);
    for (const { jwk, message, signature } of await signedMessages(3)) {
      expect(judge("a", jwk, message, signature)).toBe(nativeCrypto.verify(jwk, message, signature));
      await turnEnd();
    }
    expect(lists).toEqual([]);
  });

  it("judges the others of a turn in lists, of which two are in the thread at once", async () => {
    const { thread, lists, release } = heldThread();
    const judge = await readyVerifier(thread);
    const all = await signedMessages(120);
    const verdicts = judgeAll(judge, all);
    await turnEnd();
    await turnEnd();
    expect(lists.map(({ length }) => length)).toEqual([32, 32]);
    expect(await releasing(release, verdicts)).toEqual(expectedOf(all));
    expect(lists.map(({ length }) => length)).toEqual([32, 32, 32, 23]);
  });

  it("lets an address that asks once wait for no more than the lists in the thread and one more, whoever asks how often (G4)", async () => {
    const { thread, lists, release } = heldThread();
    const judge = await readyVerifier(thread);
    const all = await signedMessages(250);
    const [other, many] = [all.slice(249), all.slice(0, 249)];
    const flood = judgeAll(judge, many, "flooder");
    await turnEnd();
    const asked = judgeAll(judge, other, "honest");
    release();
    await turnsUntil(() => lists.length === 3);
    expect(lists[2]).toContain(249);
    expect(await releasing(release, asked)).toEqual(expectedOf(other));
    expect(await releasing(release, flood)).toEqual(expectedOf(many));
  });

  it.each<[string, JudgingThread]>([
    ["ends", async () => Promise.reject(new Error("the thread ended"))],
    [
      "ends after it has started",
      async ({ keys }) => (keys.length === 0 ? new Uint8Array() : Promise.reject(new Error("ended"))),
    ],
    ["forgets some", async () => new Uint8Array()],
  ])("judges here what its thread did not, because it %s (V2)", async (_why, thread) => {
    const judge = await readyVerifier(thread);
    const all = await signedMessages(100);
    for (let times = 0; times < 3; times += 1) expect(await judgeAll(judge, all)).toEqual(expectedOf(all));
  });

  it("judges here while a thread that was ended, because nobody used it, starts again (V2)", async () => {
    const { thread, lists } = heldThread();
    let isThere = true;
    const judge = await readyVerifier(thread, () => isThere);
    isThere = false;
    const all = await signedMessages(40);
    expect(await judgeAll(judge, all)).toEqual(expectedOf(all));
    expect(lists).toEqual([]);
  });

  it("refuses signatures of another length", async () => {
    const judge = createListVerifier();
    const [one] = await signedMessages(2);
    if (one === undefined) throw new Error("two were signed");
    const wrong = [one.signature.slice(1), Uint8Array.of(...one.signature, 0), new Uint8Array()];
    expect(await Promise.all(wrong.map((signature) => judge("a", one.jwk, one.message, signature)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});
