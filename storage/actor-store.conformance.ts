// What every implementation of the port in actor-store.ts must pass: obligations S1–S10 one by one, then random
// concurrent writers against a model. An adapter's test calls `actorStoreConformance` with a way to open it.
// Puts and deletes of one commit never name the same key: what wins differs between engines.

import { afterEach, describe, expect, it } from "vitest";
import {
  after,
  event,
  following,
  freshRef,
  keyed,
  type OpenActorStore,
  operationId,
} from "./actor-store.fixture.ts";
import {
  type ActorCommit,
  type ActorRef,
  type ActorStore,
  type CommitOutcome,
  newActor,
  type PartitionRow,
  rowTable,
} from "./actor-store.ts";
import { describeConcurrency } from "./actor-store-concurrency.conformance.ts";
import { describeForgetting } from "./actor-store-forgetting.conformance.ts";

export type { OpenActorStore } from "./actor-store.fixture.ts";

export function actorStoreConformance(name: string, open: () => Promise<OpenActorStore>): void {
  describe(`${name} keeps the contract of an actor store`, () => {
    const opened: OpenActorStore[] = [];
    const start = async (): Promise<OpenActorStore> => {
      const handle = await open();
      opened.push(handle);
      return handle;
    };
    afterEach(async () => {
      for (const handle of opened.splice(0)) await handle.close();
    });

    describeFence(start);
    describeCreation(start);
    describeJoining(start);
    describeContents(start);
    describeDurability(start, opened);
    describeListing(start);
    describeForgetting(start);
    describeConcurrency(start);
  });
}

function describeFence(start: () => Promise<OpenActorStore>): void {
  it("S1: a claim raises the epoch by one and names the owner", async () => {
    const { store } = await start();
    const ref = freshRef();
    expect(await store.readHead(ref)).toBeNull();
    expect((await store.claim(ref, "a")).head).toMatchObject({
      epoch: 1,
      owner: "a",
      head: 0,
      op: "",
      snapshot: null,
    });
    expect((await store.claim(ref, "b")).head).toMatchObject({ epoch: 2, owner: "b" });
    expect(await store.readHead(ref)).toMatchObject({ epoch: 2, owner: "b", head: 0 });
  });

  it("S1: two claimers racing get different epochs and only the later may write", async () => {
    const { store } = await start();
    const ref = freshRef();
    const claims = await Promise.all([store.claim(ref, "a"), store.claim(ref, "b"), store.claim(ref, "c")]);
    const heads = claims.map((claim) => claim.head).sort((a, b) => a.epoch - b.epoch);
    expect(heads.map((head) => head.epoch)).toEqual([1, 2, 3]);
    const outcomes: CommitOutcome["status"][] = [];
    for (const head of heads) outcomes.push((await store.commit(following(ref, head))).status);
    expect(outcomes).toEqual(["refused", "refused", "applied"]);
  });

  it("S1: a zombie's commit is refused and tells who owns the actor", async () => {
    const { store } = await start();
    const ref = freshRef();
    const zombie = (await store.claim(ref, "a")).head;
    const first = following(ref, zombie, { puts: [event(1)] });
    expect(await store.commit(first)).toEqual({ status: "applied" });
    const owner = (await store.claim(ref, "b")).head;
    const late = following(ref, after(first), { puts: [event(2, '{"zombie":true}')] });
    expect(await store.commit(late)).toEqual({
      status: "refused",
      epoch: owner.epoch,
      head: 1,
      op: first.op,
    });
    expect((await store.claim(ref, "c")).events).toEqual([event(1)]);
  });

  it("S2: a commit is refused whole when head or operation are not the expected ones", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const first = following(ref, head, { puts: [keyed(0, "x", "1")] });
    expect((await store.commit(first)).status).toBe("applied");
    const strayHead = {
      ...following(ref, { ...after(first), head: 5 }),
      puts: [keyed(0, "x", "2")],
      wakeAtMs: 1,
    };
    const strayOp = { ...following(ref, { ...after(first), op: operationId(77) }), puts: [keyed(0, "y")] };
    expect((await store.commit(strayHead)).status).toBe("refused");
    expect((await store.commit(strayOp)).status).toBe("refused");
    expect(await store.readRows(ref, [{ rt: rowTable.firstKeyed, limit: 10 }])).toEqual([keyed(0, "x", "1")]);
    expect((await store.readHead(ref))?.head).toBe(1);
  });

  it("S2: a commit for an actor that was never claimed is refused", async () => {
    const { store } = await start();
    const outcome = await store.commit(following(freshRef(), { epoch: 0, head: 0, op: "" }));
    expect(outcome).toEqual({ status: "refused", epoch: 0, head: 0, op: "" });
  });

  it("S3: the same commit sent again is applied once and answered as applied", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const commit = following(ref, head, { puts: [event(1)] });
    expect(await Promise.all([store.commit(commit), store.commit(commit)])).toEqual([
      { status: "applied" },
      { status: "applied" },
    ]);
    expect((await store.readHead(ref))?.head).toBe(1);
    const next = following(ref, after(commit), { puts: [event(2)] });
    expect((await store.commit(next)).status).toBe("applied");
  });

  it("S3: an applied commit is recognised even when another has claimed since", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const commit = following(ref, head);
    await store.commit(commit);
    await store.claim(ref, "b");
    expect((await store.commit(commit)).status).toBe("applied");
  });
}

function describeCreation(start: () => Promise<OpenActorStore>): void {
  const fresh = { epoch: 41, ...newActor };

  it("S9: a commit creates an actor that never existed, and claims it for its owner", async () => {
    const { store } = await start();
    if (!store.createsActors) return;
    const ref = freshRef();
    const first = following(ref, fresh, { puts: [event(1)], wakeAtMs: 7, creates: "a" });
    expect(await store.commit(first)).toEqual({ status: "applied" });
    expect(await store.readHead(ref)).toMatchObject({ epoch: 41, owner: "a", head: 1, op: first.op });
    expect(await store.dueActors(7, 1_000)).toContainEqual({ ref, wakeAtMs: 7 });
    const next = following(ref, after(first), { puts: [event(2)] });
    expect(await store.commit(next)).toEqual({ status: "applied" });
    const claimed = await store.claim(ref, "b");
    expect([claimed.head.epoch, claimed.events]).toEqual([42, [event(1), event(2)]]);
  });

  it("S9: a commit creates nothing where an actor exists, even one without a commit", async () => {
    const { store } = await start();
    if (!store.createsActors) return;
    const [claimed, created] = [freshRef(), freshRef()];
    await store.claim(claimed, "a");
    const first = following(created, fresh, { puts: [event(1)], creates: "a" });
    await store.commit(first);
    const late = (ref: ActorRef) =>
      following(ref, fresh, { op: operationId(99), puts: [event(9)], creates: "b" });
    expect(await store.commit(late(claimed))).toMatchObject({ status: "refused", epoch: 1, head: 0, op: "" });
    expect(await store.commit(late(created))).toMatchObject({ status: "refused", epoch: 41, head: 1 });
    expect((await store.claim(claimed, "c")).events).toEqual([]);
    expect((await store.claim(created, "c")).events).toEqual([event(1)]);
  });

  it("S3, S9: a creating commit that is sent again is applied once, and its actor keeps its owner", async () => {
    const { store } = await start();
    if (!store.createsActors) return;
    const ref = freshRef();
    const commit = following(ref, fresh, { puts: [event(1)], creates: "a" });
    const both = await Promise.all([store.commit(commit), store.commit(commit)]);
    expect(both).toEqual([{ status: "applied" }, { status: "applied" }]);
    expect(await store.readHead(ref)).toMatchObject({ epoch: 41, owner: "a", head: 1 });
  });
}

function describeJoining(start: () => Promise<OpenActorStore>): void {
  /** A commit of one actor with that of another; both have one before. */
  const newPair = async (store: ActorStore) => {
    const newHead = async (ref: ActorRef) => {
      const first = following(ref, (await store.claim(ref, "a")).head, { puts: [event(1)] });
      await store.commit(first);
      return after(first);
    };
    const [one, other] = [freshRef(), freshRef()];
    const joins = following(other, await newHead(other), { puts: [event(2)] });
    return { joins, commit: following(one, await newHead(one), { puts: [event(2)], with: [joins] }) };
  };
  const leftOf = async (store: ActorStore, { ref }: ActorCommit) => {
    const rows = await store.readRows(ref, [{ rt: rowTable.event, limit: 9 }]);
    return { head: (await store.readHead(ref))?.head, rows };
  };
  const untouched = { head: 1, rows: [event(1)] };
  const applied = { head: 2, rows: [event(1), event(2)] };

  it("S10: commits of several actors are applied together", async () => {
    const { store } = await start();
    if (!store.joinsCommits) return;
    const { commit, joins } = await newPair(store);
    expect(await store.commit({ ...commit, with: [{ ...joins, wakeAtMs: 7 }] })).toEqual({
      status: "applied",
    });
    for (const each of [commit, joins]) expect(await leftOf(store, each)).toEqual(applied);
    expect(await store.dueActors(7, 1_000)).toContainEqual({ ref: joins.ref, wakeAtMs: 7 });
    const next = following(joins.ref, after(joins), { puts: [event(3)] });
    expect(await store.commit(next)).toEqual({ status: "applied" });
    expect((await store.claim(joins.ref, "b")).events).toEqual([event(1), event(2), event(3)]);
  });

  it("S10: nothing is applied where one of the others is refused, and the first may be applied alone then", async () => {
    const { store } = await start();
    if (!store.joinsCommits) return;
    const { commit, joins } = await newPair(store);
    const { joins: joinsToo } = await newPair(store);
    await store.claim(joins.ref, "b");
    const refused = { status: "refused", epoch: 2, head: 1, op: joins.expectedOp, other: joins };
    expect(await store.commit({ ...commit, with: [joinsToo, joins] })).toEqual(refused);
    for (const each of [commit, joins, joinsToo]) expect(await leftOf(store, each)).toEqual(untouched);
    const { with: _, ...alone } = commit;
    expect(await store.commit(alone)).toEqual({ status: "applied" });
  });

  it("S10: one that never existed is refused as well", async () => {
    const { store } = await start();
    if (!store.joinsCommits) return;
    const { commit } = await newPair(store);
    const never = following(freshRef(), { epoch: 1, head: 0, op: "" });
    const refused = { status: "refused", epoch: 0, head: 0, op: "", other: never };
    expect(await store.commit({ ...commit, with: [never] })).toEqual(refused);
    expect(await leftOf(store, commit)).toEqual(untouched);
  });

  it("S10: nothing of the others is applied where the first is refused, whatever they are", async () => {
    const { store } = await start();
    if (!store.joinsCommits) return;
    const { commit, joins } = await newPair(store);
    await store.claim(commit.ref, "b");
    const refused = { status: "refused", epoch: 2, head: 1, op: commit.expectedOp };
    expect(await store.commit(commit)).toEqual(refused);
    expect(await leftOf(store, joins)).toEqual(untouched);
    await store.claim(joins.ref, "b");
    expect(await store.commit(commit)).toEqual(refused);
  });

  it("S3, S10: what is sent again is applied once, also when the others have gone on since", async () => {
    const { store } = await start();
    if (!store.joinsCommits) return;
    const { commit, joins } = await newPair(store);
    const { commit: atOnce } = await newPair(store);
    const both = await Promise.all([store.commit(atOnce), store.commit(atOnce)]);
    expect(both).toEqual([{ status: "applied" }, { status: "applied" }]);
    expect(await leftOf(store, atOnce)).toEqual(applied);
    await store.commit(commit);
    await store.commit(following(joins.ref, after(joins), { puts: [event(3)] }));
    expect(await store.commit(commit)).toEqual({ status: "applied" });
    await store.claim(joins.ref, "b");
    expect(await store.commit(commit)).toEqual({ status: "applied" });
    expect(await leftOf(store, joins)).toEqual({ head: 3, rows: [event(1), event(2), event(3)] });
  });
}

function describeContents(start: () => Promise<OpenActorStore>): void {
  it("S2: puts and deletes of one commit take effect together", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const outboxRow = { rt: rowTable.outbox, k: 4096, k2: "", body: "{}" };
    const first = following(ref, head, {
      puts: [event(1), outboxRow, keyed(0, "gone"), keyed(0, "kept", "old")],
    });
    await store.commit(first);
    const second = following(ref, after(first), {
      puts: [event(2), keyed(0, "kept", "new"), { rt: rowTable.timer, k: 0, k2: "t", body: "{}" }],
      deletes: [outboxRow, { rt: rowTable.firstKeyed, k: 0, k2: "gone" }],
    });
    await store.commit(second);
    const activation = await store.claim(ref, "b");
    expect(activation.events).toEqual([event(1), event(2)]);
    expect(activation.outbox).toEqual([]);
    expect(activation.timers).toEqual([{ rt: rowTable.timer, k: 0, k2: "t", body: "{}" }]);
    expect(await store.readRows(ref, [{ rt: rowTable.firstKeyed, limit: 9 }])).toEqual([
      keyed(0, "kept", "new"),
    ]);
  });

  it("S5: a claim returns the rows of each table in order, and keyed rows only on demand", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const outboxRow = (k: number): PartitionRow => ({ rt: rowTable.outbox, k, k2: "", body: `${k}` });
    const inboxRow = { rt: rowTable.inbox, k: 0, k2: "push/é\u{1F600}", body: "7" };
    await store.commit(
      following(ref, head, {
        puts: [event(10), event(9), outboxRow(8192), outboxRow(20), inboxRow, keyed(1, "z")],
      }),
    );
    const activation = await store.claim(ref, "b");
    expect(activation.events.map((row) => row.k)).toEqual([9, 10]);
    expect(activation.outbox.map((row) => row.k)).toEqual([20, 8192]);
    expect(activation.inbox).toEqual([inboxRow]);
    expect(JSON.stringify(activation)).not.toContain('"z"');
  });

  it("a snapshot replaces the one before and prunes the events that it contains", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const first = following(ref, head, { puts: [event(1), event(2), event(3)] });
    const second = following(ref, after(first), {
      puts: [event(4)],
      snapshot: { seq: 2, body: '{"at":2}', schemaVersion: 7 },
    });
    await store.commit(first);
    await store.commit(second);
    const activation = await store.claim(ref, "b");
    expect(activation.head).toMatchObject({
      head: 2,
      snapshotSeq: 2,
      snapshot: '{"at":2}',
      schemaVersion: 7,
    });
    expect(activation.events.map((row) => row.k)).toEqual([3, 4]);
    const third = following(ref, after({ ...second, epoch: activation.head.epoch }), {
      snapshot: { seq: 4, body: '{"at":4}', schemaVersion: 8 },
    });
    expect((await store.commit(third)).status).toBe("applied");
    const later = await store.claim(ref, "c");
    expect(later.head).toMatchObject({ snapshotSeq: 4, snapshot: '{"at":4}', schemaVersion: 8 });
    expect(later.events).toEqual([]);
    expect(await store.readRows(ref, [{ rt: rowTable.event, limit: 10 }])).toEqual([]);
  });

  it("keyed rows are read by their text, whatever their number, and as pages in (k, k2) order", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    const rt = rowTable.firstKeyed;
    const rows = [
      keyed(0, "a"),
      keyed(0, "b"),
      keyed(1, "a"),
      keyed(2, ""),
      keyed(9_007_199_254_740_991, "b"),
    ];
    await store.commit(following(ref, head, { puts: [...rows].reverse() }));
    const byText = await store.readRows(ref, [{ rt, keys: ["a", "missing"] }]);
    expect([...byText].sort((x, y) => x.k - y.k)).toEqual([keyed(0, "a"), keyed(1, "a")]);
    expect(await store.readRows(ref, [{ rt, limit: 2 }])).toEqual(rows.slice(0, 2));
    expect(await store.readRows(ref, [{ rt, after: { k: 0, k2: "b" }, limit: 2 }])).toEqual(rows.slice(2, 4));
    expect(await store.readRows(ref, [{ rt, after: { k: 2, k2: "" }, limit: 9 }])).toEqual(rows.slice(4));
    expect(await store.readRows(ref, [{ rt: rt + 1, limit: 9 }])).toEqual([]);
    const both = await store.readRows(ref, [
      { rt, keys: ["b"] },
      { rt, limit: 1 },
    ]);
    expect(both).toHaveLength(3);
    expect(await store.readRows(freshRef(), [{ rt, limit: 9 }])).toEqual([]);
  });

  it("the system's own tables are read like keyed ones, for operators", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    await store.commit(following(ref, head, { puts: [event(1), event(2)] }));
    expect(await store.readRows(ref, [{ rt: rowTable.event, after: { k: 1, k2: "" }, limit: 5 }])).toEqual([
      event(2),
    ]);
  });

  it("S6: a row that expires is not forgotten before its instant", async () => {
    const { store } = await start();
    const ref = freshRef();
    const { head } = await store.claim(ref, "a");
    // Whole seconds, for engines that measure the lifetime of a row in seconds.
    const expiresAtMs = Math.ceil(Date.now() / 1_000) * 1_000 + 3_600_000;
    const lasting = { ...keyed(0, "lasting"), expiresAtMs };
    const first = following(ref, head, { puts: [lasting, { ...keyed(0, "past"), expiresAtMs: 1 }] });
    await store.commit(first);
    await store.commit(following(ref, after(first), { puts: [event(1)] }));
    const rows = await store.readRows(ref, [{ rt: rowTable.firstKeyed, keys: ["lasting"] }]);
    expect(rows.map((row) => row.k2)).toEqual(["lasting"]);
  });

  it("partitions do not see each other", async () => {
    const { store } = await start();
    const [one, two] = [freshRef("a"), freshRef("a")];
    const head = (await store.claim(one, "a")).head;
    await store.commit(following(one, head, { puts: [event(1), keyed(0, "x")] }));
    expect((await store.claim(two, "a")).events).toEqual([]);
    expect(await store.readRows(two, [{ rt: rowTable.firstKeyed, keys: ["x"] }])).toEqual([]);
    expect((await store.claim({ ...one, id: "b" }, "a")).head.epoch).toBe(1);
  });
}

function describeDurability(start: () => Promise<OpenActorStore>, opened: OpenActorStore[]): void {
  it("S4, S5: what was acknowledged is there after a crash, and the epoch goes on counting", async () => {
    const handle = await start();
    const ref = freshRef();
    const { head } = await handle.store.claim(ref, "a");
    const commit = following(ref, head, {
      puts: [event(1), { rt: rowTable.timer, k: 0, k2: "t", body: "{}" }, keyed(3, "x", "ü")],
      snapshot: { seq: 0, body: '{"é":1}', schemaVersion: 1 },
      wakeAtMs: 5_000,
    });
    expect((await handle.store.commit(commit)).status).toBe("applied");
    const again = await handle.reopen();
    opened.splice(opened.indexOf(handle), 1, again);
    const activation = await again.store.claim(ref, "b");
    expect(activation.head).toMatchObject({ epoch: 2, head: 1, op: commit.op, snapshot: '{"é":1}' });
    expect(activation.events).toEqual([event(1)]);
    expect(activation.timers).toHaveLength(1);
    expect(await again.store.readRows(ref, [{ rt: rowTable.firstKeyed, keys: ["x"] }])).toEqual([
      keyed(3, "x", "ü"),
    ]);
    const due = await again.store.dueActors(5_000, 10_000);
    expect(due).toContainEqual({ ref, wakeAtMs: 5_000 });
  });
}

function describeListing(start: () => Promise<OpenActorStore>): void {
  it("S7: every actor whose last commit gave a due wake-up time is found, earliest first", async () => {
    const { store } = await start();
    const kind = freshRef().kind;
    const wakeUps = [
      ["late", 3_000],
      ["early", 1_000],
      ["middle", 2_000],
      ["never", null],
      ["future", 9_000_000],
    ] as const;
    for (const [id, wakeAtMs] of wakeUps) {
      const ref = { kind, id };
      const { head } = await store.claim(ref, "a");
      const first = following(ref, head, { wakeAtMs: 1 });
      await store.commit(first);
      await store.commit(following(ref, after(first), { wakeAtMs }));
    }
    const due = (await store.dueActors(3_000, 10_000)).filter((each) => each.ref.kind === kind);
    expect(due.map((each) => [each.ref.id, each.wakeAtMs])).toEqual([
      ["early", 1_000],
      ["middle", 2_000],
      ["late", 3_000],
    ]);
    expect((await store.dueActors(3_000, 1)).length).toBe(1);
  });

  it("actors of a kind are listed in id order, page by page", async () => {
    const { store } = await start();
    const kind = freshRef().kind;
    for (const id of ["b", "a", "d", "c"]) await store.claim({ kind, id }, "a");
    expect(await store.listActors(kind, "", 3)).toEqual(["a", "b", "c"]);
    expect(await store.listActors(kind, "c", 3)).toEqual(["d"]);
    expect(await store.listActors(`${kind}x`, "", 3)).toEqual([]);
    const counted = [await store.countActors(kind, 9), await store.countActors(kind, 3)];
    expect([...counted, await store.countActors(`${kind}x`, 9)]).toEqual([4, 3, 0]);
  });
}
