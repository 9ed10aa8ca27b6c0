import { describe, expect, it } from "vitest";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import { driveActor } from "../actor.fixture.ts";
import {
  certificateFacts,
  endedPush,
  partyFacts,
  pushSeal,
  sealedRemoval,
  businessUuid as uuid,
} from "../facts.fixture.ts";
import { deletionOf, type LatePurges, type Purge, type Purged } from "../messages/removal.ts";
import { businessActor } from "./definition.ts";
import { purgeRecords } from "./purge.ts";
import { purges as owed } from "./rows.ts";

function open() {
  const business = driveActor(businessActor, uuid);
  business.send({ type: "party.open", party: partyFacts() });
  business.send({ type: "certificate.issue", certificate: certificateFacts(), follows: null });
  return business;
}
type Business = ReturnType<typeof open>;

const recordId = (index: number): string => `svc_r${index}`;

function admit(business: Business, push_id: string): number {
  const asked = { push_id, key_id: "k", records: 1, may_hold: false, plan: null };
  const admitted = business.send({ type: "push.admit", ...asked });
  return admitted.status === "admitted" ? admitted.number : 0;
}

function publish(business: Business, pushId: string, index: number): number {
  const number = admit(business, pushId);
  const listings = { US: ["10.00", "USD"] } as const;
  const claim = {
    leaf_index: 0,
    record_id: recordId(index),
    hash: `hash ${number}`,
    business_product_id: "own",
  };
  business.send({
    type: "chunk.assign",
    push_id: pushId,
    number,
    chunk: 0,
    collection: "products",
    leaves: [{ ...claim, listings }],
    refused: [],
    seal: pushSeal,
  });
  return number;
}

const finish = (business: Business, push_id: string) =>
  business.send({ type: "push.finished", push_id, chunks: 1, ended: endedPush });

const erase = (business: Business, index: number, inMs: number, document_hash = `document ${index}`) =>
  business.send({
    type: "record.remove",
    record_id: recordId(index),
    action: "delete",
    at: "",
    document_hash,
    purge_at_ms: business.nowMs + inMs,
    sealed: sealedRemoval,
  });

const due = (business: Business) => business.send({ type: "purges.due", after: null }).purges;

const forget = (business: Business, [purge]: readonly Purge[], after = "") => {
  if (purge === undefined) throw new Error("No purge is due.");
  return business.send({ type: "purges.forget", purge, after });
};

/** What the activity tells once the timer has ended. */
const done = (business: Business, purges: readonly Purge[]) => {
  business.fireTimers();
  const versions = [{ generation: 1, hash: "hash 1" }];
  const purged = purges.map(
    (each): Purged => ({ ...each, purged_at_ms: business.nowMs, versions, regions: ["here"] }),
  );
  return business.send({ type: "purges.done", purged });
};

const timer = (business: Business) => business.timers.get("xstate.after.nextPurge.business.purges.scheduled");

describe("the timer of purges", () => {
  it("ends with the deletion that is due first, and then with the next", () => {
    const business = open();
    for (const index of [1, 2, 3]) {
      publish(business, `p${index}`, index);
      finish(business, `p${index}`);
    }
    erase(business, 1, 5_000);
    expect(timer(business)).toBe(5_000);
    erase(business, 2, 9_000);
    expect(timer(business)).toBe(5_000);
    erase(business, 3, 2_000);
    expect(timer(business)).toBe(2_000);
    expect(due(business)).toEqual([]);
    business.nowMs += 2_000;
    const first = due(business);
    expect(first).toMatchObject([{ record_id: recordId(3), generation: 1, collection: "products" }]);
    done(business, first);
    expect(timer(business)).toBe(3_000);
    business.nowMs += 7_000;
    done(business, due(business));
    expect(business.snapshot.context.purgeAtMs).toBeNull();
    expect(due(business)).toEqual([]);
  });

  it("is followed by pages that pass over a bounded number of purges that are done (Y4)", () => {
    const business = open();
    const lay = (at: number): void => {
      const deletion = { record_id: recordId(at), collection: "products", generation: 1 } as const;
      const owes = { document_hash: `d ${at}`, number: 0, deleted_at_ms: 0, due_ms: business.nowMs + at };
      business.lay(owed.write(owes.document_hash, { ...deletion, ...owes }, { k: owes.due_ms }));
    };
    const firstMs = business.nowMs;
    publish(business, "first", 0);
    finish(business, "first");
    erase(business, 0, 0);
    for (let at = 0; at < 3_000; at += 1) lay(at);
    business.nowMs += 3_000;
    let count = 0;
    for (let page = due(business); page.length > 0; page = due(business)) {
      done(business, page);
      count += page.length;
    }
    expect(count).toBe(3_001);
    // One that should have been done before them is found nevertheless.
    publish(business, "p", 1);
    finish(business, "p");
    erase(business, 1, firstMs - business.nowMs);
    expect(due(business)).toMatchObject([{ document_hash: "document 1", due_ms: business.nowMs }]);
    done(business, due(business));
    expect(due(business)).toEqual([]);
  });

  it("does not run while purges are under way: what is deleted meanwhile is found when they end (B5)", () => {
    const business = open();
    for (const index of [1, 2]) {
      publish(business, `p${index}`, index);
      finish(business, `p${index}`);
    }
    erase(business, 1, 5_000);
    business.nowMs += 5_000;
    business.fireTimers();
    expect(business.snapshot.value).toMatchObject({ purges: "purging" });
    const first = due(business);
    erase(business, 2, 1_000);
    expect(timer(business)).toBeUndefined();
    done(business, first);
    expect(business.snapshot.value).toMatchObject({ purges: "scheduled" });
    expect(timer(business)).toBe(1_000);
    // A result of a round that is over changes nothing.
    business.send({ type: "purges.done", purged: [] });
    expect(timer(business)).toBe(1_000);
  });

  it("is set by no withdrawal", () => {
    const business = open();
    publish(business, "p", 1);
    business.send({
      type: "record.remove",
      record_id: recordId(1),
      action: "withdraw",
      at: "",
      document_hash: "d",
      sealed: sealedRemoval,
    });
    expect(timer(business)).toBeUndefined();
  });
});

describe("a purge", () => {
  it("waits for the pushes that were numbered before its deletion (Y2), and asks again within a minute", () => {
    const business = open();
    publish(business, "p", 1);
    erase(business, 1, 1_000);
    publish(business, "q", 2);
    business.nowMs += 1_000;
    expect(business.send({ type: "purges.due", after: null })).toMatchObject({
      purges: [],
      waiting: [{ record_id: recordId(1) }],
      push_id: "p",
    });
    done(business, []);
    expect(timer(business)).toBe(60_000);
    finish(business, "p");
    expect(business.send({ type: "purges.due", after: null })).toMatchObject({
      purges: [{ deleted_at_ms: business.nowMs - 1_000 }],
      waiting: [],
      push_id: null,
    });
  });

  it("waits a turn for a push that was admitted in its own", () => {
    const business = open();
    publish(business, "p", 1);
    finish(business, "p");
    erase(business, 1, 1_000);
    business.nowMs += 1_000;
    const admission = { type: "push.admit", push_id: "q", key_id: "k", records: 1, may_hold: false } as const;
    const [, asked] = business.sendTogether([
      { ...admission, plan: null },
      { type: "purges.due", after: null },
    ]);
    expect(asked).toMatchObject({ purges: [], waiting: [{ record_id: recordId(1) }], push_id: "q" });
    expect(due(business)).toMatchObject([{ record_id: recordId(1) }]);
  });

  it.each([
    ["for an earlier push", "push"],
    ["until the store serves its record no more", "store"],
  ] as const)("is found behind 150 that are due before it and wait %s", async (_why, waitsFor) => {
    const business = open();
    publish(business, "first", 0);
    finish(business, "first");
    erase(business, 0, 2_000);
    publish(business, "pending", 1);
    if (waitsFor === "store") finish(business, "pending");
    for (let index = 1; index <= 150; index += 1) {
      publish(business, `p${index}`, index);
      finish(business, `p${index}`);
      erase(business, index, 1_000);
    }
    business.nowMs += 3_000;
    const late: LatePurges[] = [];
    const isWaiting = (id: string) => waitsFor === "store" && id !== recordId(0);
    const records = part<RecordStore>({
      readHead: async (id) =>
        part({ record_id: id, live: isWaiting(id), generation: 1, change: 9, hash: "h", type: "products" }),
      listVersions: async () => [],
      purgeVersions: async () => {},
      overwriteUnused: async () => {},
    });
    const ask = async (_to: unknown, command: { readonly type: string }) =>
      command.type === "rows.purge" ? { status: "applied" } : business.send(rubbish(command));
    const actor = { kind: "business", id: uuid };
    const context = { actor, workId: "w", nowMs: () => business.nowMs, signal: { aborted: false }, ask };
    const latePurges = { note: (each: LatePurges) => void late.push(each), forget: () => {} };
    const round = () => purgeRecords({ records, regions: () => ["one"], latePurges }, rubbish(context));
    business.fireTimers();
    const { purged } = await round();
    expect(purged).toMatchObject([{ record_id: recordId(0) }]);
    business.send({ type: "purges.done", purged });
    const proof = { type: "removal.read", document_hash: "document 0" } as const;
    expect(business.send(proof).purged).toMatchObject({ record_id: recordId(0) });
    expect(timer(business)).toBe(1);
    if (waitsFor === "store") await expect(round()).rejects.toThrow("still served");
    else expect((await round()).purged).toEqual([]);
    expect(late.at(-1)).toMatchObject({ waits_for: waitsFor, purges: { length: 100 } });
  });

  it("is proved by a row and an event, and leaves the head without content", () => {
    const business = open();
    publish(business, "p", 1);
    finish(business, "p");
    erase(business, 1, 1_000);
    business.nowMs += 1_000;
    const purges = due(business);
    forget(business, purges);
    done(business, purges);
    const { purged } = business.send({ type: "removal.read", document_hash: "document 1" });
    expect(purged).toMatchObject({
      record_id: recordId(1),
      regions: ["here"],
      versions: [{ generation: 1 }],
    });
    expect(business.send({ type: "record.read", record_id: recordId(1) }).head).toMatchObject({
      live: false,
      deletions: [[1, "document 1"]],
      bpid: null,
      listings: {},
      hash: "hash 1",
    });
    // Told again, it is what it was.
    business.nowMs += 5_000;
    done(business, [part<Purge>({ ...purged })]);
    expect(business.send({ type: "removal.read", document_hash: "document 1" }).purged).toEqual(purged);
  });

  it("is not undone by a push from before the deletion that names the record later (T4)", () => {
    const business = open();
    publish(business, "p", 1);
    finish(business, "p");
    const before = admit(business, "held");
    business.send({ type: "push.hold", push_id: "held", held_reasons: [] });
    erase(business, 1, 1_000);
    const after = admit(business, "later");
    business.nowMs += 1_000;
    const purges = due(business);
    forget(business, purges);
    const named = [{ record_id: recordId(1), business_product_id: "own" }];
    const ownIds = () => business.send({ type: "own_ids.read", record_ids: [recordId(1)] }).own_ids;
    for (const [at, number] of [before, after].entries()) {
      business.send({ type: "names.keep", number, names: named });
      const chunk = { push_id: "held", number, chunk: at, collection: "products", leaves: [] } as const;
      business.send({ type: "chunk.assign", ...chunk, refused: named, seal: pushSeal });
      expect(ownIds()).toEqual([at === 0 ? null : "own"]);
    }
  });

  it("leaves the head of a record that was published again alone; its next version counts on", () => {
    const business = open();
    publish(business, "p", 1);
    finish(business, "p");
    erase(business, 1, 1_000);
    publish(business, "q", 1);
    finish(business, "q");
    business.nowMs += 1_000;
    const purges = due(business);
    expect(purges).toMatchObject([{ generation: 1 }]);
    forget(business, purges);
    done(business, purges);
    const { head } = business.send({ type: "record.read", record_id: recordId(1) });
    expect(head).toMatchObject({
      live: true,
      generation: 2,
      bpid: "own",
      listings: { US: ["10.00", "USD"] },
      deletions: [[1, "document 1"]],
    });
  });
});

describe("a deletion that waited for an operator", () => {
  it("is purged as long after its release as another after it was received (HD1)", () => {
    const business = open();
    publish(business, "p", 1);
    finish(business, "p");
    const certificate = certificateFacts({ cert_id: "revoked", status: "revoked" });
    business.send({ type: "certificate.issue", certificate, follows: certificateFacts().cert_id });
    const received_at = formatTimestamp(business.nowMs);
    const about = { record_id: recordId(1), document_hash: "document 1" } as const;
    const held = business.send({
      type: "record.remove",
      ...about,
      action: "delete",
      at: "",
      purge_at_ms: business.nowMs + 1_000,
      sealed: { ...sealedRemoval, received_at },
    });
    expect(held.status).toBe("held");
    business.nowMs += 10_000;
    const act = { by: "Ada", reason: "Asked for by telephone" };
    const releasedMs = business.nowMs;
    business.send({ type: "deletion.decide", ...about, released: true, act });
    expect(due(business)).toEqual([]);
    const { removal } = business.send({ type: "removal.read", document_hash: "document 1" });
    const applied_at = formatTimestamp(releasedMs);
    expect(removal).toMatchObject({ received_at, applied_at, purge_at_ms: releasedMs + 1_000 });
    business.nowMs += 1_000;
    expect(due(business)).toMatchObject([{ deleted_at_ms: releasedMs, due_ms: releasedMs + 1_000 }]);
  });
});

it("a version that is deleted again and again is known by its first deletion", () => {
  const business = open();
  publish(business, "p", 1);
  finish(business, "p");
  erase(business, 1, 1_000);
  for (let again = 1; again <= 5; again += 1) erase(business, 1, 1_000, `again ${again}`);
  const { head } = business.send({ type: "record.read", record_id: recordId(1) });
  expect(head?.deletions).toEqual([[1, "document 1"]]);
  for (let more = 2; more <= 7; more += 1) {
    publish(business, `p${more}`, 1);
    finish(business, `p${more}`);
    erase(business, 1, 1_000, `document ${more}`);
  }
  const after = business.send({ type: "record.read", record_id: recordId(1) }).head;
  expect(after?.deletions).toEqual([4, 5, 6, 7].map((each) => [each, `document ${each}`]));
  expect(after && deletionOf(after, 1)).toEqual([4, "document 4"]);
});
