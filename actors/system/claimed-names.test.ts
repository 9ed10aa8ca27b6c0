// The invariants N1–N7 of claimed-names.ts: over rows alone, and through the commits of an actor.

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64Url } from "../../protocol/bytes.ts";
import { observeWork } from "../../std/work.ts";
import type { PartitionRow } from "../../storage/actor-store.ts";
import { PartitionRows } from "../../storage/memory/actor-store.ts";
import { ClaimedNames, type NameClaims } from "./claimed-names.ts";
import type { LocalActorSystem } from "./ports.ts";
import { ask, newWorld, type TestProtocols, type World } from "./world.fixture.ts";

const claims: NameClaims = { rt: 20, commands: ["take"], lifeMaxMs: 300_000, keptMs: 60_000 };
const noExpiry = Number.NEGATIVE_INFINITY;

/** What an activation has in memory of what is stored. */
function loaded(stored: PartitionRows, nowMs: number, forgetsBefore = noExpiry) {
  const names = new ClaimedNames(claims, "secret");
  let reads = 0;
  for (let pages = names.firstPages(); pages.length > 0; reads += 1) {
    const rows = pages.flatMap((page) => stored.select(page, forgetsBefore));
    pages = names.load(pages, rows, nowMs);
  }
  return { names, reads };
}

const untilOf = (names: ClaimedNames, name: string) => names.until(names.markOf(name));

/** Commits claims: one row each. */
function commit(
  { names, stored }: { readonly names: ClaimedNames; readonly stored: PartitionRows },
  taken: readonly { readonly name: string; readonly untilMs: number }[],
  nowMs: number,
): PartitionRow {
  const marked = taken.map(({ name, untilMs }) => ({ mark: names.markOf(name), untilMs }));
  const row = names.row(marked, nowMs);
  stored.change({ puts: [row], deletes: [] });
  names.add(marked, nowMs);
  return row;
}

describe("claimed names", () => {
  const step = fc.record({
    // Mostly on, so that the windows go round; sometimes back, as another node's clock may be.
    passMs: fc.oneof(fc.integer({ min: 0, max: 90_000 }), fc.integer({ min: -50_000, max: 0 })),
    moves: fc.boolean(),
    taken: fc.array(
      fc.record({
        name: fc.integer({ min: 0, max: 40 }).map(String),
        lifeMs: fc.integer({ min: 1, max: 300_000 }),
      }),
      { minLength: 1, maxLength: 6 },
    ),
  });

  it("are found as long as they count, by whoever takes the actor over, and end when they end (N1, N3, N4, property)", () => {
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
        const stored = new PartitionRows();
        const held = new Map<string, number>();
        let nowMs = 1_800_000_000_000;
        let latestMs = nowMs;
        let { names } = loaded(stored, nowMs);
        for (const { passMs, moves, taken } of steps) {
          nowMs = Math.max(nowMs + passMs, latestMs - 50_000);
          latestMs = Math.max(nowMs, latestMs);
          // The store forgets by the clock that was ahead.
          if (moves) names = loaded(stored, nowMs, latestMs).names;
          const isHeld = (name: string): boolean => (untilOf(names, name) ?? 0) > nowMs;
          for (const [name, untilMs] of held) expect(isHeld(name)).toBe(untilMs > nowMs);
          const free = new Map(taken.map(({ name, lifeMs }) => [name, nowMs + lifeMs]));
          for (const name of free.keys()) if (isHeld(name)) free.delete(name);
          if (free.size === 0) continue;
          const row = commit(
            { names, stored },
            [...free].map(([name, untilMs]) => ({ name, untilMs })),
            nowMs,
          );
          for (const [name, untilMs] of free) {
            expect(row.expiresAtMs).toBeGreaterThanOrEqual(untilMs + claims.keptMs);
            held.set(name, untilMs);
          }
        }
      }),
    );
  });

  it("are kept for a clock that is behind, also where a window has ended meanwhile (N3)", () => {
    const windowEndMs = 140_000 * 1_000_000;
    const stored = new PartitionRows();
    const { names } = loaded(stored, windowEndMs);
    const behindMs = windowEndMs - 20_000;
    commit({ names, stored }, [{ name: "name", untilMs: windowEndMs - 1 }], behindMs);
    const aheadMs = windowEndMs + 30_000;
    for (const known of [names, loaded(stored, aheadMs, aheadMs).names]) {
      commit({ names: known, stored }, [{ name: "another", untilMs: aheadMs + 1 }], aheadMs);
      expect(untilOf(known, "name")).toBe(windowEndMs - 1);
    }
  });

  it("are as many rows as one round of the windows has commits, however long the actor lives (N4)", () => {
    const stored = new PartitionRows();
    const startMs = 1_800_000_000_000;
    const { names } = loaded(stored, startMs);
    const seconds = 5_000;
    for (let second = 0; second < seconds; second += 1) {
      const nowMs = startMs + 1_000 * second;
      commit({ names, stored }, [{ name: `${second}`, untilMs: nowMs + 300_000 }], nowMs);
    }
    const rows = [20, 21, 22, 23].flatMap((rt) => stored.of(rt, noExpiry));
    expect(rows.length).toBeGreaterThan(360);
    expect(rows.length).toBeLessThan(700);
    expect(stored.of(24, noExpiry)).toEqual([]);
  });

  it("are read as far as they count, and not what was before them in their tables (N5)", () => {
    const stored = new PartitionRows();
    const startMs = 1_800_000_000_000;
    const busy = loaded(stored, startMs).names;
    for (let at = 0; at < 1_000; at += 1)
      commit({ names: busy, stored }, [{ name: `old ${at}`, untilMs: startMs + 1_000 }], startMs);
    const lastMs = startMs + 3 * 3_600_000;
    for (const table of [0, 1, 2, 3])
      commit(
        { names: busy, stored },
        [{ name: `${table}`, untilMs: lastMs + 300_000 }],
        lastMs + 140_000 * table,
      );
    expect(loaded(stored, startMs).reads).toBeGreaterThan(10);
    expect(loaded(stored, lastMs).reads).toBe(1);
  });

  it("are one text for each end that claims of a commit have, and many names go in and out alike", () => {
    const stored = new PartitionRows();
    const nowMs = 1_800_000_000_000;
    const { names } = loaded(stored, nowMs);
    const many = Array.from({ length: 5_000 }, (_, at) => ({
      name: `name ${at}`,
      untilMs: nowMs + 1_000 * (1 + (at % 2)),
    }));
    for (let at = 0; at < many.length; at += 50) commit({ names, stored }, many.slice(at, at + 50), nowMs);
    for (const known of [names, loaded(stored, nowMs).names]) {
      for (const { name, untilMs } of many) expect(untilOf(known, name)).toBe(untilMs);
      expect(untilOf(known, "another")).toBeUndefined();
    }
    const [first] = stored
      .of(20, noExpiry)
      .concat(stored.of(21, noExpiry), stored.of(22, noExpiry), stored.of(23, noExpiry));
    expect(first?.body.length).toBeLessThan(50 * 22 + 60);
  });

  it("are spread in memory, whatever marks somebody looked for (N6)", () => {
    const count = 3_000;
    const marks = new Uint32Array(count * 4);
    // As somebody would choose them who knew how they are spread by two of their numbers, or by one.
    for (let at = 0; at < count; at += 1) marks[4 * at + 2] = at;
    const untilMs = 140_000 * 1_000_000;
    const body = JSON.stringify([1_000_000, [untilMs, toBase64Url(new Uint8Array(marks.buffer))]]);
    const names = new ClaimedNames(claims, "secret");
    let comparisons = 0;
    observeWork((_kind, times) => {
      comparisons += times;
    });
    try {
      names.load([{ rt: 20, limit: 1 }], [{ rt: 20, k: 0, k2: "00000", body }], untilMs - 1);
    } finally {
      observeWork(null);
    }
    expect(comparisons).toBeLessThan(10 * count);
    expect(names.until(Uint32Array.of(0, 0, count - 1, 0))).toBe(untilMs);
    expect(names.until(Uint32Array.of(0, 0, count, 0))).toBeUndefined();
  });

  it("are read by the names of their rows, page after page, behind which a window that ended may have any number (N7)", () => {
    const stored = new PartitionRows();
    const { names } = loaded(stored, 0);
    const until = { ended: 100_000, held: 690_000 };
    for (let at = 0; at < 450; at += 1)
      commit({ names, stored }, [{ name: `e${at}`, untilMs: until.ended }], 0);
    for (let at = 0; at < 250; at += 1)
      commit({ names, stored }, [{ name: `h${at}`, untilMs: until.held }], 500_000);
    const next = new ClaimedNames(claims, "secret");
    let keys: readonly string[] = [];
    for (let pages = next.firstPages(); pages.length > 0; ) {
      keys = [...keys, ...pages.flatMap((page) => ("keys" in page ? page.keys : ["any number"]))];
      const rows = pages.flatMap((page) => stored.select(page, noExpiry));
      pages = next.load(pages, rows, 500_000);
    }
    expect(keys).toHaveLength(4 * 100 + 2 * 100);
    expect(keys).not.toContain("any number");
    for (const at of [0, 99, 100, 249]) expect(untilOf(next, `h${at}`)).toBe(until.held);
  });

  it("last no longer than their windows allow (N4)", () => {
    const names = new ClaimedNames(claims, "secret");
    const mark = names.markOf("name");
    expect(() => names.row([{ mark, untilMs: 400_000 }], 99_999)).toThrow("a name was claimed for 300001 ms");
  });
});

describe("claims of an actor", () => {
  const take = (system: LocalActorSystem<TestProtocols>, name: string, until_ms = 1_100_000) =>
    ask(system, "a", { type: "take", name, until_ms });
  const rowsOf = async ({ store }: World) =>
    (await store.readRows({ kind: "counter", id: "a" }, new ClaimedNames(claims, "secret").firstPages()))
      .length;

  it("that share a commit are one row, and of two that want one name the first has it", async () => {
    const world = newWorld();
    const system = world.system();
    const names = [...Array.from({ length: 40 }, (_, at) => `name ${at}`), "name 7"];
    const replies = Promise.all(names.map((name) => take(system, name)));
    await world.time.advance(0);
    expect((await replies).filter((reply) => reply === "taken")).toHaveLength(40);
    expect((await replies).at(-1)).toBe("held");
    expect(await rowsOf(world)).toBe(1);
    expect(world.store.callsOf("commit")).toBe(1);
  });

  it("are known to the next activation, and read once in each (N2)", async () => {
    const world = newWorld();
    await world.time.run(take(world.system(), "name"));
    const other = world.system();
    expect(await world.time.run(take(other, "name"))).toBe("held");
    const reads = world.store.callsOf("readRows");
    expect(await world.time.run(take(other, "another"))).toBe("taken");
    expect(world.store.callsOf("readRows")).toBe(reads);
    await world.time.advance(100_000);
    expect(await world.time.run(take(other, "name", 1_300_000))).toBe("taken");
  });

  it("are none if their commit was not applied, and stand if it was, whatever the caller heard (N2)", async () => {
    for (const [fault, expected] of [
      ["unknown_not_applied", "taken"],
      ["unknown_applied", "held"],
    ] as const) {
      const world = newWorld();
      const system = world.system({ limits: { commitResendsMax: 0, claimAttemptsMax: 1 } });
      await world.time.run(take(system, "first"));
      world.store.failNext("commit", fault);
      world.store.failNext("claim", "before");
      await expect(world.time.run(take(system, "name"))).rejects.toMatchObject({ effect: "unknown" });
      expect(await world.time.run(take(system, "name"))).toBe(expected);
      expect(await world.time.run(take(system, "first"))).toBe("held");
    }
  });

  it("of an activation that was overtaken count for nothing (N2)", async () => {
    const world = newWorld();
    const [paused, other] = [world.system(), world.system()];
    await world.time.run(take(paused, "first"));
    await world.time.run(take(other, "name"));
    expect(await world.time.run(take(paused, "name"))).toBe("held");
    expect(await world.time.run(take(paused, "first"))).toBe("held");
  });

  it("are read in pages between which others run, and a store that does not answer refuses the caller", async () => {
    const world = newWorld();
    const system = world.system({ limits: { batchCommandsMax: 1 } });
    const all = Promise.all(Array.from({ length: 450 }, (_, at) => take(system, `name ${at}`)));
    await world.time.run(all);
    expect(await rowsOf(world)).toBe(100);
    const other = world.system({ limits: { claimAttemptsMax: 1 } });
    world.store.failNext("readRows", "before");
    await expect(world.time.run(take(other, "name 449"))).rejects.toMatchObject({ effect: "not_applied" });
    expect(await world.time.run(take(other, "name 449"))).toBe("held");
    expect(await world.time.run(take(other, "name 0"))).toBe("held");
  });

  it("are seen only by commands whose kind says so, whoever shares their turn", async () => {
    const world = newWorld();
    const system = world.system();
    const both = Promise.allSettled([take(system, "name"), ask(system, "a", { type: "peep", name: "name" })]);
    await world.time.run(both);
    expect(world.logged.at(-1)?.detail).toBe("peep looks at names, which its kind does not say");
  });
});
