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
    ...{ name: "Node a", start, restartMs },
    tell: (line) => told.push(line),
    stop: stop.signal,
  });
  return { kept, told, stop, later };
}

const ended = "Node a has ended. It starts again in 0.001 s.";

it("starts again what ended, also when that fails once", async () => {
  const [first, second] = [fakeProcess(), fakeProcess()];
  const { kept, told, stop, later } = keep([first, new Error("not yet"), second]);
  first.end();
  await expect.poll(() => later.length).toBe(0);
  stop.abort();
  second.end();
  await kept;
  expect(told).toEqual([ended, ended]);
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
