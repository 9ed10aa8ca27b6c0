import { describe, expect, it } from "vitest";
import { StoreError, storeWith } from "../../storage/actor-store.ts";
import type { StoreInterceptor } from "../../storage/memory/actor-store.ts";
import { ask, type CounterCommand, counter, newWorld } from "./world.fixture.ts";

const add: CounterCommand = { type: "add", by: 1 };
const read: CounterCommand = { type: "read" };

describe("A1: an actor has one writer", () => {
  it("a paused system that wakes after another took the actor over writes nothing and says so", async () => {
    const { system, store, time } = newWorld();
    const zombie = system({ route: () => "local" });
    const other = system();
    expect(await ask(zombie, "a", add)).toBe(1);
    expect(await ask(other, "a", add)).toBe(2);
    const commits = store.callsOf("commit");
    // The zombie still believes that n is 1; its commit is refused, and it decides again over the current state.
    expect(await ask(zombie, "a", add)).toBe(3);
    expect(store.callsOf("commit")).toBe(commits + 2);
    expect(zombie.stats().refusedCommits).toBe(1);
    expect(await ask(other, "a", add)).toBe(4);
    await time.settle();
    expect((await store.readHead(counter("a")))?.head).toBe(4);
  });

  it("when the actor belongs elsewhere by now, callers are told to try again instead", async () => {
    const { system } = newWorld();
    let here = true;
    const elsewhere = { ask: async () => "elsewhere", deliver: async () => 0 };
    const zombie = system({ route: () => (here ? "local" : elsewhere) });
    const other = system();
    await ask(zombie, "a", add);
    await ask(other, "a", add);
    const late = zombie.askHere(counter("a"), add, 1_000);
    here = false;
    await expect(late).rejects.toMatchObject({ reason: "restarting", effect: "not_applied" });
    expect(zombie.stats().active).toBe(0);
    expect(await ask(zombie, "a", add)).toBe("elsewhere");
    expect(await ask(other, "a", read)).toMatchObject({ n: 2 });
  });

  it("a commit that arrives after its system was halted and another took over is refused, and counted", async () => {
    const { system, store, time } = newWorld();
    const zombie = system();
    await ask(zombie, "a", add);
    const arrival = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit") await arrival.promise;
      return apply();
    };
    const asked = expect(ask(zombie, "a", add)).rejects.toMatchObject({ effect: "unknown" });
    await time.settle();
    zombie.halt();
    await asked;
    store.intercept = undefined;
    const other = system();
    expect(await ask(other, "a", add)).toBe(2);
    arrival.resolve();
    await time.settle();
    expect(zombie.stats().refusedCommits).toBe(1);
    expect(await ask(other, "a", add)).toBe(3);
  });

  it("two systems that fight for an actor lose no command and apply none twice", async () => {
    const { system, time } = newWorld();
    const nodes = [system(), system()];
    const replies = [];
    for (let i = 0; i < 20; i += 1) {
      const asked = Promise.allSettled(nodes.map((node) => ask(node, "a", add)));
      await time.advance(1_000);
      replies.push(...(await asked));
    }
    const applied = replies.filter((reply) => reply.status === "fulfilled");
    for (const reply of replies) {
      if (reply.status === "rejected") expect(reply.reason).toMatchObject({ effect: "not_applied" });
    }
    expect(applied.length).toBeGreaterThan(20);
    expect(await ask(system(), "a", read)).toMatchObject({ n: applied.length });
  });
});

describe("an actor whose id was just drawn", () => {
  const asNew = (node: ReturnType<ReturnType<typeof newWorld>["system"]>, id: string) =>
    node.ask(counter(id), add, { isNew: true });

  it("is created by its first commit, without a claim", async () => {
    const { system, store } = newWorld();
    const node = system({ owner: "one" });
    expect(await asNew(node, "a")).toBe(1);
    expect(await ask(node, "a", add)).toBe(2);
    expect([store.callsOf("claim"), store.callsOf("commit")]).toEqual([0, 2]);
    expect(await store.readHead(counter("a"))).toMatchObject({ epoch: 1, owner: "one", head: 2 });
    expect(await ask(system(), "a", read)).toMatchObject({ n: 2, epoch: 2 });
  });

  it("is claimed after all if it exists, and nothing is lost or counted as a takeover", async () => {
    const { system, store } = newWorld();
    expect(await ask(system(), "a", add)).toBe(1);
    const node = system();
    expect(await asNew(node, "a")).toBe(2);
    expect(node.stats().refusedCommits).toBe(0);
    expect(await store.readHead(counter("a"))).toMatchObject({ epoch: 2, head: 2 });
  });

  it("is claimed where the store cannot create it", async () => {
    const { system, store } = newWorld();
    Object.assign(store, { createsActors: false });
    expect(await asNew(system(), "a")).toBe(1);
    expect(store.callsOf("claim")).toBe(1);
  });

  it("is created once although the answer was lost, and when every attempt was", async () => {
    for (const lost of [1, 9]) {
      const { system, store, time } = newWorld();
      const node = system();
      for (let at = 0; at < lost; at += 1)
        store.failNext("commit", at === 0 ? "unknown_applied" : "unknown_not_applied");
      const asked = asNew(node, "a");
      await time.advance(60_000);
      expect(await asked).toBe(1);
      expect(await ask(node, "a", read)).toMatchObject({ n: 1 });
    }
  });

  it("is created by the next command if a lost first one never arrived", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    for (let at = 0; at < 9; at += 1) store.failNext("commit", "unknown_not_applied");
    const asked = asNew(node, "a");
    await time.advance(60_000);
    expect(await asked).toBe(1);
    expect(await store.readHead(counter("a"))).toMatchObject({ head: 1 });
  });
});

describe("A5: unknown is not failed", () => {
  it("a commit that was applied and not acknowledged is sent again and answered once", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", add);
    store.failNext("commit", "unknown_applied");
    const asked = ask(node, "a", add);
    await time.advance(1_000);
    expect(await asked).toBe(2);
    expect(await ask(node, "a", read)).toMatchObject({ n: 2, epoch: 1 });
    expect((await store.readHead(counter("a")))?.head).toBe(2);
  });

  it("a commit that was not applied is sent again, and is identical", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", add);
    const sent: unknown[] = [];
    const intercept: StoreInterceptor = async (call, apply) => {
      if (call.commit !== null) sent.push(call.commit);
      return apply();
    };
    store.intercept = intercept;
    store.failNext("commit", "unknown_not_applied");
    store.failNext("commit", "before");
    const asked = ask(node, "a", add);
    await time.advance(1_000);
    expect(await asked).toBe(2);
    expect(store.callsOf("commit")).toBe(4);
    expect(sent).toHaveLength(1);
  });

  it.each(["unknown_applied", "unknown_not_applied"] as const)(
    "when resending does not help (%s), claiming tells what happened",
    async (fault) => {
      const { system, store, time } = newWorld();
      const node = system({ limits: { commitResendsMax: 2 } });
      await ask(node, "a", add);
      for (let i = 0; i < 3; i += 1) store.failNext("commit", i === 1 ? fault : "unknown_not_applied");
      const asked = ask(node, "a", add);
      await time.advance(5_000);
      expect(await asked).toBe(2);
      expect(await ask(node, "a", read)).toMatchObject({ n: 2, epoch: 2 });
      expect((await store.readHead(counter("a")))?.head).toBe(2);
    },
  );

  it("when the store stays away the caller hears that the effect is unknown, and the actor is rebuilt later", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { commitResendsMax: 1, claimAttemptsMax: 2 } });
    await ask(node, "a", add);
    store.failNext("commit", "unknown_applied");
    store.failNext("commit", "unknown_not_applied");
    store.failNext("claim", "unknown_not_applied");
    store.failNext("claim", "unknown_applied");
    const asked = ask(node, "a", add);
    const outcome = expect(asked).rejects.toMatchObject({ reason: "store", effect: "unknown" });
    await time.advance(10_000);
    await outcome;
    expect(await ask(node, "a", read)).toMatchObject({ n: 2 });
  });

  it("a store that certainly applied nothing lets the caller try again", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { commitResendsMax: 1 } });
    await ask(node, "a", add);
    store.failNext("commit", "before");
    store.failNext("commit", "before");
    const outcome = expect(ask(node, "a", add)).rejects.toMatchObject({
      reason: "store",
      effect: "not_applied",
    });
    await time.advance(1_000);
    await outcome;
    expect(await ask(node, "a", read)).toMatchObject({ n: 1 });
  });

  it.each([
    ["a timer comes back unasked", { type: "arm" }, 1],
    ["work under way comes back unasked", { type: "work", job: "1" }, 1],
    ["nothing of its own to do waits until it is asked", add, 0],
  ] as const)("when its commit failed, an actor with %s", async (_what, command, active) => {
    const { system, store, time } = newWorld();
    const node = system({
      limits: { commitResendsMax: 0 },
      activities: { work: () => new Promise(() => {}) },
    });
    await ask(node, "a", command);
    store.failNext("commit", "before");
    const outcome = expect(ask(node, "a", add)).rejects.toMatchObject({ effect: "not_applied" });
    await time.settle();
    await outcome;
    expect(node.stats().active).toBe(0);
    await time.advance(30_000);
    expect(node.stats().active).toBe(active);
  });

  it("a doubt that another writer has overtaken stays a doubt", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { commitResendsMax: 1 } });
    const other = system();
    await ask(node, "a", add);
    store.failNext("commit", "unknown_applied");
    const outcome = expect(ask(node, "a", add)).rejects.toMatchObject({ effect: "unknown" });
    await time.settle();
    store.intercept = async (call, apply) => {
      if (call.commit?.epoch === 1) throw new StoreError("unknown", "the network is away");
      return apply();
    };
    expect(await ask(other, "a", { type: "add", by: 10 })).toBe(12);
    await time.advance(5_000);
    await outcome;
    expect(await ask(node, "a", read)).toMatchObject({ n: 12 });
  });

  it("a doubt stays a doubt where as many commits were made of which the last is another", async () => {
    const { system, store, time } = newWorld();
    const stays = storeWith(store, {
      claim: async (ref, owner) => {
        const activation = await store.claim(ref, owner);
        const { head } = activation;
        return head.head === 0 ? activation : { ...activation, head: { ...head, op: "of another line" } };
      },
    });
    const node = system({ store: stays, limits: { commitResendsMax: 0 } });
    await ask(node, "a", add);
    store.failNext("commit", "unknown_not_applied");
    const outcome = expect(ask(node, "a", add)).rejects.toMatchObject({ effect: "unknown" });
    await time.advance(1_000);
    await outcome;
  });

  it("a claim that fails is repeated; one that keeps failing refuses the callers", async () => {
    const { system, store, time } = newWorld();
    const node = system({ limits: { claimAttemptsMax: 2 } });
    store.failNext("claim", "unknown_applied");
    const first = ask(node, "a", add);
    await time.advance(1_000);
    expect(await first).toBe(1);
    store.failNext("claim", "before");
    store.failNext("claim", "before");
    const outcome = expect(ask(node, "b", add)).rejects.toMatchObject({
      reason: "store",
      effect: "not_applied",
    });
    await time.advance(1_000);
    await outcome;
  });
});
