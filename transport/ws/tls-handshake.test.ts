import { createSecretKey } from "node:crypto";
import { describe, expect, it } from "vitest";
import { createCaller, createReceiver } from "./handshake.ts";
import type { HandshakeRefusal, Introduction, NodeIdentity } from "./hello.ts";
import { createTlsCaller, createTlsReceiver } from "./wire.ts";

const introduction = (incarnation: string, more: Partial<Introduction> = {}): Introduction => ({
  cluster: "c",
  protocol: { min: 1, max: 1 },
  self: { incarnation, region: `region of ${incarnation}`, address: `${incarnation}:1` },
  ...more,
});
const anybody = (): null => null;

function talk(
  caller: Introduction,
  receiver: Introduction,
  {
    expected = receiver.self.incarnation,
    judge = anybody as (who: NodeIdentity) => HandshakeRefusal | null,
  } = {},
) {
  const [one, other] = [createTlsCaller(caller, expected), createTlsReceiver(receiver, judge)];
  const heard = other.take(one.opening ?? "");
  if (heard.refused !== undefined) return { by: "receiver", why: heard.refused };
  const answered = one.take(heard.say ?? "");
  if (answered.refused !== undefined) return { by: "caller", why: answered.refused };
  return { caller: answered.established, receiver: heard.established };
}

describe("the handshake over TLS", () => {
  it("tells each side who the other is, in one text each, with neither nonce nor proof", () => {
    const [a, b] = [introduction("a"), introduction("b")];
    expect(talk(a, b)).toEqual({
      caller: { peer: b.self, protocol: 1, keys: null },
      receiver: { peer: a.self, protocol: 1, keys: null },
    });
    expect(JSON.parse(createTlsCaller(a, "b").opening ?? "")).toEqual({
      svc_transport: 1,
      over: "tls",
      cluster: "c",
      ...a.self,
      protocol_min: 1,
      protocol_max: 1,
      to: "b",
    });
  });

  it("refuses another cluster, another incarnation and no common version (I1, I2)", () => {
    expect(talk(introduction("a", { cluster: "d" }), introduction("b"))).toEqual({
      by: "receiver",
      why: "cluster",
    });
    expect(talk(introduction("a"), introduction("b"), { expected: "z" })).toEqual({
      by: "receiver",
      why: "incarnation",
    });
    const later = { protocol: { min: 2, max: 3 } };
    expect(talk(introduction("a", later), introduction("b"))).toEqual({ by: "receiver", why: "protocol" });
    const caller = createTlsCaller(introduction("a"), "b");
    const welcome = { ...introduction("b").self, protocol_min: 1, protocol_max: 1 };
    expect(caller.take(JSON.stringify({ ...welcome, incarnation: "z" }))).toEqual({ refused: "incarnation" });
    expect(caller.take(JSON.stringify({ ...welcome, protocol_min: 2, protocol_max: 2 }))).toEqual({
      refused: "protocol",
    });
    expect(
      talk(
        introduction("a", { protocol: { min: 1, max: 5 } }),
        introduction("b", { protocol: { min: 2, max: 3 } }),
      ),
    ).toMatchObject({ caller: { protocol: 3 }, receiver: { protocol: 3 } });
  });

  it("asks who the caller is before it welcomes it (I3)", () => {
    const judged: NodeIdentity[] = [];
    const judge = (who: NodeIdentity): HandshakeRefusal => {
      judged.push(who);
      return "address";
    };
    expect(talk(introduction("a"), introduction("b"), { judge })).toEqual({ by: "receiver", why: "address" });
    expect(judged).toEqual([introduction("a").self]);
  });

  it("is never mistaken for the keyed one (I4)", () => {
    const keyed = { ...introduction("a"), secret: createSecretKey(new Uint8Array(32).fill(1)) };
    expect(
      createTlsReceiver(introduction("b"), anybody).take(createCaller(keyed, "b").opening ?? ""),
    ).toEqual({ refused: "malformed" });
    const asksForKeys = createReceiver({ ...keyed, ...introduction("b") });
    expect(asksForKeys.take(createTlsCaller(introduction("a"), "b").opening ?? "")).toEqual({
      refused: "malformed",
    });
  });

  it.each(["", "null", "[]", "{", '{"svc_transport":1}', '{"svc_transport":1,"over":"tls"}'])(
    "refuses %j, from either side",
    (text) => {
      expect(createTlsReceiver(introduction("b"), anybody).take(text)).toEqual({ refused: "malformed" });
      expect(createTlsCaller(introduction("a"), "b").take(text)).toEqual({ refused: "malformed" });
    },
  );

  it.each([
    { incarnation: "" },
    { region: null },
    { address: "x".repeat(257) },
    { protocol_min: 0 },
    { svc_transport: 2 },
    { over: "x" },
  ])("refuses a hello with %j", (members) => {
    const hello = JSON.parse(createTlsCaller(introduction("a"), "b").opening ?? "") as object;
    const step = createTlsReceiver(introduction("b"), anybody).take(JSON.stringify({ ...hello, ...members }));
    expect(step).toEqual({ refused: "malformed" });
  });
});
