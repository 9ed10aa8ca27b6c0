import { describe, expect, it } from "vitest";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { type ActorCommit, rowTable } from "../../storage/actor-store.ts";
import type { ActorDefinition, Message } from "./definition.ts";
import { ask, type CounterCommand, counter, counterActor, newWorld } from "./world.fixture.ts";

const add: CounterCommand = { type: "add", by: 1 };

describe("A2: nothing leaves before the commit", () => {
  it("the reply waits for the store", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", add);
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit") await release.promise;
      return apply();
    };
    let reply: unknown = null;
    const asked = ask(node, "a", add).then((value) => {
      reply = value;
    });
    await time.advance(5_000);
    expect(reply).toBeNull();
    release.resolve();
    await asked;
    expect(reply).toBe(2);
  });

  it("who asks ahead knows what was decided and which commit makes it true; the reply waits all the same", async () => {
    const { system, store, time } = newWorld();
    const node = system();
    await ask(node, "a", add);
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit") await release.promise;
      return apply();
    };
    let reply: unknown = null;
    const asked = node.askSpeculative(counter("a"), add);
    const replied = asked.reply.then((value) => {
      reply = value;
    });
    const decided = await asked.decided;
    expect(decided.reply).toBe(2);
    await time.advance(5_000);
    expect(reply).toBeNull();
    release.resolve();
    expect(await decided.commit).toEqual({ status: "applied" });
    await replied;
    expect(reply).toBe(2);
  });

  it("who asks ahead is told of no commit where nothing changed, and of a failure where there was one", async () => {
    const { system } = newWorld();
    const node = system();
    await ask(node, "a", add);
    const read = node.askSpeculative(counter("a"), { type: "read" });
    expect(await read.decided).toMatchObject({ reply: { n: 1 }, commit: null });
    const lost = node.askSpeculative(rubbish({ kind: "nobody", id: "x" }), rubbish(add));
    await expect(lost.decided).rejects.toThrow();
    await expect(lost.reply).rejects.toThrow();
  });

  it("messages and activities wait for the store too", async () => {
    const { system, store, time } = newWorld();
    const started: string[] = [];
    const node = system({
      activities: {
        work: async (params: { job: string }) => {
          started.push(params.job);
          return null;
        },
      },
    });
    await ask(node, "a", add);
    const release = Promise.withResolvers<void>();
    store.intercept = async (call, apply) => {
      if (call.operation === "commit" && call.ref?.id === "a") await release.promise;
      return apply();
    };
    const asked = Promise.all([
      ask(node, "a", { type: "work", job: "j" }),
      ask(node, "a", { type: "forward", to: "b", by: 5 }),
    ]);
    await time.settle();
    expect(started).toEqual([]);
    expect(await node.inspect(counter("b"))).toBeNull();
    release.resolve();
    await asked;
    await time.settle();
    expect(started).toEqual(["j"]);
    expect(await ask(node, "b", { type: "read" })).toMatchObject({ n: 5 });
  });

  it("commands that wait share one commit, and each sees what those before it decided", async () => {
    const { system, store } = newWorld();
    const node = system({ limits: { batchCommandsMax: 64 } });
    await ask(node, "a", add);
    const commits = store.callsOf("commit");
    const replies = await Promise.all(Array.from({ length: 100 }, () => ask(node, "a", add)));
    expect(replies).toEqual(Array.from({ length: 100 }, (_, i) => i + 2));
    expect(store.callsOf("commit") - commits).toBe(2);
  });

  it("commands share a commit up to the maximum of their kind, where it has one of its own", async () => {
    const { system, store } = newWorld();
    const node = system({ definitions: [{ ...counterActor, turnCommandsMax: 150 }] });
    await ask(node, "a", add);
    const commits = store.callsOf("commit");
    await Promise.all(Array.from({ length: 200 }, () => ask(node, "a", add)));
    expect(store.callsOf("commit") - commits).toBe(2);
  });

  it("rows put by an earlier command of the turn are seen by a later one, read in one call", async () => {
    const { system, store } = newWorld();
    const node = system();
    await ask(node, "a", add);
    const once: CounterCommand = { type: "add.once", id: "x", by: 10 };
    const reads = store.callsOf("readRows");
    const replies = await Promise.all([
      ask(node, "a", once),
      ask(node, "a", once),
      ask(node, "a", { ...once, id: "y" }),
    ]);
    expect(replies).toEqual([11, 11, 21]);
    expect(store.callsOf("readRows") - reads).toBe(1);
    expect(await ask(node, "a", once)).toBe(11);
  });

  it("a command that changes nothing needs no commit", async () => {
    const { system, store } = newWorld();
    const node = system();
    await ask(node, "a", { type: "read" });
    expect(store.callsOf("commit")).toBe(0);
  });

  it("one commit has the events, the effects, the timers and the wake-up time", async () => {
    const { system, store, time } = newWorld();
    const node = system({ activities: { work: () => new Promise(() => {}) } });
    const commits: ActorCommit[] = [];
    store.intercept = async (call, apply) => {
      if (call.commit !== null) commits.push(call.commit);
      return apply();
    };
    await Promise.all([
      ask(node, "a", { type: "arm" }),
      ask(node, "a", { type: "work", job: "j" }),
      ask(node, "a", { type: "add.once", id: "x", by: 1 }),
    ]);
    expect(commits).toHaveLength(1);
    const commit = commits[0] as ActorCommit;
    expect(commit.puts.map((row) => row.rt).sort((a, b) => a - b)).toEqual([1, 2, 3, 5, 16]);
    expect(commit.puts.find((row) => row.rt === 1)?.k).toBe(3);
    expect(commit.wakeAtMs).toBe(time.now() + 30_000);
  });
});

describe("callers who wait", () => {
  it("are answered by the commit that gives them their answer", async () => {
    const { system, time } = newWorld();
    const node = system();
    let reply: unknown = null;
    const waiting = ask(node, "a", { type: "await", n: 3 }).then((value) => {
      reply = value;
    });
    await ask(node, "a", add);
    await ask(node, "a", add);
    await time.settle();
    expect(reply).toBeNull();
    await ask(node, "a", add);
    await waiting;
    expect(reply).toBe(3);
    expect(node.stats().mailboxed).toBe(0);
  });

  it("time out like others, and keep the actor in memory until then", async () => {
    const { system, time } = newWorld();
    const node = system({ limits: { idleMs: 1_000, idleSweepMs: 500 } });
    const asked = ask(node, "a", { type: "await", n: 3 }, { timeoutMs: 10_000 });
    const outcome = expect(asked).rejects.toMatchObject({ reason: "timeout", effect: "unknown" });
    await time.advance(9_000);
    expect(node.stats().active).toBe(1);
    await time.advance(1_100);
    await outcome;
    await time.advance(3_000);
    expect(node.stats().active).toBe(0);
  });

  it("are told when the activation ends", async () => {
    const { system, time } = newWorld();
    const node = system();
    const asked = ask(node, "a", { type: "await", n: 3 });
    const outcome = expect(asked).rejects.toMatchObject({ reason: "restarting", effect: "unknown" });
    await time.settle();
    await ask(node, "a", { type: "fail" }).catch(() => {});
    await time.settle();
    await outcome;
  });
});

describe("names at the boundary", () => {
  it.each(["xstate.done.actor.x", "xstate.after.alarm.counter.armed", "*", ""])(
    "refuses the command %j",
    async (type) => {
      const { system } = newWorld();
      const node = system();
      await expect(node.ask(counter("a"), rubbish({ type }))).rejects.toThrow(TypeError);
      expect(node.tell(counter("a"), rubbish({ type }))).toBe(false);
      expect(await node.deliver(counter("a"), "x/y", [{ seq: 1, message: { type } }])).toBe(0);
    },
  );

  it("an event with such a name is a bug of the kind", async () => {
    const { system } = newWorld();
    const node = system();
    const asked = ask(node, "a", { type: "emit", event: "xstate.done.state.counter" });
    await expect(asked).rejects.toMatchObject({ cause: { message: expect.stringContaining("reserved") } });
    expect(await node.inspect(counter("a"))).toMatchObject({ status: "backing_off" });
  });

  it("an unknown kind is refused", async () => {
    const { system } = newWorld();
    await expect(system().ask(rubbish({ kind: "nothing", id: "a" }), rubbish(add))).rejects.toThrow(
      TypeError,
    );
  });
});

describe("T1: a decided event that the machine does not take", () => {
  const taken: readonly Message[] = [rubbish({ type: "added", by: 5 })];
  /** A kind that answers `done`, decides events and writes a row, without a look at its machine. */
  const hasty = (events: readonly Message[]): ActorDefinition => ({
    ...counterActor,
    decide: (command, view) =>
      command.type === "disarm"
        ? { reply: "done", events, puts: [{ rt: 16, k: 0, k2: "x", body: "1" }] }
        : counterActor.decide(command, view),
  });

  it.each([
    ["of another state", [{ type: "disarmed" }]],
    ["of no machine", [{ type: "unheard_of" }]],
    ["behind one that it takes", [...taken, { type: "disarmed" }]],
  ])("%s fails the command: no reply, no event, no row", async (_what, events) => {
    const { system, store } = newWorld();
    const node = system({ definitions: [hasty(events)] });
    await ask(node, "a", add);
    const head = await store.readHead(counter("a"));
    await expect(ask(node, "a", { type: "disarm" })).rejects.toMatchObject({
      reason: "restarting",
      effect: "not_applied",
      cause: { message: `counter decided ${events.at(-1)?.type}, which its machine does not take in "idle"` },
    });
    expect(await store.readHead(counter("a"))).toEqual(head);
    const left = await store.readRows(counter("a"), [
      { rt: rowTable.event, limit: 9 },
      { rt: 16, limit: 9 },
    ]);
    expect(left.map(({ rt, k }) => [rt, k])).toEqual([[rowTable.event, 1]]);
    expect(node.stats().crashes).toBe(1);
  });

  it("is only the decision's own affair: one that the machine takes is committed", async () => {
    const { system } = newWorld();
    const node = system({ definitions: [hasty(taken)] });
    expect(await ask(node, "a", { type: "disarm" })).toBe("done");
    expect(await ask(node, "a", { type: "read" })).toMatchObject({ n: 5 });
  });

  it("fails a command without a journal as well", async () => {
    const { system } = newWorld();
    const { rows: _, ...kind } = counterActor;
    const decide: ActorDefinition["decide"] = (command, view) =>
      command.type === "disarm"
        ? { reply: "done", events: [{ type: "disarmed" }] }
        : counterActor.decide(command, view);
    const node = system({ definitions: [{ ...kind, durability: "memory", decide }] });
    await expect(ask(node, "a", { type: "disarm" })).rejects.toThrow(Unavailable);
    expect(node.stats().crashes).toBe(1);
  });

  it("is passed over in a journal that has it, such as one of an earlier release", async () => {
    const { system, store } = newWorld();
    const { epoch, head: expectedHead, op: expectedOp } = (await store.claim(counter("a"), "earlier")).head;
    const body = JSON.stringify({ v: 1, t: 0, p: epoch, c: 1, e: [{ type: "unheard_of" }, ...taken] });
    const puts = [{ rt: rowTable.event, k: 2, k2: "", body }];
    const fence = { epoch, expectedHead, expectedOp };
    const commit = { ref: counter("a"), ...fence, op: "one", puts, deletes: [], wakeAtMs: null };
    expect(await store.commit(commit)).toEqual({ status: "applied" });
    expect(await ask(system(), "a", { type: "read" })).toMatchObject({ n: 5 });
  });
});

describe("actors without a journal", () => {
  const memoryCounter: ActorDefinition = {
    ...counterActor,
    durability: "memory",
    rows: () => [],
  };

  it("answer, keep order, wait, run activities and timers, and touch no store", async () => {
    const { system, store, time } = newWorld();
    const runs: string[] = [];
    const activities = {
      work: async (params: { job: string }, context: { workId: string }) => {
        runs.push(context.workId);
        return { type: "work.done", job: params.job };
      },
    };
    const node = system({ definitions: [memoryCounter], activities });
    const waiting = ask(node, "a", { type: "await", n: 2 });
    expect(await Promise.all([ask(node, "a", add), ask(node, "a", add)])).toEqual([1, 2]);
    expect(await waiting).toBe(2);
    await ask(node, "a", { type: "work", job: "j" });
    await ask(node, "a", { type: "forward", to: "b", by: 7 });
    await ask(node, "a", { type: "arm" });
    await time.advance(60_000);
    expect(await ask(node, "a", { type: "read" })).toMatchObject({ n: 2, alarms: 1, done: ["j"], epoch: 0 });
    expect(await ask(node, "b", { type: "read" })).toMatchObject({ n: 7 });
    expect(runs).toHaveLength(1);
    expect(store.callsOf("claim") + store.callsOf("commit") + store.callsOf("readRows")).toBe(0);
  });

  it("have no rows, and crash like others", async () => {
    const { system } = newWorld();
    const node = system({ definitions: [memoryCounter] });
    await expect(ask(node, "a", { type: "add.once", id: "x", by: 1 })).rejects.toThrow(Unavailable);
    expect(node.stats().crashes).toBe(1);
    expect(await ask(node, "b", add)).toBe(1);
  });
});
