import { beforeEach, expect, it } from "vitest";
import { ManualTime } from "../actors/system/manual-time.fixture.ts";
import { repeat } from "./back-off.ts";

const everyMs = 1_000;
let time: ManualTime;
let runs: number;
let run: () => Promise<void>;
let wasStopped: () => boolean;
let stop: () => Promise<void>;

beforeEach(() => {
  time = new ManualTime();
  runs = 0;
  run = async () => {};
  stop = repeat({
    everyMs,
    timers: time,
    run: (isStopped) => {
      runs += 1;
      wasStopped = isStopped;
      return run();
    },
  });
});

it("runs at its interval, the first time an interval from now", async () => {
  expect(runs).toBe(0);
  await time.advance(everyMs);
  expect(runs).toBe(1);
  await time.advance(9 * everyMs);
  expect(runs).toBe(10);
});

it("R1: waits for a run that takes long, and runs next an interval after it", async () => {
  const long = Promise.withResolvers<void>();
  run = () => long.promise;
  await time.advance(20 * everyMs);
  expect(runs).toBe(1);
  run = async () => {};
  long.resolve();
  await time.advance(everyMs);
  expect(runs).toBe(2);
});

it("R2: a stop waits for the run under way, which learns of it, and nothing follows", async () => {
  const long = Promise.withResolvers<void>();
  run = () => long.promise;
  await time.advance(everyMs);
  expect(wasStopped()).toBe(false);
  let isOver = false;
  const stopped = stop().then(() => {
    isOver = true;
  });
  await time.advance(everyMs);
  expect([isOver, wasStopped()]).toEqual([false, true]);
  long.resolve();
  await stopped;
  await time.advance(10 * everyMs);
  expect(runs).toBe(1);
});

it("R2: a stop between runs is at once", async () => {
  await time.advance(everyMs);
  await stop();
  await time.advance(10 * everyMs);
  expect(runs).toBe(1);
});
