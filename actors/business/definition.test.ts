import { describe, expect, it } from "vitest";
import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import { driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  endedPush,
  holdSettlement,
  keyFacts,
  partyFacts,
  policyFacts,
  pushSeal,
  sealedRemoval,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import type { AdmitReply } from "../messages/admission.ts";
import type { LeafClaim, PlannedListings } from "../messages/business.ts";
import { logRef } from "../messages/refs.ts";
import { businessActor } from "./definition.ts";

function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  return business;
}

/** A business that may publish. */
function openVerified() {
  const business = open();
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}

type Business = ReturnType<typeof open>;

const leaf = (index: number, record = `svc_r${index}`): LeafClaim => ({
  leaf_index: index,
  record_id: record,
  hash: `hash ${index}`,
  business_product_id: `p${index}`,
  listings: { US: ["10.00", "USD"] },
});

const admit = (business: Business, push_id: string) =>
  business.send({ type: "push.admit", push_id, key_id: "k", records: 1, may_hold: false, plan: null });

/** Returns the number that an admitted push was given. */
const numberOf = (reply: AdmitReply): number => {
  if (reply.status !== "admitted") throw new Error(`not admitted: ${reply.status}`);
  return reply.number;
};

const assign = (
  business: Business,
  pushId: string,
  number: number,
  leaves: readonly LeafClaim[],
  chunk = 0,
) =>
  business.send({
    type: "chunk.assign",
    push_id: pushId,
    number,
    chunk,
    collection: "products",
    leaves,
    refused: [],
    seal: pushSeal,
  });

const remove = (business: Business, recordId: string) =>
  business.send({
    type: "record.remove",
    record_id: recordId,
    action: "withdraw",
    at: "",
    document_hash: `of ${recordId}`,
    sealed: sealedRemoval,
  });

describe("admission (N1)", () => {
  it("numbers pushes in order and gives a push its number again", () => {
    const business = openVerified();
    expect(admit(business, "a")).toMatchObject({ status: "admitted", number: 1, held: false });
    expect(admit(business, "b")).toMatchObject({ number: 2 });
    expect(admit(business, "a")).toMatchObject({ number: 1 });
    expect(business.snapshot.context.pending).toEqual(["a", "b"]);
  });

  it("tells a plan made before another push was admitted to be made again", () => {
    const business = openVerified();
    admit(business, "a");
    const plan = { pending: [], earlier: [], listings: [] };
    const reply = business.send({
      type: "push.admit",
      push_id: "b",
      key_id: "k",
      records: 1,
      may_hold: true,
      plan,
    });
    expect(reply).toEqual({ status: "plan_stale", pending: ["a"] });
  });

  it("is bounded", () => {
    const business = openVerified();
    for (let index = 0; index < 256; index += 1) admit(business, `p${index}`);
    expect(admit(business, "one more")).toMatchObject({ status: "busy" });
    business.send({ type: "push.finished", push_id: "p0", chunks: 1, ended: endedPush });
    expect(admit(business, "one more")).toMatchObject({ status: "admitted" });
  });

  it("holds over the whole batch and what is pending, and a confirmed hold keeps its number", () => {
    const business = openVerified();
    const number = numberOf(admit(business, "first"));
    assign(
      business,
      "first",
      number,
      Array.from({ length: 20 }, (_, index) => leaf(index)),
    );
    business.send({ type: "push.finished", push_id: "first", chunks: 1, ended: endedPush });
    expect(business.snapshot.context.listings).toBe(20);
    business.send({ type: "key.register", key: keyFacts() });
    const reprice = (
      push: string,
      from: number,
      pending: readonly string[],
      earlier: readonly PlannedListings[],
    ) => {
      const listings: PlannedListings = Array.from({ length: 4 }, (_, index) => [
        `svc_r${from + index}`,
        { US: ["11.00", "USD"] },
      ]);
      return {
        listings,
        admitted: business.send({
          type: "push.admit",
          push_id: push,
          key_id: "k",
          records: 4,
          may_hold: true,
          plan: { pending, earlier, listings },
        }),
      };
    };
    const { listings: first, admitted } = reprice("second", 0, [], []);
    expect(admitted).toMatchObject({ held: false, number: 2 });
    expect(reprice("third", 0, ["second"], [first]).admitted).toMatchObject({ held: false, number: 3 });
    const jump: PlannedListings = [["svc_r9", { US: ["99.00", "USD"] }]];
    const held = business.send({
      type: "push.admit",
      push_id: "fourth",
      key_id: "k",
      records: 1,
      may_hold: true,
      plan: { pending: ["second", "third"], earlier: [first, first], listings: jump },
    });
    expect(held).toMatchObject({ held: true, number: 4, held_reasons: [{ code: "price_jump" }] });
    expect(business.send(holdSettlement("fourth", true))).toEqual({ status: "done" });
    expect(business.effects.at(-1)).toMatchObject({
      kind: "tell",
      to: { kind: "push", id: `${uuid}.fourth` },
      message: { type: "hold.release", confirmed: true },
    });
    expect(admit(business, "fourth")).toMatchObject({ number: 4 });
  });
});

describe("assignment (N2, N3, N4)", () => {
  it("counts generations from 1 without gaps and answers a repeated chunk the same", () => {
    const business = openVerified();
    admit(business, "a");
    const first = assign(business, "a", 1, [leaf(0), leaf(1)]);
    expect(first.assignments.map(({ outcome, generation, change }) => [outcome, generation, change])).toEqual(
      [
        ["accepted", 1, 1],
        ["accepted", 1, 1],
      ],
    );
    business.nowMs += 1_000;
    expect(assign(business, "a", 1, [leaf(0), leaf(1)])).toEqual(first);
    admit(business, "b");
    expect(assign(business, "b", 2, [leaf(0)]).assignments[0]).toMatchObject({
      outcome: "updated",
      generation: 2,
      change: 2,
    });
    expect(assign(business, "a", 1, [leaf(0), leaf(1)])).toEqual(first);
  });

  it("does not let an older push undo a later push or withdrawal", () => {
    const business = openVerified();
    admit(business, "old");
    admit(business, "new");
    assign(business, "new", 2, [leaf(0)]);
    expect(assign(business, "old", 1, [leaf(0)]).assignments[0]).toMatchObject({
      outcome: "superseded",
      generation: 0,
    });
    admit(business, "third");
    expect(remove(business, "svc_r0")).toMatchObject({ status: "removed", change: 2 });
    expect(assign(business, "third", 3, [leaf(0)]).assignments[0]).toMatchObject({ outcome: "superseded" });
    admit(business, "fifth");
    expect(assign(business, "fifth", 5, [leaf(0)]).assignments[0]).toMatchObject({
      outcome: "accepted",
      generation: 2,
      change: 3,
    });
  });

  it("rejects a record's second leaf, in the same chunk and in a later one", () => {
    const business = openVerified();
    admit(business, "a");
    expect(assign(business, "a", 1, [leaf(0), leaf(1, "svc_r0")]).assignments.map((a) => a.outcome)).toEqual([
      "accepted",
      "duplicate",
    ]);
    expect(assign(business, "a", 1, [leaf(200, "svc_r0")], 1).assignments[0]).toMatchObject({
      outcome: "duplicate",
    });
  });

  it("counts listings and live records", () => {
    const business = openVerified();
    admit(business, "a");
    assign(business, "a", 1, [leaf(0), leaf(1)]);
    expect(business.snapshot.context).toMatchObject({ listings: 2, recordsLive: 2 });
    remove(business, "svc_r0");
    expect(business.snapshot.context).toMatchObject({ listings: 1, recordsLive: 1 });
    admit(business, "b");
    assign(business, "b", 3, [{ ...leaf(1), listings: {} }]);
    expect(business.snapshot.context).toMatchObject({ listings: 0, recordsLive: 1 });
  });

  it("forgets the answers of a finished push", () => {
    const business = openVerified();
    admit(business, "a");
    assign(business, "a", 1, [leaf(0)]);
    expect(business.rows(17)).toHaveLength(1);
    business.send({ type: "push.finished", push_id: "a", chunks: 1, ended: endedPush });
    expect([...business.rows(17), ...business.rows(19)]).toEqual([]);
  });
});

describe("removal", () => {
  it("is told once to the outside, and a repetition answers the same", () => {
    const business = openVerified();
    admit(business, "a");
    assign(business, "a", 1, [leaf(0)]);
    const before = business.effects.length;
    const removed = { status: "removed", change: 2, collection: "products", generation: 1, hash: "hash 0" };
    expect(remove(business, "svc_r0")).toEqual({ ...removed, live: false });
    expect(remove(business, "svc_r0")).toEqual({ ...removed, live: false });
    expect(business.effects.slice(before)).toEqual([
      expect.objectContaining({ kind: "tell", to: logRef() }),
      {
        kind: "activity",
        name: "removeRecord",
        params: { record_id: "svc_r0", collection: "products", change: 2, generation: 1, hash: "hash 0" },
      },
    ]);
    expect(remove(business, "svc_none")).toEqual({ status: "unknown_record" });
  });
});

describe("register", () => {
  const key = keyFacts();

  it("takes nothing before the party is opened", () => {
    const business = driveActor(businessActor, uuid);
    expect(business.send({ type: "key.register", key })).toMatchObject({
      status: "refused",
      code: "party_unknown",
    });
  });

  it("projects each change under a raised number, and a repetition not at all", () => {
    const business = open();
    business.send({ type: "key.register", key });
    const changes = business.effects.length;
    business.send({ type: "key.register", key });
    expect(business.effects).toHaveLength(changes);
    const read = business.send({ type: "register.read", keys: ["key/k", `party/${uuid}`] });
    expect(read.entries.map(({ change }) => change)).toEqual([2, 1]);
  });

  it("never lets a revoked key back in", () => {
    const business = open();
    business.send({ type: "key.register", key });
    business.send({
      type: "key.revoke",
      key_id: "k",
      revoked_at: "2026-02-01T00:00:00.000Z",
      compromised_from: null,
    });
    expect(business.send({ type: "key.register", key })).toMatchObject({
      status: "refused",
      code: "key_unknown",
    });
    expect(business.send({ type: "publishing.facts", key_id: "k" })).toMatchObject({
      key: "revoked",
    });
  });

  it("accepts AI policy versions one after the other", () => {
    const business = open();
    const policy = (version: number) =>
      ({ type: "policy.accept", policy: policyFacts({ version }) }) as const;
    expect(business.send(policy(2))).toMatchObject({ code: "ai_policy_version_mismatch" });
    expect(business.send(policy(1))).toEqual({ status: "done", changed: true });
    expect(business.send(policy(1))).toEqual({ status: "done" });
    expect(business.snapshot.context.policy.version).toBe(1);
  });

  it("has an AI policy in force since before now only while it has published nothing", () => {
    const business = open();
    const accept = (version: number, since: string) =>
      business.send({
        type: "policy.accept",
        policy: policyFacts({ version, record_base64: `${version}` }),
        since,
      });
    business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
    const liveFrom = () => business.snapshot.context.policy.live_from;
    const early = "1969-12-31T23:00:00.000Z";
    expect(accept(1, early)).toEqual({ status: "done", changed: true });
    expect(liveFrom()).toBe(early);
    // The next version follows it, and none is in force from a later instant than now.
    expect(accept(2, early)).toEqual({ status: "done", changed: true });
    expect(liveFrom()).toBe("1969-12-31T23:00:00.001Z");
    expect(accept(3, "2999-01-01T00:00:00.000Z")).toEqual({ status: "done", changed: true });
    expect(String(liveFrom()) < "2999").toBe(true);
    admit(business, "bat_1");
    expect(accept(4, early)).toMatchObject({ status: "refused", code: "already_published" });
    expect(business.snapshot.context.policy.version).toBe(3);
  });

  it("moves with its certificate", () => {
    const business = open();
    const issue = (cert_id: string, status: CertificateStatus) =>
      business.send({
        type: "certificate.issue",
        certificate: certificateFacts({ cert_id, status }),
        follows: business.snapshot.context.certificate?.cert_id ?? null,
      });
    expect(business.snapshot.value).toMatchObject({ standing: "unverified" });
    issue("c1", "active");
    expect(business.snapshot.value).toMatchObject({ standing: "active" });
    issue("c2", "withdrawn");
    expect(business.snapshot.value).toMatchObject({ standing: "withdrawn" });
    issue("c3", "active");
    expect(business.snapshot.value).toMatchObject({ standing: "active" });
  });

  it("blocks and unblocks groups once each", () => {
    const business = open();
    business.send({ type: "group.block", group: "g" });
    business.send({ type: "group.block", group: "g" });
    expect(business.snapshot.context.blockedGroups).toEqual(["g"]);
    business.send({ type: "group.unblock", group: "g" });
    expect(business.snapshot.context.blockedGroups).toEqual([]);
  });
});
