import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import type { IntegrationKeyProtocol } from "../messages/integration-key.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { integrationKeyActor } from "./definition.ts";

const open = () => driveActor(integrationKeyActor, "key");
const caps = { records_per_hour: 100, bytes_per_day: 1_000 };
const small = { records: 1, bytes: 1, caps };
const charge = (seq: number, push: string, records = 10, bytes = 100, attempt = "r") => ({
  type: "push.charge" as const,
  seq,
  push_id: push,
  digest: `digest of ${push}`,
  attempt,
  records,
  bytes,
  caps: { records_per_hour: 1_000, bytes_per_day: 10_000 },
});

describe("nonces (Q1)", () => {
  const nonce = "n".repeat(16);
  const claim = (key: ReturnType<typeof open>, expiresMs: number) =>
    key.send({ type: "nonce.claim", nonce, expires_ms: expiresMs });

  it("are claimed once until their signature expires, and are free from that moment on", () => {
    const key = open();
    const expiresMs = key.nowMs + 1_000;
    expect(claim(key, expiresMs)).toEqual({ status: "claimed" });
    expect(claim(key, expiresMs)).toEqual({ status: "reused" });
    key.nowMs = expiresMs - 1;
    expect(claim(key, expiresMs + 300_000)).toEqual({ status: "reused" });
    key.nowMs = expiresMs;
    expect(claim(key, expiresMs + 300_000)).toEqual({ status: "claimed" });
    expect(claim(key, expiresMs + 300_000)).toEqual({ status: "reused" });
  });

  it("are never claimed for a signature that has expired here, though it still lives by the asking node's clock", () => {
    const key = open();
    const expiresMs = key.nowMs + 1_000;
    claim(key, expiresMs);
    key.nowMs = expiresMs;
    expect(claim(key, expiresMs)).toEqual({ status: "expired" });
  });

  it("are not claimed again after a move to a node whose clock is behind", () => {
    const key = open();
    const expiresMs = key.nowMs + 1_000;
    claim(key, expiresMs);
    key.nowMs = expiresMs + 30_000;
    claim(key, expiresMs + 60_000);
    key.nowMs = expiresMs - 1;
    expect(claim(key, expiresMs)).toEqual({ status: "reused" });
  });

  it("are kept longer than they are held, for a store forgets by its own clock", () => {
    const key = open();
    const expiresMs = key.nowMs + 1_000;
    claim(key, expiresMs);
    const rows = [20, 21, 22, 23].flatMap((rt) => key.rows(rt));
    expect(rows).toHaveLength(1);
    expect(rows[0]?.expiresAtMs).toBeGreaterThanOrEqual(expiresMs + 60_000);
  });

  it("are claimed for as long as any signature is valid by another clock, and no longer (check 3)", () => {
    const key = open();
    expect(claim(key, key.nowMs + 390_001)).toEqual({ status: "expired" });
    expect(claim(key, key.nowMs + 390_000)).toEqual({ status: "claimed" });
  });

  it("of one key say nothing of another nonce", () => {
    const key = open();
    const claim = (nonce: string) => key.send({ type: "nonce.claim", nonce, expires_ms: key.nowMs + 1_000 });
    expect(claim("a".repeat(16))).toEqual({ status: "claimed" });
    expect(claim("b".repeat(16))).toEqual({ status: "claimed" });
  });
});

describe("seq and charges (Q2)", () => {
  it("charges a pair once and answers its repetition", () => {
    const key = open();
    expect(key.send(charge(5, "p5"))).toEqual({ status: "accepted" });
    expect(key.send(charge(5, "p5"))).toEqual({ status: "known" });
    expect(key.snapshot.context.recordsThisHour.used).toBe(10);
    expect(key.snapshot.context.lastSeq).toBe(5);
  });

  it("takes any seq first, zero too, for none was accepted that it must exceed", () => {
    const key = open();
    expect(key.send({ type: "seq.read" })).toEqual({ last_seq: null });
    expect(key.send({ type: "seq.check", seq: 0, push_id: "p0", charge: small })).toEqual({
      status: "accepted",
    });
    expect(key.send(charge(0, "p0"))).toEqual({ status: "accepted" });
    expect(key.send(charge(0, "p0"))).toEqual({ status: "known" });
    expect(key.send(charge(0, "other"))).toEqual({ status: "seq_not_increasing", last_seq: 0 });
  });

  it("refuses another push under a used or lower seq, and still knows an older push", () => {
    const key = open();
    key.send(charge(5, "p5"));
    expect(key.send(charge(5, "other"))).toEqual({ status: "seq_not_increasing", last_seq: 5 });
    expect(key.send(charge(4, "p4"))).toEqual({ status: "seq_not_increasing", last_seq: 5 });
    expect(key.send(charge(9, "p9"))).toEqual({ status: "accepted" });
    expect(key.send(charge(5, "p5"))).toEqual({ status: "known" });
    expect(key.send({ type: "seq.read" })).toEqual({ last_seq: 9 });
    expect(key.send({ type: "seq.check", seq: 5, push_id: "p5", charge: small })).toEqual({
      status: "known",
    });
    expect(key.send({ type: "seq.check", seq: 9, push_id: "x", charge: small })).toEqual({
      status: "seq_not_increasing",
      last_seq: 9,
    });
  });
});

describe("the charge of a push that was not admitted (Q5)", () => {
  const uncharge = (push_id: string, attempt = "r") => ({ type: "push.uncharge", push_id, attempt }) as const;
  const usedOf = ({ snapshot: { context } }: ReturnType<typeof open>) => [
    context.recordsThisHour.used,
    context.bytesToday.used,
  ];

  it("is given back with its seq, so that another push takes both", () => {
    const key = open();
    key.send(charge(0, "p0", 5, 50));
    key.send(charge(1, "p1"));
    expect(key.send(uncharge("p1"))).toEqual({ status: "done" });
    expect(usedOf(key)).toEqual([5, 50]);
    expect(key.send({ type: "seq.check", seq: 1, push_id: "p1", charge: small })).toEqual({
      status: "accepted",
    });
    const check = { type: "caps.check", digest: "digest of p1", content_length: 1, caps } as const;
    expect(key.send(check)).toMatchObject({ known_push_id: null });
    expect(key.send(charge(1, "other"))).toEqual({ status: "accepted" });
    expect(key.send(charge(0, "more"))).toEqual({ status: "seq_not_increasing", last_seq: 1 });
    // Told again, it is what it was.
    key.send(uncharge("p1"));
    expect(usedOf(key)).toEqual([15, 150]);
  });

  it("falls back to the last one that stands, in whatever order charges are taken back", () => {
    for (const order of [
      ["p5", "p6"],
      ["p6", "p5"],
    ]) {
      const key = open();
      for (const seq of [4, 5, 6]) key.send(charge(seq, `p${seq}`));
      for (const push of order) key.send(uncharge(push));
      expect(key.send(charge(4, "x"))).toEqual({ status: "seq_not_increasing", last_seq: 4 });
      expect(key.send(charge(5, "x"))).toEqual({ status: "accepted" });
    }
    const first = open();
    first.send(charge(0, "p0"));
    first.send(uncharge("p0"));
    expect(first.send(charge(0, "x"))).toEqual({ status: "accepted" });
  });

  it("never frees the seq of a push that stands, however many are taken back at once", () => {
    const key = open();
    for (let seq = 1; seq <= 12; seq += 1) key.send(charge(seq, `p${seq}`));
    for (let seq = 12; seq >= 2; seq -= 1) key.send(uncharge(`p${seq}`));
    expect(key.send(charge(1, "x"))).toMatchObject({ status: "seq_not_increasing" });
    expect(usedOf(key)).toEqual([10, 100]);
  });

  it("stays if another request with the same batch relied on it since", () => {
    const key = open();
    key.send(charge(1, "p1", 10, 100, "first"));
    expect(key.send(charge(1, "p1", 10, 100, "second"))).toEqual({ status: "known" });
    key.send(uncharge("p1", "first"));
    expect(usedOf(key)).toEqual([10, 100]);
    key.send(uncharge("p1", "second"));
    expect(usedOf(key)).toEqual([0, 0]);
  });

  it("is not taken from a later window, and is given back for a retired key as well", () => {
    const key = open();
    key.send(charge(1, "p1", 10, 100));
    key.nowMs += 3_600_000;
    key.send(charge(2, "p2", 7, 70));
    key.send({ type: "key.retire" });
    key.send(uncharge("p1"));
    expect(usedOf(key)).toEqual([7, 70]);
  });
});

describe("caps", () => {
  const check = (key: ReturnType<typeof open>, digest: string, length: number) =>
    key.send({ type: "caps.check", digest, content_length: length, caps });

  it("refuses when the records of the hour are used up, until the next hour", () => {
    const key = open();
    key.send(charge(1, "p1", 100, 1));
    expect(check(key, "new", 1)).toEqual({
      status: "over",
      cap: "records_per_hour",
      left: 0,
      retry_after_seconds: 3_600,
    });
    key.nowMs += 3_599_999;
    expect(check(key, "new", 1)).toMatchObject({ status: "over", retry_after_seconds: 1 });
    key.nowMs += 1;
    expect(check(key, "new", 1)).toEqual({ status: "within", known_push_id: null, bytes_left: 999 });
  });

  it("counts the announced length against the bytes of the day", () => {
    const key = open();
    key.send(charge(1, "p1", 1, 900));
    expect(check(key, "new", 100)).toMatchObject({ status: "within" });
    expect(check(key, "new", 101)).toMatchObject({ status: "over", cap: "bytes_per_day" });
  });

  it("are exact: what has no room in them is refused whole, before and when it is charged, and charges nothing", () => {
    const key = open();
    for (const digest of ["a", "b", "c"]) expect(check(key, digest, 400)).toMatchObject({ status: "within" });
    const judged = (records: number, bytes: number) =>
      key.send({ type: "seq.check", seq: 9, push_id: "p9", charge: { records, bytes, caps } });
    const charged = (seq: number, records: number, bytes: number) =>
      key.send({ ...charge(seq, `p${seq}`, records, bytes), caps });
    expect(charged(1, 99, 400)).toEqual({ status: "accepted" });
    for (const asked of [charged, (_seq: number, ...of: [number, number]) => judged(...of)])
      expect(asked(2, 2, 400)).toMatchObject({ status: "over", cap: "records_per_hour", left: 1 });
    expect(judged(1, 600)).toEqual({ status: "accepted" });
    expect(charged(2, 1, 400)).toEqual({ status: "accepted" });
    expect(charged(3, 1, 100)).toMatchObject({ status: "over", cap: "records_per_hour", left: 0 });
    expect(charged(1, 99, 400)).toEqual({ status: "known" });
    key.nowMs += 3_600_000;
    expect(charged(3, 101, 1)).toMatchObject({ status: "over", cap: "records_per_hour", left: 100 });
    expect(charged(3, 1, 201)).toMatchObject({ status: "over", cap: "bytes_per_day", left: 200 });
    expect(charged(3, 1, 200)).toEqual({ status: "accepted" });
  });

  it("lets the body of a charged push through, so that it can be resumed", () => {
    const key = open();
    key.send(charge(1, "p1", 100, 1_000));
    expect(check(key, "digest of p1", 500)).toEqual({ status: "within", known_push_id: "p1", bytes_left: 0 });
  });
});

describe("idempotency (Q3, Q4)", () => {
  type Key = ReturnType<typeof open>;
  const begin = (digest: string, token = "a") =>
    ({ type: "idempotency.begin", scope: "s", digest, token }) as const;
  const renew = (token = "a") => ({ ...begin("d", token), renewal: true });
  const settle = {
    type: "idempotency.settle",
    scope: "s",
    digest: "d",
    answer: { status: 200, headers: {}, body: "{}" },
  } as const;
  const release = (token = "a") => ({ type: "idempotency.release", scope: "s", token }) as const;
  const statusOf = (key: Key, command: CommandOf<IntegrationKeyProtocol, "idempotency.begin">) =>
    key.send(command).status;

  it("is fresh, in progress, then replayed", () => {
    const key = open();
    expect(key.send(begin("d"))).toEqual({ status: "fresh" });
    expect(key.send(begin("d", "b"))).toEqual({ status: "in_progress" });
    key.send(settle);
    expect(key.send(begin("d", "b"))).toEqual({ status: "replay", answer: settle.answer });
  });

  it("is fresh for the same worker who asks again: its question came twice", () => {
    const key = open();
    expect([statusOf(key, begin("d")), statusOf(key, begin("d"))]).toEqual(["fresh", "fresh"]);
    expect(statusOf(key, begin("d", "b"))).toBe("in_progress");
  });

  it("conflicts with another request under the same key, before and after the answer", () => {
    const key = open();
    key.send(begin("d"));
    expect(key.send(begin("e", "b"))).toEqual({ status: "conflict" });
    key.send(settle);
    expect(key.send(begin("e", "b"))).toEqual({ status: "conflict" });
  });

  it.each([6_000, 60_000])("stays in progress for a worker that is under way for %i ms and renews", (ms) => {
    const key = open();
    key.send(begin("d"));
    for (let passed = 0; passed < ms; passed += 2_000) {
      key.nowMs += 2_000;
      expect(statusOf(key, begin("d", "b"))).toBe("in_progress");
      expect(statusOf(key, renew())).toBe("fresh");
      expect(statusOf(key, begin("e", "b"))).toBe("conflict");
    }
    key.send(settle);
    expect(statusOf(key, begin("d", "b"))).toBe("replay");
  });

  it("ends six seconds after a worker renewed last: the same request goes on, another is refused for 24 hours", () => {
    const key = open();
    key.send(begin("d"));
    key.nowMs += 2_000;
    key.send(renew());
    key.nowMs += 5_999;
    expect(statusOf(key, begin("d", "b"))).toBe("in_progress");
    key.nowMs += 1;
    expect(statusOf(key, begin("e", "c"))).toBe("conflict");
    key.nowMs += 86_400_000 - 6_000 - 1;
    expect(statusOf(key, begin("e", "c"))).toBe("conflict");
    expect(statusOf(key, begin("d", "b"))).toBe("fresh");
    // The worker that was presumed dead has lost its claim to the one that took it over, and can no longer renew it.
    expect(statusOf(key, renew("a"))).toBe("in_progress");
    expect(statusOf(key, renew("b"))).toBe("fresh");
  });

  it("is forgotten 24 hours after a worker that left no answer was heard of last", () => {
    const key = open();
    key.send(begin("d"));
    key.nowMs += 86_400_000;
    expect(statusOf(key, begin("e", "b"))).toBe("fresh");
  });

  it("dies with its activation, unless its worker renews it in the next one; its request and its answer do not", () => {
    const key = open();
    key.send(begin("d"));
    key.epoch += 1;
    expect(statusOf(key, begin("e", "b"))).toBe("conflict");
    expect(statusOf(key, renew())).toBe("fresh");
    expect(statusOf(key, begin("d", "b"))).toBe("in_progress");
    key.epoch += 1;
    expect(statusOf(key, begin("d", "b"))).toBe("fresh");
    expect(statusOf(key, renew("a"))).toBe("in_progress");
    key.send(settle);
    key.epoch += 1;
    expect(statusOf(key, begin("d", "c"))).toBe("replay");
  });

  it("is not begun by a renewal that comes after all is over", () => {
    const key = open();
    key.send(begin("d"));
    key.send(release());
    expect(statusOf(key, renew())).toBe("in_progress");
    expect(statusOf(key, begin("e", "b"))).toBe("fresh");
  });

  it("is released by its own worker only", () => {
    const key = open();
    key.send(begin("d"));
    key.nowMs += 6_000;
    key.send(begin("d", "b"));
    key.send(release("a"));
    expect(statusOf(key, begin("d", "c"))).toBe("in_progress");
    key.send(release("b"));
    expect(statusOf(key, begin("e", "c"))).toBe("fresh");
  });

  it("keeps the first answer, although another worker gives one too", () => {
    const key = open();
    key.send(begin("d"));
    key.nowMs += 6_000;
    key.send(begin("d", "b"));
    key.send(settle);
    key.send({ ...settle, answer: { ...settle.answer, body: "later" } });
    expect(key.send(begin("d", "c"))).toEqual({ status: "replay", answer: settle.answer });
  });

  it("is free again once released, and 24 hours after the answer", () => {
    const key = open();
    key.send(begin("d"));
    key.send(release());
    expect(key.send(begin("e"))).toEqual({ status: "fresh" });
    key.send({ ...settle, digest: "e" });
    key.send(release());
    expect(key.send(begin("e"))).toMatchObject({ status: "replay" });
    key.nowMs += 86_400_000;
    expect(key.send(begin("d"))).toEqual({ status: "fresh" });
  });
});

describe("a key that was revoked", () => {
  it("charges nothing any more, and still answers what it has charged", () => {
    const key = open();
    key.send(charge(1, "p1"));
    expect(key.send({ type: "key.retire" })).toEqual({ status: "done" });
    expect(key.snapshot.value).toBe("retired");
    expect(key.send(charge(2, "p2"))).toEqual({ status: "retired" });
    expect(key.snapshot.context).toMatchObject({ lastSeq: 1, recordsThisHour: { used: 10 } });
    expect(key.rows(18)).toHaveLength(2);
    expect(key.send(charge(1, "p1"))).toEqual({ status: "known" });
    expect(key.send({ type: "key.retire" })).toEqual({ status: "done" });
  });
});
