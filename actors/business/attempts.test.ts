import { describe, expect, it } from "vitest";
import { driveActor } from "../actor.fixture.ts";
import { businessUuid, certificateFacts, partyFacts } from "../facts.fixture.ts";
import type { RefusedBatch } from "../messages/admission.ts";
import { businessActor } from "./definition.ts";

const day = 86_400_000;
const pushId = (index: number): string => `bat_${String(index).padStart(24, "0")}`;

function open() {
  const business = driveActor(businessActor, businessUuid);
  // Batches are kept by when they came, from here on.
  business.nowMs = 0;
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}
type Business = ReturnType<typeof open>;

const admit = (business: Business, index: number, receivedAtMs: number | null) =>
  business.send({
    type: "push.admit",
    push_id: pushId(index),
    key_id: "k",
    records: 3,
    may_hold: false,
    plan: null,
    ...(receivedAtMs === null ? {} : { received_at_ms: receivedAtMs }),
  });

const finish = (business: Business, index: number, number: number, receivedAtMs: number) =>
  business.send({
    type: "push.finished",
    push_id: pushId(index),
    chunks: 1,
    ended: { received_at_ms: receivedAtMs, number, counts: { accepted: 1, updated: 0, rejected: 2 } },
  });

const refused = (at_ms: number, id: string): RefusedBatch => ({
  at_ms,
  id,
  category: "seal",
  code: "seal_invalid",
  reason: "hash_mismatch",
  detail: "d",
  type: "products",
  source: "api",
  key_id: "k",
  records: 2,
  push_id: null,
  seq: null,
});

const read = (business: Business, from: { at_ms: number; id: string }, to_ms: number, limit = 100) => {
  const { entries, more } = business.send({ type: "attempts.read", after: from, to_ms, limit });
  return {
    ids: entries.map((each) => (each.kind === "push" ? each.push.id : each.refused.id)),
    more,
    entries,
  };
};
const start = { at_ms: 0, id: "" };
const never = Number.MAX_SAFE_INTEGER;

describe("the pushes of a business by time", () => {
  it("are listed by the commit that numbers them, once however often they are admitted (T1)", () => {
    const business = open();
    const first = admit(business, 1, 1_000);
    expect(first).toMatchObject({ status: "admitted", received_at_ms: 1_000 });
    // The time of the first admission stays.
    expect(admit(business, 1, 9_000)).toEqual(first);
    expect(read(business, start, never).entries).toEqual([
      { kind: "push", push: { at_ms: 1_000, id: pushId(1), number: 1, records: 3, counts: null } },
    ]);
    expect(business.rows(60)[0]?.expiresAtMs).toBe(1_000 + 90 * day);
  });

  it("keep the number under which they were published, though they are admitted again when they are over (T1)", () => {
    const business = open();
    admit(business, 1, 1_000);
    finish(business, 1, 1, 1_000);
    for (const again of [1_000, 2_000]) {
      expect(admit(business, 1, again)).not.toMatchObject({ number: 1 });
      finish(business, 1, 1, 1_000);
    }
    expect(read(business, start, never).entries).toMatchObject([
      { push: { at_ms: 1_000, number: 1, counts: { accepted: 1 } } },
      { push: { at_ms: 2_000, number: 3 } },
    ]);
  });

  it("leave out what was not received as a batch", () => {
    const business = open();
    expect(admit(business, 1, null)).not.toHaveProperty("received_at_ms");
    expect(read(business, start, never)).toEqual({ ids: [], entries: [], more: false });
  });

  it("say how their records ended, where the number is theirs (T2)", () => {
    const business = open();
    admit(business, 1, 1_000);
    finish(business, 1, 7, 1_000);
    finish(business, 1, 1, 2_000);
    finish(business, 2, 1, 1_000);
    expect(read(business, start, never).entries).toMatchObject([{ push: { counts: null } }]);
    finish(business, 1, 1, 1_000);
    const counts = { accepted: 1, updated: 0, rejected: 2 };
    expect(read(business, start, never).entries).toMatchObject([{ push: { records: 3, counts } }]);
    expect(business.rows(60)).toHaveLength(1);
  });

  it("are read in order, from a place to before an instant, beside refused batches", () => {
    const business = open();
    for (const [index, at] of [
      [4, 2_000],
      [1, 1_000],
      [3, 2_000],
      [9, 3_000],
    ] as const)
      admit(business, index, at);
    business.send({ type: "refusal.keep", refused: refused(2_000, "ref_1") });
    const all = [pushId(1), pushId(3), pushId(4), "ref_1", pushId(9)];
    expect(read(business, start, never)).toMatchObject({ ids: all, more: false });
    for (const limit of [1, 2, 3, 4, 5]) {
      const found: string[] = [];
      for (let after = start; ; ) {
        const page = read(business, after, 3_000, limit);
        found.push(...page.ids);
        const last = page.entries.at(-1);
        if (!page.more || last === undefined) break;
        after = last.kind === "push" ? last.push : last.refused;
      }
      expect(found).toEqual(all.slice(0, 4));
    }
  });
});

describe("refused batches", () => {
  it("are kept up to 50 in any hour, beside the pushes (T3)", () => {
    const business = open();
    admit(business, 1, 5_000_000);
    const keep = (index: number, at_ms: number) =>
      business.send({ type: "refusal.keep", refused: refused(at_ms, `ref_${index}`) }).status;
    for (let index = 0; index < 50; index += 1) expect(keep(index, 5_000_000 + index)).toBe("kept");
    expect(keep(50, 5_000_100)).toBe("enough");
    expect(keep(51, 5_000_000 + 3_600_001)).toBe("kept");
    expect(read(business, start, never).ids).toHaveLength(52);
    expect(business.rows(61)[0]?.expiresAtMs).toBe(5_000_000 + 90 * day);
  });

  it("are one however often they are kept", () => {
    const business = open();
    for (const _ of [1, 2, 3]) business.send({ type: "refusal.keep", refused: refused(1_000, "ref_1") });
    expect(read(business, start, never).ids).toEqual(["ref_1"]);
  });
});
