// K5: an actor whose machine has ended is forgotten.

import { describe, expect, it } from "vitest";
import { setup } from "xstate";
import { type ActorDefinition, defineActor, type Message, type ViewOf } from "./definition.ts";
import type { LocalActorSystem } from "./ports.ts";
import { counter, counterActor, newWorld, type TestProtocols } from "./world.fixture.ts";

interface NoteProtocol {
  /** Answers the epoch. */
  write(): number;
  /** Ends the note; it tells a counter of it. */
  burn(): "burning";
  /** Ends the note, and tells nobody. */
  fade(): "fading";
  /** Read-only. Null if there is no such note. */
  glance(): string | null;
}

type System = LocalActorSystem<TestProtocols>;

const noteMachine = setup({
  types: { context: {} as object, events: {} as { readonly type: "written" | "burnt" }, input: {} as object },
  delays: { lasting: 60_000 },
}).createMachine({
  id: "note",
  context: {},
  initial: "kept",
  states: {
    kept: { on: { written: "kept", burnt: "ashes" }, after: { lasting: "ashes" } },
    ashes: { type: "final" },
  },
});
type View = ViewOf<typeof noteMachine>;

const noteActor: ActorDefinition<"note"> = defineActor<
  "note",
  typeof noteMachine,
  { readonly note: NoteProtocol }
>({
  kind: "note",
  schemaVersion: 1,
  machine: noteMachine,
  durability: "journal",
  input: () => ({}),
  decide: {
    write: (_command, view: View) => ({ reply: view.epoch, events: [{ type: "written" }] }),
    fade: () => ({ reply: "fading", events: [{ type: "burnt" }] }),
    burn: () => {
      const message: Message & { readonly by: number } = { type: "add", by: 1 };
      return {
        reply: "burning",
        events: [{ type: "burnt" }],
        effects: [{ kind: "tell", to: counter("told"), message }],
      };
    },
    glance: (_command, view: View) => ({ reply: String(view.snapshot.value) }),
  },
  absent: { glance: { reply: null } },
  effects: {},
});

const note = { kind: "note", id: "a" };
const lastingMs = 60_000;
const definitions = [noteActor, counterActor];
const send = (node: System, type: keyof NoteProtocol): Promise<unknown> =>
  node.askHere(note, { type }, 5_000);

describe("K5: an actor whose machine has ended", () => {
  it("is forgotten: nothing of it is stored or in memory", async () => {
    const { system, store, time } = newWorld();
    const node = system({ definitions });
    await send(node, "write");
    await time.advance(lastingMs - 1);
    expect(await store.readHead(note)).not.toBeNull();
    await time.advance(1);
    await time.settle();
    expect(await store.readHead(note)).toBeNull();
    expect(await store.listActors("note", "", 9)).toEqual([]);
    expect(await send(node, "glance")).toBeNull();
    expect(node.stats()).toMatchObject({ active: 0, crashes: 0, refusedCommits: 0 });
  });

  it("is forgotten only once everything that it sent was received", async () => {
    const { system, store, time } = newWorld();
    let isReached = false;
    const away = { ask: async () => null, deliver: async () => (isReached ? 2 ** 50 : 0) };
    const node = system({ definitions, route: (to) => (to.kind === "note" ? "local" : away) });
    await send(node, "burn");
    await time.advance(lastingMs);
    expect(await store.readHead(note)).not.toBeNull();
    expect(await send(node, "glance")).toBe("ashes");
    isReached = true;
    await time.advance(lastingMs);
    expect(await store.readHead(note)).toBeNull();
  });

  it("is found and forgotten by another node, if its own dies before", async () => {
    const { system, store, time } = newWorld();
    const dying = system({ definitions, timers: { schedule: () => () => {} } });
    store.intercept = async (call, apply) => {
      if (call.commit?.forget) return new Promise(() => {});
      return apply();
    };
    dying.askHere(note, { type: "fade" }, 5_000).catch(() => {});
    await time.settle();
    expect(await store.readHead(note)).not.toBeNull();
    dying.halt();
    store.intercept = undefined;
    const other = system({ definitions, limits: { pollMs: 1_000 } });
    await other.start();
    await time.advance(2 * lastingMs);
    expect(await store.readHead(note)).toBeNull();
  });

  it.each(["before", "unknown_not_applied", "unknown_applied"] as const)(
    "is forgotten in the end, if that fails at first (%s)",
    async (fault) => {
      const { system, store, time } = newWorld();
      const node = system({ definitions, limits: { pollMs: 1_000 } });
      await node.start();
      await send(node, "write");
      store.intercept = async (call, apply) => {
        if (!call.commit?.forget) return apply();
        store.intercept = undefined;
        store.failNext("commit", fault);
        return store.commit(call.commit) as Promise<never>;
      };
      await time.advance(3 * lastingMs);
      expect(await store.readHead(note)).toBeNull();
      expect(node.stats()).toMatchObject({ active: 0, crashes: 0 });
    },
  );

  it("begins again for what comes later, above every epoch that it had", async () => {
    const { system, store, time } = newWorld();
    const node = system({ definitions });
    const first = Number(await send(node, "write"));
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.commit?.forget) await release.promise;
      return apply();
    };
    await time.advance(lastingMs);
    // It comes while the actor is being forgotten.
    const late = send(node, "write");
    await time.settle();
    release.resolve();
    store.intercept = undefined;
    expect(Number(await late)).toBeGreaterThan(first);
    expect(await send(node, "glance")).toBe("kept");
  });

  it("cannot be written by a node that slept meanwhile", async () => {
    const { system, store, time } = newWorld();
    const zombie = system({ definitions });
    const other = system({ definitions });
    const held = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.commit !== null) await held.promise;
      return apply();
    };
    const late = zombie.askHere(note, { type: "write" }, 1_000_000);
    late.catch(() => {});
    await time.settle();
    store.intercept = undefined;
    await send(other, "write");
    await time.advance(2 * lastingMs);
    expect(await store.readHead(note)).toBeNull();
    await send(other, "write");
    zombie.halt();
    held.resolve();
    await expect(late).rejects.toMatchObject({ reason: "draining" });
    await time.settle();
    expect(zombie.stats().refusedCommits).toBe(1);
    expect((await store.readHead(note))?.head).toBe(1);
  });
});
