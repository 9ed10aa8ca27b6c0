// The actor store on a real engine whose answers get lost, arrive late, or are never sent.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import {
  event,
  following,
  freshRef,
  after as headAfter,
  keyed,
  operationId,
} from "../actor-store.fixture.ts";
import { type ActorHead, rowTable, StoreError } from "../actor-store.ts";
import { type ActorNode, ActorWorld } from "./actor-world.fixture.ts";
import type { SessionFault } from "./faulty-session.fixture.ts";
import { hasCassandra } from "./keyspace.fixture.ts";

const commitCql = "UPDATE actor SET head";
const claimCql = "UPDATE actor SET epoch";
const faults: readonly SessionFault[] = ["refused", "timeout_unapplied", "timeout_applied", "late"];

describe.skipIf(!hasCassandra)("with a Cassandra that SVC_TEST_CASSANDRA names", () => {
  let world: ActorWorld;
  let node: ActorNode;
  beforeAll(async () => {
    world = await ActorWorld.open();
  });
  afterAll(async () => await world?.[Symbol.asyncDispose]());

  const claimed = async () => {
    node = await world.node();
    const ref = freshRef();
    const { head } = await node.store.claim(ref, "a");
    return { ref, head };
  };
  const failure = async (work: Promise<unknown>): Promise<unknown> => {
    const error = await work.catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(StoreError);
    return (error as StoreError).effect;
  };

  describe("a commit", () => {
    it.each(faults)("S3: sent again after «%s» is applied once", async (fault) => {
      const { ref, head } = await claimed();
      const commit = following(ref, head, { puts: [event(1), keyed(0, "x")] });
      node.session.failNext(commitCql, fault);
      expect(await failure(node.store.commit(commit))).toBe(fault === "refused" ? "not_applied" : "unknown");
      expect(await node.store.commit(commit)).toEqual({ status: "applied" });
      if (fault === "late") expect((await node.session.releaseLate()).applied).toBe(false);
      const next = following(ref, headAfter(commit), { puts: [event(2)] });
      expect(await node.store.commit(next)).toEqual({ status: "applied" });
      const activation = await node.store.claim(ref, "b");
      expect(activation.head).toMatchObject({ head: 2, op: next.op });
      expect(activation.events).toEqual([event(1), event(2)]);
    });

    it.each(faults)("S1, S5: lost with «%s» is settled by the next claim, either way", async (fault) => {
      const { ref, head } = await claimed();
      const commit = following(ref, head, { puts: [event(1)] });
      node.session.failNext(commitCql, fault);
      await failure(node.store.commit(commit));
      const other = await world.node();
      const activation = await other.store.claim(ref, "b");
      const isApplied = fault === "timeout_applied";
      expect(activation.head).toMatchObject({ head: isApplied ? 1 : 0, op: isApplied ? commit.op : "" });
      expect(activation.events).toEqual(isApplied ? [event(1)] : []);
      if (fault === "late") expect((await node.session.releaseLate()).applied).toBe(false);
      const again = await node.store.commit(commit);
      if (isApplied) expect(again).toEqual({ status: "applied" });
      else expect(again).toMatchObject({ status: "refused", epoch: 2, head: 0, op: "" });
      const op = operationId(9_000_001);
      const next = following(ref, activation.head, { op, puts: [event(7)] });
      expect(await other.store.commit(next)).toEqual({ status: "applied" });
      expect((await node.store.readHead(ref))?.op).toBe(op);
    });

    it("F1: is one statement and nothing else, with nobody to wake or a hint that covers it", async () => {
      const { ref, head } = await claimed();
      const first = following(ref, head, { puts: [event(1)], wakeAtMs: world.nowMs + 60_000 });
      await node.store.commit(first);
      node.session.sent.length = 0;
      const second = following(ref, headAfter(first), { wakeAtMs: world.nowMs + 90_000 });
      await node.store.commit(second);
      await node.store.commit(following(ref, headAfter(second), { puts: [event(2)] }));
      expect(node.session.sent.map((cql) => cql.slice(0, commitCql.length))).toEqual([commitCql, commitCql]);
    });

    it("F1, H1: has its hint before it, when it needs one", async () => {
      const { ref, head } = await claimed();
      node.session.sent.length = 0;
      const first = following(ref, head, { wakeAtMs: world.nowMs + 60_000 });
      await node.store.commit(first);
      await node.store.commit(following(ref, headAfter(first), { wakeAtMs: world.nowMs + 30_000 }));
      const kinds = node.session.sent.filter((cql) => !cql.includes("floor")).map((cql) => cql.split(" ")[0]);
      expect(kinds).toEqual(["INSERT", "UPDATE", "INSERT", "UPDATE"]);
    });

    it("F1: without its hint is not sent", async () => {
      const { ref, head } = await claimed();
      const commit = following(ref, head, { wakeAtMs: 5, puts: [event(1)] });
      for (const fault of ["timeout_applied", "timeout_unapplied", "refused"] as const) {
        node.session.failNext("INTO actor_wake (", fault);
        expect(await failure(node.store.commit(commit))).toBe("not_applied");
      }
      expect((await node.store.readHead(ref))?.head).toBe(0);
      expect(await node.store.commit(commit)).toEqual({ status: "applied" });
    });

    it("may have thousands of rows, and a snapshot of the largest size", async () => {
      const { ref, head } = await claimed();
      const body = "x".repeat(1_000);
      const puts = Array.from({ length: 3_000 }, (_, n) => keyed(0, `record-${n}`, body));
      const snapshot = { seq: 0, body: JSON.stringify("é".repeat(32_000)), schemaVersion: 1 };
      const commit = following(ref, head, { puts, snapshot });
      expect(await node.store.commit(commit)).toEqual({ status: "applied" });
      const keys = puts.map((row) => row.k2);
      expect(await node.store.readRows(ref, [{ rt: rowTable.firstKeyed, keys }])).toHaveLength(3_000);
      expect((await node.store.claim(ref, "b")).head.snapshot).toBe(snapshot.body);
    });
  });

  describe("a claim", () => {
    it.each(["timeout_unapplied", "timeout_applied", "late"] as const)(
      "A1, A2: that met «%s» ends with one epoch more",
      async (fault) => {
        node = await world.node();
        const ref = freshRef();
        for (const epoch of [1, 2]) {
          node.session.failNext(claimCql, fault);
          expect((await node.store.claim(ref, `owner-${epoch}`)).head).toMatchObject({ epoch, head: 0 });
          if (fault === "late") expect((await node.session.releaseLate()).applied).toBe(false);
          expect(await node.store.readHead(ref)).toMatchObject({ epoch, owner: `owner-${epoch}` });
        }
      },
    );

    it("A1: all of whose attempts arrive late raises the epoch of nobody who claimed since", async () => {
      const { ref, head } = await claimed();
      const late = await world.node();
      const attempts = 12;
      for (let attempt = 0; attempt < attempts; attempt += 1) late.session.failNext(claimCql, "late");
      expect(await failure(late.store.claim(ref, "late"))).toBe("unknown");
      const owner = (await node.store.claim(ref, "b")).head;
      for (let attempt = 0; attempt < attempts; attempt += 1) {
        expect((await late.session.releaseLate()).applied).toBe(false);
      }
      expect(owner.epoch).toBe(head.epoch + 1);
      expect((await node.store.commit(following(ref, owner))).status).toBe("applied");
    });

    it("S5: finds what a commit wrote between its reading and its taking over", async () => {
      const { ref, head } = await claimed();
      const other = await world.node();
      const commit = following(ref, head, { puts: [event(1)] });
      let isFirst = true;
      const batch = other.session.batch.bind(other.session);
      other.session.batch = async (statements, options) => {
        if (isFirst) expect(await node.store.commit(commit)).toEqual({ status: "applied" });
        isFirst = false;
        return batch(statements, options);
      };
      const activation = await other.store.claim(ref, "b");
      expect(activation.head).toMatchObject({ epoch: 2, head: 1, op: commit.op });
      expect(activation.events).toEqual([event(1)]);
    });

    it("A1: that others overtake again and again gives up, and says that it has nothing", async () => {
      const { ref } = await claimed();
      const other = await world.node();
      const batch = other.session.batch.bind(other.session);
      other.session.batch = async (statements, options) => {
        await node.store.claim(ref, "faster");
        return batch(statements, options);
      };
      expect(await failure(other.store.claim(ref, "slow"))).toBe("not_applied");
    });

    it("A5: writes the actor's names first: what was claimed can be found", async () => {
      node = await world.node({ partyOf: (ref) => ref.id });
      const ref = freshRef("party-1");
      node.session.failNext("INTO actor_of_party", "timeout_unapplied");
      expect(await failure(node.store.claim(ref, "a"))).toBe("unknown");
      expect(await node.store.readHead(ref)).toBeNull();
      await node.store.claim(ref, "a");
      expect(await node.store.listActors(ref.kind, "", 5)).toEqual(["party-1"]);
      expect(await node.store.actorsOf("party-1")).toContainEqual(ref);
    });
  });

  describe("rows", () => {
    it("S6: are given a life that ends after their instant, and replace what lived longer", async () => {
      const { ref, head } = await claimed();
      const rt = rowTable.firstKeyed;
      const inAnHour = world.nowMs + 3_600_000;
      const first = following(ref, head, {
        puts: [
          { ...keyed(0, "hour"), expiresAtMs: inAnHour },
          { ...keyed(0, "turned"), expiresAtMs: inAnHour },
          { ...keyed(0, "decades"), expiresAtMs: world.nowMs + 40 * 365 * 86_400_000 },
          keyed(0, "ended"),
        ],
      });
      await node.store.commit(first);
      const ended = { ...keyed(0, "ended", "2"), expiresAtMs: 1 };
      await node.store.commit(following(ref, headAfter(first), { puts: [keyed(0, "turned"), ended] }));
      const rows = await node.store.readRows(ref, [{ rt, limit: 9 }]);
      expect(rows.find((row) => row.k2 === "hour")).toMatchObject({ expiresAtMs: inAnHour });
      expect(rows.find((row) => row.k2 === "turned")).toEqual(keyed(0, "turned"));
      expect(rows.find((row) => row.k2 === "ended")?.body).not.toBe("{}");
      const session = await world.session();
      const cql = "SELECT k2, TTL(body) AS ttl FROM actor WHERE kind = ? AND id = ? AND rt = ?";
      const result = await session.execute(cql, [ref.kind, ref.id, rt], { idempotent: true });
      const lives = new Map(result.rows.map((row) => [row["k2"], row["ttl"]]));
      expect(lives.get("hour")).toBeGreaterThan(3_600);
      expect(lives.get("turned")).toBeNull();
      expect(lives.get("decades")).toBeNull();
    });

    it("R2: of the outbox are read from where they begin, and none is lost without a track", async () => {
      const { ref, head } = await claimed();
      const out = (k: number) => ({ rt: rowTable.outbox, k, k2: "", body: `${k}` });
      let at: Pick<ActorHead, "epoch" | "head" | "op"> = head;
      for (let k = 100; k < 105; k += 1) {
        const commit = following(ref, at, { puts: [out(k)], deletes: k === 100 ? [] : [out(k - 1)] });
        await node.store.commit(commit);
        at = headAfter(commit);
      }
      const session = await world.session();
      const low = async () => {
        const cql = "SELECT DISTINCT kind, id, outbox_low FROM actor WHERE kind = ? AND id = ?";
        const { rows } = await session.execute(cql, [ref.kind, ref.id], { idempotent: true });
        return rows[0]?.["outbox_low"];
      };
      expect(await low()).toBe(104);
      // A process that continues with the activation and remembers nothing of it.
      const other = await world.node();
      expect((await other.store.commit(following(ref, at, { puts: [out(7)] }))).status).toBe("applied");
      expect(await low()).toBe(0);
      const activation = await node.store.claim(ref, "b");
      expect(activation.outbox).toEqual([out(7), out(104)]);
    });

    it("that this store did not write are said to be so", async () => {
      const { ref } = await claimed();
      const session = await world.session();
      const cql = "INSERT INTO actor (kind, id, rt, k, k2, body) VALUES (?, ?, 16, 0, 'x', ?)";
      await session.execute(cql, [ref.kind, ref.id, new Uint8Array([9])], { idempotent: true });
      expect(await failure(node.store.readRows(ref, [{ rt: 16, limit: 5 }]))).toBe("not_applied");
    });
  });
});
