import { expect, it } from "vitest";
import { keepRunning } from "./keep-running.ts";

function fakeProcess() {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  return { ended, end };
}

function keep(starts: readonly (ReturnType<typeof fakeProcess> | Error)[], restartMs = 1) {
  const [first, ...later] = starts;
  if (first === undefined || first instanceof Error) throw new Error("the first one starts");
  const told: string[] = [];
  const stop = new AbortController();
  const start = async () => {
    const next = later.shift();
    if (next === undefined || next instanceof Error) throw next ?? new Error("started too often");
    return next;
  };
  const kept = keepRunning(first, {
    name: "Node a",
    start,
    restartMs,
    restartMaxMs: 3 * restartMs,
    tell: (line) => told.push(line),
    stop: stop.signal,
  });
  return { kept, told, stop, later };
}

it("starts again what ended, also when that fails once", async () => {
  const [first, second] = [fakeProcess(), fakeProcess()];
  const { kept, told, stop, later } = keep([first, new Error("not yet"), second]);
  first.end();
  await expect.poll(() => later.length).toBe(0);
  stop.abort();
  second.end();
  await kept;
  expect(told).toEqual([
    "Node a has ended. It starts again in 0.001 s.",
    "Node a did not start. It starts again in 0.002 s.",
  ]);
});

it("K1: waits twice as long each time, up to a bound, until it has run for a while", async () => {
  // How long each of them runs: the fifth one is healthy, the others end at once.
  const runsMs = [0, 0, 0, 0, 60_000, 0];
  let nowMs = 0;
  const pauses: number[] = [];
  const stop = new AbortController();
  const next = () => {
    const runMs = runsMs.shift() ?? 0;
    return {
      get ended() {
        nowMs += runMs;
        return Promise.resolve();
      },
    };
  };
  const kept = keepRunning(next(), {
    name: "Node a",
    start: async () => next(),
    tell: () => {},
    restartMs: 1_000,
    restartMaxMs: 5_000,
    stop: stop.signal,
    time: {
      nowMs: () => nowMs,
      pass: async (ms) => {
        pauses.push(ms);
        nowMs += ms;
        if (runsMs.length === 0) stop.abort();
      },
    },
  });
  await kept;
  expect(pauses).toEqual([1_000, 2_000, 4_000, 5_000, 1_000, 2_000]);
});

it("starts nothing any more once it is to stop, and says nothing of that end", async () => {
  const first = fakeProcess();
  const { kept, told, stop } = keep([first, fakeProcess()]);
  stop.abort();
  first.end();
  await kept;
  expect(told).toEqual([]);
});

it("does not wait for the next start when it is to stop meanwhile", async () => {
  const first = fakeProcess();
  const { kept, told, stop, later } = keep([first, fakeProcess()], 3_600_000);
  first.end();
  await expect.poll(() => told.length).toBe(1);
  stop.abort();
  await kept;
  expect(later).toHaveLength(1);
});
