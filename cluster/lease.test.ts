import { describe, expect, it } from "vitest";
import { ManualTime } from "../actors/system/manual-time.fixture.ts";
import { BeatWatch } from "./cluster-view.ts";
import { Lease } from "./member-lifecycle.ts";
import { Poller } from "./poller.ts";

describe("a lease", () => {
  it("L1: lasts from the beginning of the last beat and the last look, whichever is older", () => {
    const lease = new Lease(2_000, { beatMs: 0, viewMs: 0 });
    lease.noteBeat(500, 1_900);
    expect(lease.remainingMs(1_900)).toBe(100);
    lease.noteView(300, 1_950);
    expect(lease.remainingMs(1_950)).toBe(350);
    lease.noteView(100, 1_960);
    expect(lease.remainingMs(1_960)).toBe(340);
    lease.noteView(1_970, 1_980);
    expect(lease.remainingMs(1_980)).toBe(520);
    lease.noteBeat(400, 1_990);
    expect(lease.isHeld(2_500)).toBe(true);
    expect(lease.isHeld(2_501)).toBe(false);
  });

  it("L2: once it has ended it is never held again", () => {
    const late = new Lease(2_000, { beatMs: 0, viewMs: 0 });
    late.noteView(1_500, 1_600);
    late.noteBeat(1_900, 2_001);
    expect(late.isHeld(2_002)).toBe(false);
    const asked = new Lease(2_000, { beatMs: 0, viewMs: 0 });
    expect(asked.isHeld(3_000)).toBe(false);
    expect(asked.isHeld(1_000)).toBe(false);
    expect(asked.remainingMs(1_000)).toBe(0);
  });
});

describe("watching beats", () => {
  const member = { incarnation: "a" };
  const read = (count: number | null, beganMs: number, endedMs: number) => ({
    beats: count === null ? [] : [{ incarnation: "a", count, wall_ms: 0, homes_seen: 0 }],
    beganMs,
    endedMs,
  });

  it("W2: what counts is when the read began that finds the same count", () => {
    const watch = new BeatWatch(2_500);
    watch.note([member], read(7, 0, 100));
    watch.note([member], read(7, 2_599, 9_000));
    expect(watch.overdue()).toEqual([]);
    expect(watch.nextDueMs()).toBe(2_600);
    watch.note([member], read(7, 2_600, 2_601));
    expect(watch.overdue()).toEqual(["a"]);
    expect(watch.nextDueMs()).toBeNull();
  });

  it("W2: a pause of this node makes nobody overdue that still beats", () => {
    const watch = new BeatWatch(2_500);
    watch.note([member], read(7, 0, 10));
    watch.note([member], read(20, 60_000, 60_010));
    expect(watch.overdue()).toEqual([]);
    expect(watch.nextDueMs()).toBe(62_510);
  });

  it("a count that runs back is a sign of life, a read that was overtaken is none of anything", () => {
    const watch = new BeatWatch(2_500);
    watch.note([member], read(7, 0, 10));
    watch.note([member], read(6, 2_600, 2_610));
    expect(watch.overdue()).toEqual([]);
    watch.note([member], read(7, 2_000, 2_700));
    watch.note([member], read(6, 5_109, 5_110));
    expect(watch.overdue()).toEqual([]);
    watch.note([member], read(6, 5_110, 5_120));
    expect(watch.overdue()).toEqual(["a"]);
  });

  it("who never beat is watched, who is gone is not", () => {
    const watch = new BeatWatch(2_500);
    watch.note([member], read(null, 0, 0));
    watch.note([member], read(null, 2_500, 2_500));
    expect(watch.overdue()).toEqual(["a"]);
    watch.note([], read(null, 2_600, 2_600));
    expect(watch.overdue()).toEqual([]);
    expect(watch.nextDueMs()).toBeNull();
  });
});

describe("a cycle", () => {
  function newCycle(run: () => Promise<void>): { cycle: Poller; time: ManualTime } {
    const time = new ManualTime(1_000);
    const monotonic = { nowMs: () => time.now() };
    return { cycle: new Poller({ timers: time, monotonic, run, everyMs: () => 500, gapMs: 20 }), time };
  }

  it("Y1: a run that hangs delays no other, and not too many hang", async () => {
    const begun: number[] = [];
    const { cycle, time } = newCycle(() => {
      begun.push(time.now());
      return new Promise(() => {});
    });
    cycle.start();
    await time.advance(10_000);
    expect(begun).toEqual([1_000, 1_500, 2_000, 2_500]);
  });

  it("Y2: who asks gets a run that begins after asking, together with all others", async () => {
    const begun: number[] = [];
    const { cycle, time } = newCycle(async () => {
      begun.push(time.now());
      await new Promise<void>((resolve) => void time.schedule(100, resolve));
    });
    cycle.start();
    await time.advance(50);
    const told: number[] = [];
    for (let asker = 0; asker < 3; asker += 1) void cycle.fresh().then(() => told.push(time.now()));
    await time.advance(300);
    expect(begun).toEqual([1_000, 1_050]);
    expect(told).toEqual([1_150, 1_150, 1_150]);
    cycle.stop();
    await time.advance(5_000);
    expect(begun).toHaveLength(2);
    await cycle.fresh();
  });
});
