// Ownership of actors: homes, moves between regions, and what a lost region leaves behind. With the profile `regions` the
// two regions are two data centres; otherwise both are names in one, which tests the same steps without distance.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { event, following, freshRef, after as headAfter, keyed } from "../actor-store.fixture.ts";
import { type ActorRef, eraOf, nextEra, rowTable } from "../actor-store.ts";
import { readThrough } from "./actor-rows.ts";
import type { CassandraActorStoreOptions } from "./actor-store.ts";
import { type ActorNode, ActorWorld } from "./actor-world.fixture.ts";
import { hasCassandra, testRegions } from "./keyspace.fixture.ts";

const here = testRegions[0] ?? "";
const there = testRegions[1] ?? "us-east1";

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let world: ActorWorld;
  let old: ActorNode;
  let next: ActorNode;
  let ref: ActorRef;
  const nodeOf = (region: string, options: Partial<CassandraActorStoreOptions> = {}) =>
    world.node(
      { region, partyOf: (each) => each.id, ...options },
      testRegions.includes(region) ? region : here,
    );
  beforeAll(async () => {
    world = await ActorWorld.open();
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());
  beforeEach(async () => {
    old = await nodeOf(here);
    next = await nodeOf(there);
    ref = freshRef(`party-${Date.now()}`);
  });

  /** An actor at home `here` with an event, a keyed row, an outbox row and a wake-up time, which the other region has as well. */
  const lived = async () => {
    const { head } = await old.store.claim(ref, "a");
    const outbox = { rt: rowTable.outbox, k: 4_096, k2: "", body: "{}" };
    const wakeAtMs = world.nowMs - 1;
    const commit = following(ref, head, { puts: [event(1), keyed(0, "x", "1"), outbox], wakeAtMs });
    expect((await old.store.commit(commit)).status).toBe("applied");
    await readThrough(await world.session(here), ref, "EACH_QUORUM");
    return commit;
  };
  const moved = async () => {
    const commit = await lived();
    await old.store.handOver(ref, there);
    return commit;
  };

  it("A3: an actor is claimed in its home region, and elsewhere the home is named", async () => {
    await lived();
    await expect(next.store.claim(ref, "b")).rejects.toMatchObject({
      effect: "not_applied",
      message: expect.stringContaining(`its home is ${here}`),
    });
    expect((await old.store.claim(ref, "a")).head.epoch).toBe(2);
  });

  it("A3: a new actor is claimed only where it may live", async () => {
    const barred = await nodeOf(there, { homeAllowed: (each, home) => each !== ref || home !== there });
    await expect(barred.store.claim(ref, "b")).rejects.toMatchObject({ effect: "not_applied" });
    expect(await old.store.readHead(ref)).toBeNull();
    expect((await next.store.claim(ref, "b")).head.epoch).toBe(1);
  });

  it("V1: an actor that is handed over goes on in the other region, and nowhere else", async () => {
    const commit = await moved();
    const zombie = following(ref, headAfter(commit), { puts: [event(2, '{"zombie":true}')] });
    expect((await old.store.commit(zombie)).status).toBe("refused");
    await expect(old.store.claim(ref, "a")).rejects.toMatchObject({
      message: expect.stringContaining(`its home is ${there}`),
    });
    const activation = await next.store.claim(ref, "b");
    expect(activation.head).toMatchObject({ head: 1, op: commit.op });
    expect(activation.head.epoch).toBeGreaterThan(commit.epoch);
    expect(activation.events).toEqual([event(1)]);
    expect(activation.outbox.map((row) => row.k)).toEqual([4_096]);
    expect(await next.store.readRows(ref, [{ rt: rowTable.firstKeyed, keys: ["x"] }])).toEqual([
      keyed(0, "x", "1"),
    ]);
    const first = following(ref, activation.head, { puts: [event(2)] });
    expect((await next.store.commit(first)).status).toBe("applied");
    expect((await next.store.claim(ref, "c")).events).toEqual([event(1), event(2)]);
  });

  it("V1: who has to wake it, and who asks for its party, finds it", async () => {
    await moved();
    const due = async (node: ActorNode) =>
      (await node.store.dueActors(world.nowMs, 10_000)).map((each) => each.ref);
    expect(await due(next)).toContainEqual(ref);
    expect(await due(old)).not.toContainEqual(ref);
    expect(await next.store.actorsOf(ref.id)).toEqual([ref]);
    expect(await next.store.listActors(ref.kind, "", 9)).toEqual([ref.id]);
  });

  it("N1: an actor of a kind that is soon forgotten is in no list", async () => {
    const { store } = await world.node({ isListed: () => false });
    const brief = freshRef();
    await store.claim(brief, "a");
    expect([await store.listActors(brief.kind, "", 9), await store.countActors(brief.kind, 9)]).toEqual([
      [],
      0,
    ]);
  });

  it("and may come back", async () => {
    await moved();
    const activation = await next.store.claim(ref, "b");
    await next.store.commit(following(ref, activation.head, { puts: [event(2)] }));
    await next.store.handOver(ref, here);
    const back = await old.store.claim(ref, "a");
    expect(back.events).toEqual([event(1), event(2)]);
    expect((await old.store.commit(following(ref, back.head, { puts: [event(3)] }))).status).toBe("applied");
  });

  it.each(["timeout_applied", "timeout_unapplied", "late"] as const)(
    "V2: each step of a move may meet «%s»",
    async (fault) => {
      const commit = await lived();
      old.session.failNext("SET epoch = ?, owner = ''", fault);
      old.session.failNext("SET epoch = ?, claim = ?, home", fault);
      await old.store.handOver(ref, there);
      if (fault === "late") {
        expect((await old.session.releaseLate()).applied).toBe(false);
        expect((await old.session.releaseLate()).applied).toBe(false);
      }
      expect((await next.store.claim(ref, "b")).head).toMatchObject({ head: 1, op: commit.op });
    },
  );

  it("V3: each step of a hand-over is one statement, and nothing is read twice", async () => {
    await lived();
    const before = old.session.sent.length;
    await old.store.handOver(ref, there);
    const ofActor = old.session.sent.slice(before).filter((cql) => /\bactor (WHERE|SET)\b/.test(cql));
    // Its head, the fence, the whole partition, and the final write.
    expect(ofActor.map((cql) => cql.split(" ", 1)[0])).toEqual(["SELECT", "UPDATE", "SELECT", "UPDATE"]);
  });

  it("V2: a move that broke off is taken up again, or not: until its last step the old home goes on", async () => {
    const commit = await lived();
    old.session.failNext("SET epoch = ?, claim = ?, home", "refused");
    await expect(old.store.handOver(ref, there)).rejects.toMatchObject({ effect: "not_applied" });
    await expect(next.store.claim(ref, "b")).rejects.toMatchObject({ effect: "not_applied" });
    expect((await old.store.claim(ref, "a")).head).toMatchObject({ op: commit.op });
    const another = await nodeOf(here);
    await another.store.handOver(ref, there);
    await another.store.handOver(ref, there);
    expect((await next.store.claim(ref, "b")).head).toMatchObject({ op: commit.op });
  });

  it("is handed over by its home only, and one that never lived not at all", async () => {
    await lived();
    await expect(next.store.handOver(ref, "third")).rejects.toMatchObject({ effect: "not_applied" });
    await next.store.handOver(freshRef(), here);
  });

  it("A3: a dead region's actor is taken over by the region that may, and by no other", async () => {
    const commit = await lived();
    const deadRegions = () => new Set([here]);
    const barred = await nodeOf(there, { deadRegions, homeAllowed: () => false });
    await expect(barred.store.claim(ref, "b")).rejects.toMatchObject({ effect: "not_applied" });
    const heir = await nodeOf(there, { deadRegions });
    const activation = await heir.store.claim(ref, "b");
    expect(activation.head).toMatchObject({ op: commit.op });
    expect(activation.events).toEqual([event(1)]);
    expect(activation.outbox.map((row) => row.k)).toEqual([4_096]);
    const own = following(ref, activation.head, { puts: [event(2)] });
    expect((await heir.store.commit(own)).status).toBe("applied");
    // From now on it belongs to the successor, whatever becomes of the declaration.
    expect((await next.store.claim(ref, "c")).events).toEqual([event(1), event(2)]);
  });

  it("A4: is not claimed while this region's clock is behind what was written last", async () => {
    await lived();
    const session = await world.session(here);
    // As a data centre whose clocks are far ahead would have written it.
    const aheadUs = (Date.now() + 3_600_000) * 1_000;
    const cql = "UPDATE actor USING TIMESTAMP ? SET epoch = 5 WHERE kind = ? AND id = ?";
    await session.execute(cql, [aheadUs, ref.kind, ref.id], { consistency: "EACH_QUORUM", idempotent: true });
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
    await expect(heir.store.claim(ref, "b")).rejects.toMatchObject({
      effect: "not_applied",
      message: expect.stringContaining("the clock of"),
    });
  });

  it("A4: a claim that is taken and then not seen is none, whatever the clock said", async () => {
    await lived();
    const session = await world.session(here);
    const aheadUs = (Date.now() + 3_600_000) * 1_000;
    const cql = "UPDATE actor USING TIMESTAMP ? SET epoch = 5, claim = uuid() WHERE kind = ? AND id = ?";
    await session.execute(cql, [aheadUs, ref.kind, ref.id], { consistency: "EACH_QUORUM", idempotent: true });
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
    const execute = heir.session.execute.bind(heir.session);
    heir.session.execute = async (text, params, options) => {
      const result = await execute(text, params, options);
      const isClock = text.includes("toUnixTimestamp");
      return isClock ? { ...result, rows: [{ time: Date.now() + 7_200_000 }] } : result;
    };
    await expect(heir.store.claim(ref, "b")).rejects.toMatchObject({ effect: "not_applied" });
  });

  it("A4: waits for its clock when it is a little behind", async () => {
    await lived();
    const session = await world.session(here);
    const aheadUs = (Date.now() + 1_500) * 1_000;
    const cql = "UPDATE actor USING TIMESTAMP ? SET epoch = 5 WHERE kind = ? AND id = ?";
    await session.execute(cql, [aheadUs, ref.kind, ref.id], { consistency: "EACH_QUORUM", idempotent: true });
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
    const { head } = await heir.store.claim(ref, "b");
    expect(eraOf(head.epoch)).toBe(1);
    expect(await heir.store.readHead(ref)).toMatchObject({ epoch: head.epoch, owner: "b" });
  });

  it("A6: a takeover begins a new era, ahead of what may be lost; a move and a later claim do not", async () => {
    const commit = await lived();
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
    const { head } = await heir.store.claim(ref, "b");
    expect(head).toMatchObject(nextEra(headAfter(commit)));
    expect(eraOf(head.epoch)).toBe(1);
    const own = following(ref, head, { puts: [event(2)] });
    expect((await heir.store.commit(own)).status).toBe("applied");
    const later = await heir.store.claim(ref, "c");
    expect(later.head).toMatchObject({ epoch: head.epoch + 1, head: head.head + 1, op: own.op });
    await heir.store.handOver(ref, here);
    const back = await old.store.claim(ref, "a");
    expect(back.head).toMatchObject({ head: head.head + 1, op: own.op });
    expect(eraOf(back.head.epoch)).toBe(1);
    const again = await nodeOf(there, { deadRegions: () => new Set([here]) });
    expect((await again.store.claim(ref, "b")).head).toMatchObject(nextEra(back.head));
  });

  it("A6: an actor that is not known begins a new era while a region is lost, which may have known it", async () => {
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
    const { head } = await heir.store.claim(ref, "b");
    expect(head).toMatchObject(nextEra({ epoch: 0, head: 0 }));
    expect((await heir.store.commit(following(ref, head, { puts: [event(head.head + 1)] }))).status).toBe(
      "applied",
    );
    expect(await heir.store.readHead(ref)).toMatchObject({ epoch: head.epoch, head: head.head + 1 });
    const again = await nodeOf(there, { deadRegions: () => new Set([here, "another"]) });
    expect((await again.store.claim(freshRef(), "b")).head).toMatchObject(
      nextEra(nextEra({ epoch: 0, head: 0 })),
    );
    const brief = freshRef();
    expect((await heir.store.claim(brief, "b", 1_700_000_000)).head).toMatchObject({
      epoch: 1_700_000_000,
      head: 0,
    });
  });

  it.each(["timeout_applied", "timeout_unapplied", "late"] as const)(
    "A6: a takeover that meets «%s» begins one era, and keeps what it commits",
    async (fault) => {
      await lived();
      const heir = await nodeOf(there, { deadRegions: () => new Set([here]) });
      heir.session.failNext("SET epoch = ?, owner = ?, claim = ?, home = ?, head", fault);
      const { head } = await heir.store.claim(ref, "b");
      if (fault === "late") expect((await heir.session.releaseLate()).applied).toBe(false);
      expect(eraOf(head.epoch)).toBe(1);
      const own = following(ref, head, { puts: [event(2)] });
      expect((await heir.store.commit(own)).status).toBe("applied");
      expect((await heir.store.claim(ref, "c")).events).toEqual([event(1), event(2)]);
    },
  );

  it("F4: with replicate-before-ack every region has what was answered", async () => {
    const careful = await nodeOf(here, { replicateBeforeAck: true });
    const { head } = await careful.store.claim(ref, "a");
    const commit = following(ref, head, { puts: [event(1)] });
    careful.session.failNext("UPDATE actor SET head", "timeout_applied");
    await expect(careful.store.commit(commit)).rejects.toMatchObject({ effect: "unknown" });
    // When resent it is found applied, and then read everywhere: an acknowledgement of only some regions is not enough.
    careful.session.failNext("SELECT body FROM actor WHERE kind = ? AND id = ? AND rt = ?", "refused");
    await expect(careful.store.commit(commit)).rejects.toMatchObject({ effect: "unknown" });
    expect(await careful.store.commit(commit)).toEqual({ status: "applied" });
    const heir = await nodeOf(there, { deadRegions: () => new Set([here]), replicateBeforeAck: true });
    expect((await heir.store.claim(ref, "b")).events).toEqual([event(1)]);
  });

  it("F4: of a party's actor only: what belongs to a region is lost with it, and waits for no other", async () => {
    const careful = await nodeOf(here, {
      replicateBeforeAck: true,
      partyOf: (each) => (each === ref ? each.id : null),
    });
    const levels: (string | undefined)[] = [];
    const { batch } = careful.session;
    careful.session.batch = (statements, options) => {
      levels.push(options.consistency);
      return batch.call(careful.session, statements, options);
    };
    for (const each of [ref, freshRef()]) {
      const { head } = await careful.store.claim(each, "a");
      await careful.store.commit(following(each, head, { puts: [event(1)] }));
    }
    expect(levels).toEqual(["EACH_QUORUM", "EACH_QUORUM", "LOCAL_QUORUM", "LOCAL_QUORUM"]);
  });
});
