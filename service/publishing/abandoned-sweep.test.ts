import { beforeEach, describe, expect, it } from "vitest";
import { ManualTime } from "../../actors/system/manual-time.fixture.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { sweepAbandoned } from "./abandoned-pushes.ts";

const everyMs = 3_600_000;
const afterMs = 86_400_000;

let time: ManualTime;
/** Pushes with the instants at which they were staged. */
let staged: Map<string, number>;
let told: string[];
/** The instants at which sweeps started. */
let began: number[];
/** What a sweep encounters when it lists what is staged, and when it drops. */
let listing: () => Promise<void>;
let dropping: () => Promise<void>;

beforeEach(() => {
  time = new ManualTime();
  staged = new Map();
  told = [];
  began = [];
  listing = async () => {};
  dropping = async () => {};
});

function begin(): () => Promise<void> {
  return sweepAbandoned({
    actors: part({ inspect: async () => null }),
    records: part({
      stagedPushes: async () => {
        began.push(time.now());
        await listing();
        return { pushes: [...staged].map(([push_id, at]) => ({ push_id, staged_at_ms: at })), cursor: null };
      },
      dropStaged: async (id) => {
        await dropping();
        staged.delete(id);
      },
    }),
    isHere: () => true,
    clock: time,
    timers: time,
    everyMs,
    afterMs,
    dropped: (pushes) => told.push(`dropped ${pushes}`),
    failed: (error) => told.push(String(error)),
  });
}

describe("the sweep of abandoned pushes", () => {
  it("comes hour after hour, and takes what was staged a day before", async () => {
    const beganMs = time.now();
    staged.set("a", beganMs);
    staged.set("b", beganMs + 90 * 60_000);
    const stop = begin();
    await time.advance(everyMs - 1);
    expect(began).toEqual([]);
    await time.advance(23 * everyMs);
    expect([began.length, told, [...staged.keys()]]).toEqual([23, [], ["a", "b"]]);
    await time.advance(1);
    expect([told, [...staged.keys()]]).toEqual([["dropped 1"], ["b"]]);
    await time.advance(2 * everyMs);
    expect([told, staged.size]).toEqual([["dropped 1", "dropped 1"], 0]);
    expect(began).toEqual(Array.from({ length: 26 }, (_, hour) => beganMs + (hour + 1) * everyMs));
    await stop();
  });

  it("comes after one that failed, too (T2)", async () => {
    staged.set("a", time.now() - afterMs);
    listing = () => Promise.reject(new Error("the store is away"));
    const stop = begin();
    await time.advance(2 * everyMs);
    expect(told).toEqual(["Error: the store is away", "Error: the store is away"]);
    listing = async () => {};
    dropping = () => Promise.reject(new Error("the store is full"));
    await time.advance(everyMs);
    expect(told.slice(2)).toEqual(["Error: the store is full"]);
    dropping = async () => {};
    await time.advance(everyMs);
    expect(told.slice(3)).toEqual(["dropped 1"]);
    await stop();
  });

  it("waits for the one before, and for its interval after that (T1)", async () => {
    const slow = Promise.withResolvers<void>();
    listing = () => slow.promise;
    const stop = begin();
    await time.advance(5 * everyMs);
    expect(began).toHaveLength(1);
    listing = async () => {};
    slow.resolve();
    await time.advance(everyMs - 1);
    expect(began).toHaveLength(1);
    await time.advance(1);
    expect(began).toHaveLength(2);
    await stop();
  });

  it("does not come once stopped (T3)", async () => {
    const stop = begin();
    await time.advance(everyMs);
    await stop();
    await time.advance(5 * everyMs);
    expect(began).toHaveLength(1);
  });

  it("that is under way when it is stopped is waited for, and drops nothing more (T3)", async () => {
    for (const id of ["a", "b"]) staged.set(id, time.now() - afterMs);
    const slow = Promise.withResolvers<void>();
    dropping = () => slow.promise;
    const stop = begin();
    await time.advance(everyMs);
    let isOver = false;
    const over = stop().then(() => {
      isOver = true;
    });
    await time.settle();
    expect(isOver).toBe(false);
    slow.resolve();
    await over;
    expect([...staged.keys()]).toEqual(["b"]);
    await time.advance(5 * everyMs);
    expect([began.length, told]).toEqual([1, []]);
  });

  it("that fails when it was stopped tells nobody (T3)", async () => {
    const slow = Promise.withResolvers<void>();
    listing = () => slow.promise;
    const stop = begin();
    await time.advance(everyMs);
    const over = stop();
    slow.reject(new Error("the store is closed"));
    await over;
    await time.advance(5 * everyMs);
    expect([began.length, told]).toEqual([1, []]);
  });
});
