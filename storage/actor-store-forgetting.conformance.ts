// Part of the conformance suite of actor stores: obligation S8.

import { expect, it } from "vitest";
import {
  after,
  event,
  following,
  freshRef,
  keyed,
  type OpenActorStore,
  operationId,
} from "./actor-store.fixture.ts";
import { type ActorHead, type ActorRef, type ActorStore, rowTable } from "./actor-store.ts";

const forget = { forget: true } as const;

/** An actor with rows of every table, a snapshot and a wake-up time; its head. */
async function lived(store: ActorStore, ref: ActorRef, firstEpoch?: number): Promise<ActorHead> {
  const { head } = await store.claim(ref, "a", firstEpoch);
  const system = [rowTable.outbox, rowTable.timer, rowTable.inbox].map((rt) => ({
    rt,
    k: 0,
    k2: "x",
    body: "1",
  }));
  const first = following(ref, head, {
    puts: [event(1), ...system, keyed(0, "x"), keyed(7, "y")],
    wakeAtMs: 5,
  });
  expect(await store.commit(first)).toEqual({ status: "applied" });
  const snapshot = { seq: 1, body: "{}", schemaVersion: 3 };
  const second = following(ref, { ...head, ...after(first) }, { puts: [event(2)], snapshot, wakeAtMs: 5 });
  expect(await store.commit(second)).toEqual({ status: "applied" });
  return { ...head, ...after(second) };
}

async function expectAbsent(store: ActorStore, ref: ActorRef): Promise<void> {
  expect(await store.readHead(ref)).toBeNull();
  expect(await store.readRows(ref, [{ rt: rowTable.firstKeyed, limit: 10 }])).toEqual([]);
  expect(await store.listActors(ref.kind, "", 10)).toEqual([]);
  const due = await store.dueActors(10, 10_000);
  expect(due.filter((each) => each.ref.kind === ref.kind)).toEqual([]);
}

export function describeForgetting(start: () => Promise<OpenActorStore>): void {
  it("S8: nothing of a forgotten actor is left, and it begins again as one that never existed", async () => {
    const opened = await start();
    const ref = freshRef();
    const head = await lived(opened.store, ref);
    await lived(opened.store, freshRef());
    expect(await opened.store.commit(following(ref, head, forget))).toEqual({ status: "applied" });
    await expectAbsent(opened.store, ref);
    const again = await opened.store.claim(ref, "b", 9);
    expect(again).toMatchObject({ head: { epoch: 9, head: 0, op: "", snapshot: null, schemaVersion: 0 } });
    expect([again.events, again.outbox, again.timers, again.inbox]).toEqual([[], [], [], []]);
    expect(await opened.store.listActors(ref.kind, "", 10)).toEqual([ref.id]);
    const next = following(ref, again.head, { puts: [event(1)] });
    expect(await opened.store.commit(next)).toEqual({ status: "applied" });
    expect((await opened.store.claim(ref, "c", 99)).head).toMatchObject({ epoch: 10, head: 1 });
  });

  it("S8: only its owner forgets it, at the head that it knows", async () => {
    const { store } = await start();
    const ref = freshRef();
    const head = await lived(store, ref);
    const stale = following(ref, { ...head, head: head.head - 1 }, { ...forget, op: operationId(77) });
    expect(await store.commit(stale)).toMatchObject({ status: "refused", head: head.head });
    const { head: owner } = await store.claim(ref, "b");
    expect(await store.commit(following(ref, head, forget))).toMatchObject({
      status: "refused",
      epoch: owner.epoch,
    });
    expect(await store.readHead(ref)).toMatchObject({ owner: "b", head: head.head });
    expect(await store.readRows(ref, [{ rt: rowTable.firstKeyed, limit: 10 }])).toHaveLength(2);
  });

  it("S8: forgetting again is applied, and a former owner writes nothing any more", async () => {
    const { store } = await start();
    const ref = freshRef();
    const head = await lived(store, ref, 100);
    const over = following(ref, head, forget);
    for (let time = 0; time < 2; time += 1) expect(await store.commit(over)).toEqual({ status: "applied" });
    const late = following(ref, head, { puts: [keyed(0, "late")] });
    expect(await store.commit(late)).toMatchObject({ status: "refused" });
    await expectAbsent(store, ref);
    await store.claim(ref, "b", 200);
    for (const zombie of [late, following(ref, { ...head, head: 0, op: "" }), over])
      expect(await store.commit(zombie)).toMatchObject({ status: "refused", epoch: 200 });
  });

  it("S8: what is beside it stays, and a loss of the process changes nothing", async () => {
    const opened = await start();
    const [ref, beside] = [freshRef(), freshRef()];
    const head = await lived(opened.store, ref);
    const other = await lived(opened.store, beside);
    await opened.store.commit(following(ref, head, forget));
    const { store } = await opened.reopen();
    await expectAbsent(store, ref);
    expect(await store.readHead(beside)).toMatchObject({ head: other.head, op: other.op });
    const third = { kind: ref.kind, id: "third" };
    expect((await store.claim(third, "b")).head).toMatchObject({ epoch: 1, head: 0 });
    expect((await store.claim(beside, "b")).timers).toHaveLength(1);
  });
}
