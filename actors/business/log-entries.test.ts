// What a business's changes tell the log: each thing once, under a hash that anyone who holds it can compute.

import { beforeEach, describe, expect, it } from "vitest";
import { hashOf, sha256, utf8 } from "../../protocol/bytes.ts";
import type { LogEntry } from "../../protocol/log/leaves.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import { certificateFacts, keyFacts, partyFacts, policyFacts, pushSeal } from "../facts.fixture.ts";
import { businessActor } from "./definition.ts";

const uuid = "00000000-0000-4000-8000-000000000001";
let business: ActorHarness<"business">;

function logged(): readonly LogEntry[] {
  const told = business.effects.splice(0);
  return told.flatMap((effect) =>
    effect.kind === "tell" && effect.to.kind === "log-sequencer"
      ? (effect.message as unknown as { readonly entries: readonly LogEntry[] }).entries
      : [],
  );
}

function open(kind: "business" | "ai_company"): void {
  business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts({ uuid, kind }) });
}

const textHash = (text: string): string => hashOf(utf8(text), sha256);

describe("a business tells the log", () => {
  beforeEach(() => open("business"));

  it("its certificates, by their canonical text", () => {
    const certificate = certificateFacts({ uuid, envelope: '{"b":1,"a":2}' });
    business.send({ type: "certificate.issue", certificate, follows: null });
    business.send({ type: "certificate.issue", certificate, follows: null });
    expect(logged()).toEqual([{ leaf: textHash('{"a":2,"b":1}'), leaf_type: "certificate", subject: uuid }]);
  });

  it("each key of its register, once, and not that it ends", () => {
    const key = keyFacts({ key_id: "k" });
    business.send({ type: "key.register", key });
    business.send({ type: "key.register", key });
    business.send({ type: "key.revoke", key_id: "k", revoked_at: "2026", compromised_from: null });
    const event = `{"business_uuid":"${uuid}","event":"key_added","key_id":"k","v":1}`;
    expect(logged()).toEqual([{ leaf: textHash(event), leaf_type: "key_event", subject: uuid }]);
  });

  it("the seals of its AI policies and of its withdrawals and deletions, once each", () => {
    const policy = policyFacts({ version: 1, seal: '{"b":1,"a":2}' });
    business.send({ type: "policy.accept", policy });
    business.send({ type: "policy.accept", policy });
    const seal = (text: string) => ({ leaf: textHash(text), leaf_type: "seal", subject: uuid });
    expect(logged()).toEqual([seal('{"a":2,"b":1}')]);
    const admit = { push_id: "p", key_id: "k", records: 1, may_hold: false, plan: null } as const;
    business.send({ type: "push.admit", ...admit });
    business.send({
      type: "chunk.assign",
      push_id: "p",
      number: 1,
      chunk: 0,
      collection: "products",
      leaves: [{ leaf_index: 0, record_id: "r", hash: "h", business_product_id: "own", listings: {} }],
      refused: [],
      seal: pushSeal,
    });
    for (const action of ["withdraw", "delete"] as const) {
      const sealed = { document: "{}", seal: `{"of":"${action}"}`, received_at: "2026" };
      const command = { record_id: "r", action, at: "", document_hash: action, sealed };
      expect(business.send({ type: "record.remove", ...command })).toMatchObject({ status: "removed" });
      business.send({ type: "record.remove", ...command });
      expect(logged()).toEqual([seal(`{"of":"${action}"}`)]);
    }
    const unknown = { record_id: "x", action: "delete", at: "", document_hash: "x" } as const;
    const sealed = { document: "{}", seal: "{}", received_at: "2026" };
    business.send({ type: "record.remove", ...unknown, sealed });
    expect(logged()).toEqual([]);
  });

  it("nothing of a change that was refused", () => {
    const custody = rubbish({ statement_id: "s", business_uuid: uuid, key_id: "nobody", envelope: "{}" });
    expect(business.send(rubbish({ type: "custody.state", custody }))).toMatchObject({ status: "refused" });
    expect(logged()).toEqual([]);
  });
});

it("an AI company's keys are no business's", () => {
  open("ai_company");
  business.send({ type: "key.register", key: keyFacts({ key_id: "k", role: "retrieval" }) });
  expect(logged()).toEqual([]);
});
