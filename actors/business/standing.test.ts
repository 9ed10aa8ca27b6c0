// S1 to S4 of standing.ts, with the review that follows every ending.

import { describe, expect, it } from "vitest";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalBytes } from "../../protocol/json/canonical-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { type ActorHarness, driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  keyFacts,
  mandateFacts,
  partyFacts,
  policyFacts,
  pushSeal,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { PartyFacts } from "../messages/business.ts";
import { businessRef } from "../messages/refs.ts";
import type { PushSeal } from "../messages/serving.ts";
import type { Ask } from "../system/definition.ts";
import { reviewStanding } from "./activities.ts";
import { businessActor } from "./definition.ts";
import { reviewedAtOnce } from "./standing.ts";

type Business = ActorHarness<"business">;

const day = (at: number) => `2026-01-${String(at).padStart(2, "0")}T00:00:00.000Z`;
const cert_id = `sha256:${"c".repeat(64)}`;
const issued = { cert_id, status_effective_from: day(1), issued_at: day(1) };

/** Keys `k` and `k2` publish; the owner's passkey seals mandates and AI policies. */
function open(party: Partial<PartyFacts> = {}): Business {
  const business = driveActor(businessActor, uuid);
  business.nowMs = Date.UTC(2026, 0, 10);
  business.send({ type: "party.open", party: partyFacts(party) });
  business.send({ type: "certificate.issue", certificate: certificateFacts(issued), follows: null });
  for (const key_id of ["k", "k2"]) business.send({ type: "key.register", key: keyFacts({ key_id }) });
  business.send({ type: "key.register", key: keyFacts({ key_id: "owner", role: "sealing" }) });
  business.effects.length = 0;
  return business;
}

const sealedOn = (at: number, changes: Partial<PushSeal> = {}): PushSeal => ({
  ...pushSeal,
  cert_id,
  sealed_at: day(at),
  received_at: day(at),
  ...changes,
});

/** Publishes records in one chunk of push number `number`; answers what each became, or why nothing did. */
function publish(business: Business, number: number, records: readonly string[], seal: PushSeal, chunk = 0) {
  const reply = business.send({
    type: "chunk.assign",
    push_id: `push ${number}`,
    number,
    chunk,
    collection: "products",
    seal,
    refused: [],
    leaves: records.map((record_id, leaf_index) => ({
      leaf_index,
      record_id,
      hash: `hash ${number}`,
      business_product_id: record_id,
      listings: { GB: ["1.00", "GBP"] as const },
    })),
  });
  return reply.fallen ?? reply.assignments.map(({ outcome }) => outcome);
}

const compromise = (business: Business, key_id: string, compromised_from: string | null) =>
  business.send({ type: "key.revoke", key_id, revoked_at: day(9), compromised_from });

const revokeCertificate = (business: Business, status_effective_from: string, status = "revoked" as const) =>
  business.send({
    type: "certificate.issue",
    follows: cert_id,
    certificate: certificateFacts({ cert_id: "c2", status, status_effective_from, issued_at: day(9) }),
  });

/** Does the review for as often as the machine asked for it. */
async function review(business: Business): Promise<number> {
  const due = business.effects.filter((each) => each.kind === "activity" && each.name === "reviewStanding");
  business.effects.length = 0;
  const ask = ((_to: unknown, command: unknown) => Promise.resolve(business.send(rubbish(command)))) as Ask;
  for (const _ of due) await reviewStanding({ actor: businessRef(uuid), ask });
  return due.length;
}

const head = (business: Business, record_id: string) =>
  business.send({ type: "record.read", record_id }).head;
const live = (business: Business, ...records: readonly string[]) =>
  records.filter((record) => head(business, record)?.live === true);

/** The records that regions are to be told of. */
function told(business: Business): readonly string[] {
  return business.effects.flatMap((each) => {
    if (each.kind !== "activity" || each.name !== "removeRecords") return [];
    const { records } = each.params as { readonly records: readonly { readonly record_id: string }[] };
    return records.map(({ record_id }) => record_id);
  });
}

describe("a push under way (S1)", () => {
  it("gets no more generations once its key was compromised before the seal was received", async () => {
    const business = open();
    expect(publish(business, 1, ["a"], sealedOn(5))).toEqual(["accepted"]);
    compromise(business, "k", day(4));
    expect(publish(business, 1, ["b"], sealedOn(5), 1)).toMatchObject({ code: "key_compromised" });
    expect(head(business, "b")).toBeNull();
    // What was answered is answered again; the review takes it out of serving.
    expect(publish(business, 1, ["a"], sealedOn(5))).toEqual(["accepted"]);
    expect(await review(business)).toBe(1);
    expect(live(business, "a")).toEqual([]);
  });

  it("gets none under a certificate that was revoked from before the seal", () => {
    const business = open();
    revokeCertificate(business, day(4));
    expect(publish(business, 1, ["a"], sealedOn(5))).toMatchObject({ code: "certificate_not_in_force" });
  });

  it("gets none under a mandate whose sealer was compromised before", () => {
    const business = open();
    const mandate = mandateFacts({ envelope: `{"signatures":[{"keyid":"owner","sig":""}]}` });
    business.send({ type: "mandate.accept", mandate });
    compromise(business, "owner", day(1));
    const seal = sealedOn(5, { mandates: [{ mandate_id: "m", sealed_by: "owner" }] });
    expect(publish(business, 1, ["a"], seal)).toMatchObject({ code: "key_compromised" });
    expect(publish(business, 2, ["a"], sealedOn(5))).toEqual(["accepted"]);
  });

  it.each([
    ["its key ends in the ordinary way", (business: Business) => compromise(business, "k", null)],
    ["its key was compromised only later", (business: Business) => compromise(business, "k", day(6))],
    ["another key was compromised", (business: Business) => compromise(business, "k2", day(1))],
    [
      "its certificate was revoked from later on",
      (business: Business) => revokeCertificate(business, day(6)),
    ],
  ])("goes on when %s", async (_what, end) => {
    const business = open();
    publish(business, 1, ["a"], sealedOn(5));
    end(business);
    expect(publish(business, 1, ["b"], sealedOn(5), 1)).toEqual(["accepted"]);
    await review(business);
    expect(live(business, "a", "b")).toEqual(["a", "b"]);
    expect(told(business)).toEqual([]);
  });

  it("is judged by nothing that has to be read while nothing of the business ever ended", () => {
    const { snapshot } = open();
    const command = {
      type: "chunk.assign",
      push_id: "p",
      number: 1,
      chunk: 0,
      collection: "products",
      leaves: [],
      refused: [],
      seal: pushSeal,
    } as const;
    const tables = () => businessActor.rows?.(command, uuid, snapshot).map(({ rt }) => rt);
    expect(tables()).toEqual([17, 40, 16]);
  });
});

describe("what was published (S2, S3)", () => {
  it("leaves serving with the push that published it last, in every region, and is counted no more", async () => {
    const business = open();
    publish(business, 1, ["a", "b", "c"], sealedOn(5));
    publish(business, 2, ["b"], sealedOn(6, { key_id: "k2" }));
    publish(business, 3, ["d"], sealedOn(3));
    compromise(business, "k", day(4));
    const before = head(business, "a");
    await review(business);
    expect(live(business, "a", "b", "c", "d")).toEqual(["b", "d"]);
    expect(told(business)).toEqual(["a", "c"]);
    expect(head(business, "a")).toMatchObject({ generation: 1, change: (before?.change ?? 0) + 1 });
    expect(business.snapshot.context).toMatchObject({ listings: 2, recordsLive: 2 });
  });

  it("leaves serving with the mandate that had ended before, as far as it came later", async () => {
    const business = open();
    const envelope = JSON.stringify({
      payloadType: payloadTypes["mandate.v1"],
      payload: toBase64(utf8("{}")),
      signatures: [{ keyid: "owner", sig: toBase64(new Uint8Array(64)) }],
    });
    const mandate = mandateFacts({ envelope });
    business.send({ type: "mandate.accept", mandate });
    const mandates = [{ mandate_id: mandate.mandate_id, sealed_by: "owner" }];
    publish(business, 1, ["a"], sealedOn(5, { mandates }));
    publish(business, 2, ["b"], sealedOn(3, { mandates }));
    business.send({ type: "mandate.revoke", mandate_id: mandate.mandate_id, revoked_at: day(4) });
    await review(business);
    expect(live(business, "a", "b")).toEqual(["b"]);
  });

  it("is found in every page, and once only", async () => {
    const business = open();
    const many = Array.from({ length: reviewedAtOnce + 1 }, (_, at) => `r${String(at).padStart(4, "0")}`);
    publish(business, 1, many, sealedOn(5));
    for (let number = 2; number <= reviewedAtOnce + 2; number += 1)
      publish(business, number, [`alone ${number}`], sealedOn(5));
    compromise(business, "k", day(4));
    await review(business);
    expect(told(business)).toHaveLength(2 * reviewedAtOnce + 2);
    compromise(business, "k", day(3));
    expect(await review(business)).toBe(1);
    expect(told(business)).toEqual([]);
  });

  it("is served again once it is published again, and by nothing else: no later moment takes the place of an earlier one", async () => {
    const business = open();
    publish(business, 1, ["a"], sealedOn(5));
    compromise(business, "k", day(4));
    await review(business);
    compromise(business, "k", day(8));
    await review(business);
    expect(live(business, "a")).toEqual([]);
    expect(publish(business, 2, ["a"], sealedOn(6, { key_id: "k2" }))).toEqual(["accepted"]);
    // A review that had found the version before says so late.
    business.send({ type: "records.fall", records: [{ record_id: "a", number: 1 }] });
    expect(head(business, "a")).toMatchObject({ live: true, generation: 2 });
  });

  it("is not looked through for an AI company", async () => {
    const company = open({ kind: "ai_company" });
    compromise(company, "k", day(1));
    expect(await review(company)).toBe(0);
  });
});

describe("an AI policy whose seal does not stand (S4)", () => {
  const seal = (key_id: string, version: number, at: number): string => {
    const payload = {
      v: 2,
      key_id,
      cert_id,
      hash: `sha256:${"0".repeat(64)}`,
      sealed_at: day(at),
      record_type: "ai_policy",
      ai_policy_version: version,
    };
    return JSON.stringify({
      payloadType: payloadTypes["seal.v2"],
      payload: toBase64(canonicalBytes(payload)),
      signatures: [{ keyid: key_id, sig: toBase64(utf8("s")) }],
    });
  };
  const accept = (business: Business, version: number, key_id: string, at: number) => {
    business.nowMs = Date.parse(day(at));
    const policy = policyFacts({
      version,
      record_id: `aip_${version}`,
      record_base64: `${version}`,
      seal: seal(key_id, version, at),
    });
    return business.send({ type: "policy.accept", policy });
  };
  const inForce = (business: Business) => business.snapshot.context.policy;
  const entry = (business: Business, version: number) => {
    const [found] = business.send({ type: "register.read", keys: [`policy/${uuid}/${version}`] }).entries;
    return JSON.parse(found?.body ?? "{}");
  };
  const [key, other, third, fourth] = ["a", "b", "c", "d"].map((each) => `${each.repeat(42)}A`) as [
    string,
    string,
    string,
    string,
  ];

  function withPolicies(): Business {
    const business = open();
    for (const key_id of [key, other, third])
      business.send({ type: "key.register", key: keyFacts({ key_id, role: "sealing" }) });
    accept(business, 1, key, 3);
    accept(business, 2, other, 5);
    accept(business, 3, third, 7);
    business.nowMs = Date.parse(day(10));
    return business;
  }

  it("was in force until then, and from then on the newest earlier one that stands is", async () => {
    const business = withPolicies();
    compromise(business, other, day(4));
    await review(business);
    expect(inForce(business).version).toBe(3);
    compromise(business, third, day(6));
    await review(business);
    const from = formatTimestamp(Date.parse(day(10)) + 1);
    expect(inForce(business)).toEqual({ version: 1, record_id: "aip_1", live_from: from });
    expect(entry(business, 3)).toMatchObject({ fallen_at: from });
    expect(entry(business, 2)).toMatchObject({ fallen_at: from });
    expect(entry(business, 1)).toMatchObject({ again_from: from });
  });

  it("fell when it fell, whatever falls after it", async () => {
    const business = withPolicies();
    compromise(business, third, day(6));
    await review(business);
    const fell = entry(business, 3).fallen_at;
    business.send({ type: "key.register", key: keyFacts({ key_id: fourth, role: "sealing" }) });
    expect(accept(business, 4, fourth, 11)).toMatchObject({ changed: true });
    business.nowMs = Date.parse(day(12));
    compromise(business, fourth, day(10));
    await review(business);
    expect(inForce(business).version).toBe(2);
    expect([fell, entry(business, 3).fallen_at]).toEqual([expect.any(String), fell]);
    expect(entry(business, 4).fallen_at > fell).toBe(true);
  });

  it("leaves version 0 where none stands, and its number is not used again", async () => {
    const business = withPolicies();
    for (const each of [key, other, third]) compromise(business, each, day(2));
    await review(business);
    expect(inForce(business)).toMatchObject({ version: 0, record_id: null });
    business.send({ type: "key.register", key: keyFacts({ key_id: fourth, role: "sealing" }) });
    expect(accept(business, 3, third, 11)).toMatchObject({ code: "ai_policy_version_used" });
    expect(accept(business, 1, fourth, 11)).toMatchObject({ code: "ai_policy_version_used" });
    expect(accept(business, 4, fourth, 11)).toMatchObject({ changed: true });
    expect(inForce(business).version).toBe(4);
  });

  it("stays in force when its key ends in the ordinary way", async () => {
    const business = withPolicies();
    compromise(business, third, null);
    await review(business);
    expect(inForce(business).version).toBe(3);
  });
});
