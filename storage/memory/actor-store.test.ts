import { describe, expect, it } from "vitest";
import { actorStoreConformance, type OpenActorStore } from "../actor-store.conformance.ts";
import { StoreError } from "../actor-store.ts";
import { MemoryActorStore } from "./actor-store.ts";

function openMemory(store = new MemoryActorStore({ now: () => Date.now() })): OpenActorStore {
  return { store, reopen: async () => openMemory(store), close: async () => {} };
}

actorStoreConformance("the memory store", async () => openMemory());

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
