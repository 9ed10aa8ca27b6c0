import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type Credentials, createCaller, createReceiver, type Proven } from "./handshake.ts";
import type { HandshakeParty, HandshakeRefusal } from "./hello.ts";
import { openFrame, sealFrame } from "./messages.ts";

const secret = createSecretKey(new Uint8Array(32).fill(1));
const credentials = (incarnation: string, more: Partial<Credentials> = {}): Credentials => ({
  cluster: "c",
  secret,
  self: { incarnation, region: `region of ${incarnation}`, address: `${incarnation}:1` },
  protocol: { min: 1, max: 1 },
  ...more,
});

interface Talk {
  /** The texts that were sent, starting with the caller's. */
  readonly said: readonly string[];
  readonly caller: Proven | null;
  readonly receiver: Proven | null;
  readonly refused: { readonly by: "caller" | "receiver"; readonly why: HandshakeRefusal } | null;
}

/** Lets two sides exchange their messages; `change` may alter each one on the way. */
function talk(
  caller: HandshakeParty<Proven>,
  receiver: HandshakeParty<Proven>,
  change: (text: string, index: number) => string = (text) => text,
): Talk {
  const said: string[] = [];
  const found: { caller: Proven | null; receiver: Proven | null } = {
    caller: null,
    receiver: null,
  };
  let next = caller.opening;
  for (let turn = 0; next !== null; turn += 1) {
    said.push(next);
    const by = turn % 2 === 0 ? "receiver" : "caller";
    const step = (by === "receiver" ? receiver : caller).take(change(next, turn));
    if (step.refused !== undefined) return { said, ...found, refused: { by, why: step.refused } };
    found[by] = step.established;
    next = step.say;
  }
  return { said, ...found, refused: null };
}

const good = (): Talk => talk(createCaller(credentials("a"), "b"), createReceiver(credentials("b")));

describe("the handshake", () => {
  it("tells each side who the other is, and gives both the keys of both directions", () => {
    const { caller, receiver, refused } = good();
    expect(refused).toBeNull();
    expect(caller).toMatchObject({ peer: credentials("b").self, protocol: 1 });
    expect(receiver).toMatchObject({ peer: credentials("a").self, protocol: 1 });
    if (caller === null || receiver === null) throw new Error("unreachable");
    const out = sealFrame(caller.keys.sending, 1, "[1]");
    expect(openFrame(receiver.keys.receiving, 1, out)).toEqual([1]);
    expect(openFrame(caller.keys.receiving, 1, sealFrame(receiver.keys.sending, 1, "[2]"))).toEqual([2]);
    // H6: a frame of one direction is meaningless in the other, and on any other connection.
    expect(openFrame(caller.keys.receiving, 1, out)).toBeNull();
    expect(openFrame(good().receiver?.keys.receiving ?? secret, 1, out)).toBeNull();
  });

  it("refuses whoever has another secret, on both sides", () => {
    const other = { secret: createSecretKey(new Uint8Array(32).fill(2)) };
    const asCaller = talk(createCaller(credentials("a", other), "b"), createReceiver(credentials("b")));
    expect(asCaller.refused).toEqual({ by: "receiver", why: "stranger" });
    const receiver = createReceiver(credentials("b"));
    receiver.take(createCaller(credentials("a", other), "b").opening ?? "");
    for (const said of [good().said[2] ?? "", '{"proofs":[""]}', '{"proofs":"x"}', "{}"])
      expect(receiver.take(said)).toEqual({ refused: "stranger" });
    // A receiver that accepts everybody is exposed by its own proof.
    const caller = createCaller(credentials("a"), "b");
    const fooled = createReceiver(credentials("b", other));
    const challenge = fooled.take(caller.opening ?? "");
    if (challenge.refused !== undefined) throw new Error(challenge.refused);
    expect(caller.take(challenge.say ?? "")).toHaveProperty("say");
    for (const said of [good().said[3] ?? "", '{"proof":""}'])
      expect(caller.take(said)).toEqual({ refused: "stranger" });
  });

  it("H8: nobody gets a proof of a node by knocking, whatever he knows but the secret", () => {
    const { said } = good();
    expect(said).toHaveLength(4);
    expect(said.map((text) => /proof/.test(text))).toEqual([false, false, true, true]);
    const receiver = createReceiver(credentials("b"));
    const challenge = receiver.take(said[0] ?? "");
    expect(JSON.stringify(challenge)).not.toContain("proof");
    expect(JSON.stringify(receiver.take(said[2] ?? ""))).not.toContain("proof");
  });

  it("refuses a caller that has proven itself and is judged to be another", () => {
    const judged: unknown[] = [];
    const receiver = createReceiver(credentials("b"), (caller) => {
      judged.push(caller);
      return "address";
    });
    const { refused, said } = talk(createCaller(credentials("a"), "b"), receiver);
    expect([refused, judged]).toEqual([{ by: "receiver", why: "address" }, [credentials("a").self]]);
    expect(said).toHaveLength(3);
  });

  it("H7: goes on in every order in which nodes change their secret, one after the other", () => {
    const [old, next] = [secret, createSecretKey(new Uint8Array(32).fill(3))];
    const steps = [
      { secret: old },
      { secret: old, alsoAccepted: next },
      { secret: next, alsoAccepted: old },
      { secret: next },
    ];
    const met = steps.map((caller) =>
      steps.map((receiver) => {
        const sides = talk(
          createCaller(credentials("a", caller), "b"),
          createReceiver(credentials("b", receiver)),
        );
        if (sides.caller === null || sides.receiver === null) return sides.refused;
        const out = sealFrame(sides.caller.keys.sending, 1, "[1]");
        return openFrame(sides.receiver.keys.receiving, 1, out);
      }),
    );
    const stranger = { by: "receiver", why: "stranger" };
    // Nodes one step apart, or at the same step, accept each other in both directions; those with nothing in common do not.
    expect(met).toEqual([
      [[1], [1], stranger, stranger],
      [[1], [1], [1], [1]],
      [[1], [1], [1], [1]],
      [stranger, stranger, [1], [1]],
    ]);
  });

  it("refuses another cluster", () => {
    const caller = createCaller(credentials("a", { cluster: "d" }), "b");
    expect(talk(caller, createReceiver(credentials("b"))).refused).toEqual({
      by: "receiver",
      why: "cluster",
    });
  });

  it("H1: refuses a recorded handshake, whichever side repeats it", () => {
    const { said } = good();
    const receiver = createReceiver(credentials("b"));
    expect(receiver.take(said[0] ?? "")).toHaveProperty("say");
    expect(receiver.take(said[2] ?? "")).toEqual({ refused: "stranger" });
    const caller = createCaller(credentials("a"), "b");
    expect(caller.take(said[1] ?? "")).toHaveProperty("say");
    expect(caller.take(said[3] ?? "")).toEqual({ refused: "stranger" });
  });

  it("H2: refuses its own words sent back to it", () => {
    // A stranger answers a caller's hello with what that same node, which the stranger calls, says to the same nonce.
    const caller = createCaller(credentials("a"), "a");
    const hello = JSON.parse(caller.opening ?? "") as Record<string, unknown>;
    const itself = createReceiver(credentials("a"));
    const step = itself.take(JSON.stringify({ ...hello, incarnation: "x" }));
    if (step.refused !== undefined) throw new Error(step.refused);
    const proven = caller.take(step.say ?? "");
    if (proven.refused !== undefined) throw new Error(proven.refused);
    expect(itself.take(proven.say ?? "")).toEqual({ refused: "stranger" });
    // And a caller receives its own proof as the receiver's.
    const [proof] = (JSON.parse(proven.say ?? "") as { readonly proofs: readonly string[] }).proofs;
    expect(caller.take(JSON.stringify({ proof }))).toEqual({ refused: "stranger" });
  });

  it.each([
    [0, "nonce", "A".repeat(43)],
    [0, "incarnation", "z"],
    [0, "region", "z"],
    [0, "address", "z:1"],
    [0, "protocol_min", 1],
    [0, "protocol_max", 2],
    [1, "nonce", "A".repeat(43)],
    [1, "region", "z"],
    [1, "address", "z:1"],
    [1, "protocol_min", 1],
    [1, "protocol_max", 2],
    [2, "proofs", ["A".repeat(43)]],
    [3, "proof", "A".repeat(43)],
  ])("H3: notices a changed member (message %i, %s)", (index, member, value) => {
    const range = { protocol: { min: 2, max: 3 } };
    const change = (text: string, at: number): string =>
      at === index ? JSON.stringify({ ...(JSON.parse(text) as object), [member]: value }) : text;
    const { refused } = talk(
      createCaller(credentials("a", range), "b"),
      createReceiver(credentials("b", range)),
      change,
    );
    expect(refused?.why).toBe("stranger");
  });

  it("H3, H4: a receiver that is renamed on the way is not the one that is meant", () => {
    const change = (text: string, at: number): string =>
      at === 1 ? text.replace('"incarnation":"b"', '"incarnation":"z"') : text;
    const { refused } = talk(createCaller(credentials("a"), "b"), createReceiver(credentials("b")), change);
    expect(refused).toEqual({ by: "caller", why: "incarnation" });
  });

  it("H4: leaves another incarnation alone, and is left alone by one that is not meant", () => {
    const asReceiver = talk(createCaller(credentials("a"), "c"), createReceiver(credentials("b")));
    expect(asReceiver.refused).toEqual({ by: "receiver", why: "incarnation" });
    // A receiver that answers although another one is meant.
    const change = (text: string, at: number): string =>
      at === 0 ? text.replace('"to":"c"', '"to":"b"') : text;
    const asCaller = talk(createCaller(credentials("a"), "c"), createReceiver(credentials("b")), change);
    expect(asCaller.refused).toEqual({ by: "caller", why: "incarnation" });
  });

  it.each([
    [{ min: 1, max: 1 }, { min: 1, max: 2 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 1 }, 1],
    [{ min: 1, max: 2 }, { min: 1, max: 2 }, 2],
    [{ min: 2, max: 4 }, { min: 1, max: 3 }, 3],
  ])("H5: chooses the highest common version of %j and %j", (one, other, expected) => {
    const { caller, receiver } = talk(
      createCaller(credentials("a", { protocol: one }), "b"),
      createReceiver(credentials("b", { protocol: other })),
    );
    expect([caller?.protocol, receiver?.protocol]).toEqual([expected, expected]);
  });

  it("H5: there is no connection without a common version", () => {
    const { refused } = talk(
      createCaller(credentials("a", { protocol: { min: 2, max: 2 } }), "b"),
      createReceiver(credentials("b")),
    );
    expect(refused).toEqual({ by: "receiver", why: "protocol" });
  });

  it("ignores members that it does not know", () => {
    const change = (text: string): string => JSON.stringify({ ...(JSON.parse(text) as object), later: [1] });
    const { caller, receiver } = talk(
      createCaller(credentials("a"), "b"),
      createReceiver(credentials("b")),
      change,
    );
    expect(caller).not.toBeNull();
    expect(receiver).not.toBeNull();
  });

  it.each(["", "null", "[]", "7", "{", '{"svc_transport":1}', '{"svc_transport":2}', '{"svc_transport":3}'])(
    "refuses %j, from either side",
    (text) => {
      expect(createReceiver(credentials("b")).take(text)).toEqual({ refused: "malformed" });
      expect(createCaller(credentials("a"), "b").take(text)).toEqual({ refused: "malformed" });
    },
  );

  it.each([
    { nonce: "short" },
    { nonce: 7 },
    { incarnation: "" },
    { incarnation: "x".repeat(257) },
    { region: null },
    { address: null },
    { address: "x".repeat(257) },
    { protocol_min: 0 },
    { protocol_max: 256 },
    { protocol_min: 2, protocol_max: 1 },
    { protocol_min: 1.5 },
    { svc_transport: 2 },
  ])("refuses a hello with %j", (members) => {
    const hello = JSON.parse(createCaller(credentials("a"), "b").opening ?? "") as object;
    const step = createReceiver(credentials("b")).take(JSON.stringify({ ...hello, ...members }));
    expect(step).toEqual({ refused: "malformed" });
  });
});
