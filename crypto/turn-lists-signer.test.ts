import { setImmediate as turnEnd } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { packMessages } from "../protocol/signed-version.ts";
import { createSigner, generatePrivateJwk } from "./private-jwk.ts";
import { createCoalescingSigner } from "./turn-lists.ts";
import type { SigningThread } from "./worker-signer.ts";

const jwk = generatePrivateJwk("Ed25519");
const plain = createSigner(jwk);

/** Messages of one byte each. */
function messagesOf(first: number, count: number): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => Uint8Array.of(first + index));
}

function signAll(messages: readonly Uint8Array[]): Promise<readonly Uint8Array[]> {
  return plain.signMany(packMessages(messages));
}

/** A signer whose thread returns a list only when the test releases it. */
function heldSigner() {
  const lists: { readonly first: number; readonly length: number }[] = [];
  const held: (() => void)[] = [];
  const thread: SigningThread = async (_key, messages) => {
    lists.push({ first: messages.bytes[0] ?? -1, length: messages.ends.length });
    const signatures = await plain.signMany(messages);
    await new Promise<void>((resolve) => held.push(resolve));
    const joined = new Uint8Array(64 * signatures.length);
    for (const [index, signature] of signatures.entries()) joined.set(signature, 64 * index);
    return joined;
  };
  const giveBack = (): void => {
    for (const resolve of held.splice(0)) resolve();
  };
  return { signer: createCoalescingSigner(jwk, thread), lists, held, giveBack };
}

/** Lets the event loop turn until `condition` holds. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  while (!condition()) await turnEnd();
}

describe("a turn signer", () => {
  it("signs whoever is alone, and few, without the thread", async () => {
    const { signer, lists } = heldSigner();
    const few = messagesOf(0, 3);
    expect([await signer.sign(Uint8Array.of(9))]).toEqual(await signAll([Uint8Array.of(9)]));
    await turnEnd();
    expect(await Promise.all(few.map(signer.sign))).toEqual(await signAll(few));
    expect(lists).toEqual([]);
  });

  it("signs the others of a turn together, and in the next not even the first ahead of them", async () => {
    const { signer, lists, held, giveBack } = heldSigner();
    const [one, two] = [messagesOf(0, 6), messagesOf(10, 6)];
    const first = one.map(signer.sign);
    await turnEnd();
    expect(lists).toEqual([{ first: 1, length: 5 }]);
    const second = two.map(signer.sign);
    await turnsUntil(() => held.length === 1);
    giveBack();
    await turnsUntil(() => lists.length === 2);
    expect(lists[1]).toEqual({ first: 10, length: 6 });
    expect(await Promise.all(first)).toEqual(await signAll(one));
    await turnsUntil(() => held.length === 1);
    giveBack();
    expect(await Promise.all(second)).toEqual(await signAll(two));
  });

  it("gathers while a list is in the thread, but no more than a list (G3)", async () => {
    const { signer, lists, held, giveBack } = heldSigner();
    const all = messagesOf(0, 5).map(signer.sign);
    await turnsUntil(() => held.length === 1);
    all.push(...messagesOf(10, 31).map(signer.sign));
    await turnEnd();
    await turnEnd();
    expect(lists).toEqual([{ first: 1, length: 4 }]);
    all.push(...messagesOf(50, 33).map(signer.sign));
    await turnsUntil(() => held.length === 3);
    expect(lists.slice(1)).toEqual([
      { first: 10, length: 32 },
      { first: 51, length: 32 },
    ]);
    giveBack();
    const expected = await signAll([...messagesOf(0, 5), ...messagesOf(10, 31), ...messagesOf(50, 33)]);
    expect(await Promise.all(all)).toEqual(expected);
  });

  it("signs at once again when the rush is over", async () => {
    const { signer, lists, held, giveBack } = heldSigner();
    const rush = messagesOf(0, 6).map(signer.sign);
    await turnsUntil(() => held.length === 1);
    giveBack();
    await Promise.all(rush);
    for (const message of messagesOf(20, 3)) {
      expect([await signer.sign(message)]).toEqual(await signAll([message]));
      await turnEnd();
    }
    expect(lists.length).toBe(1);
  });

  it("signs a list that its thread did not sign (G1)", async () => {
    const signer = createCoalescingSigner(jwk, async () => {
      throw new Error("no thread");
    });
    const messages = messagesOf(0, 40);
    expect(await Promise.all(messages.map(signer.sign))).toEqual(await signAll(messages));
  });
});
