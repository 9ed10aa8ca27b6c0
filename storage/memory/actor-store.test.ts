import { describe, expect, it } from "vitest";
import { actorStoreConformance, type OpenActorStore } from "../actor-store.conformance.ts";
import { type ActorCommit, type PartitionRow, rowTable, StoreError } from "../actor-store.ts";
import { MemoryActorStore, passedOverMax } from "./actor-store.ts";

function openMemory(store = new MemoryActorStore({ now: () => Date.now() })): OpenActorStore {
  return { store, reopen: async () => openMemory(store), close: async () => {} };
}

actorStoreConformance("the memory store", async () => openMemory());

it("the memory store fails a page that passes over more deleted rows than one commit deletes (TR1)", async () => {
  const store = new MemoryActorStore();
  const ref = { kind: "k", id: "i" };
  const rt = rowTable.firstKeyed;
  await store.claim(ref, "a");
  const commit = async (head: number, rows: Pick<ActorCommit, "puts" | "deletes">): Promise<void> => {
    const place = {
      ref,
      epoch: 1,
      expectedHead: head,
      expectedOp: head === 0 ? "" : `o${head}`,
      op: `o${head + 1}`,
    };
    expect(await store.commit({ ...place, ...rows, wakeAtMs: null })).toEqual({ status: "applied" });
  };
  const rows = Array.from({ length: passedOverMax + 2 }, (_, k) => ({ rt, k, k2: "", body: "{}" }));
  await commit(0, { puts: rows, deletes: [] });
  await commit(1, { puts: [], deletes: rows.slice(0, passedOverMax) });
  expect(await store.readRows(ref, [{ rt, limit: 1 }])).toHaveLength(1);
  await commit(2, { puts: [], deletes: [rows[passedOverMax] as PartitionRow] });
  expect(() => store.readRows(ref, [{ rt, limit: 1 }])).toThrow(`passes over ${passedOverMax + 1} rows`);
  const after = { k: 0, k2: "" };
  expect(await store.readRows(ref, [{ rt, after, limit: 1 }])).toEqual(rows.slice(-1));
});

describe("scripted failures of the memory store", () => {
  const ref = { kind: "k", id: "i" };
  const commit = {
    ref,
    epoch: 1,
    expectedHead: 0,
    expectedOp: "",
    op: "o",
    puts: [],
    deletes: [],
    wakeAtMs: null,
  };

  it("apply or do not apply as the script says, and tell the caller no more than a real store could", async () => {
    const store = new MemoryActorStore();
    await store.claim(ref, "a");
    for (const [fault, effect, head] of [
      ["before", "not_applied", 0],
      ["unknown_not_applied", "unknown", 0],
      ["unknown_applied", "unknown", 1],
    ] as const) {
      store.failNext("commit", fault);
      const failure = await store.commit(commit).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(StoreError);
      expect(failure).toMatchObject({ effect });
      expect((await store.readHead(ref))?.head).toBe(head);
    }
    expect(await store.commit(commit)).toEqual({ status: "applied" });
    expect(store.callsOf("commit")).toBe(4);
  });

  it("an interceptor may hold a call and apply it late", async () => {
    const store = new MemoryActorStore();
    await store.claim(ref, "a");
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit") await release.promise;
      return apply();
    };
    const late = store.commit(commit);
    await store.claim(ref, "b");
    release.resolve();
    expect((await late).status).toBe("refused");
  });
});
