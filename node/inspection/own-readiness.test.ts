import { expect, it } from "vitest";
import { createOwnReadiness } from "./own-readiness.ts";

it("OR1: however many look, the checks run once at a time, and at most every two seconds", async () => {
  let nowMs = 0;
  let runs = 0;
  let done = Promise.withResolvers<void>();
  const readiness = createOwnReadiness({
    elapsedMs: () => nowMs,
    check: async () => {
      runs += 1;
      const checks = { store: `run ${runs}` };
      await done.promise;
      return { report: { ready: false, degraded: [], checks }, spaces: [] };
    },
  });
  const slow = readiness();
  nowMs = 60_000;
  const together = readiness();
  expect(runs).toBe(1);
  done.resolve();
  expect((await slow).checks).toEqual({ store: "run 1" });
  expect(await together).toEqual(await slow);
  nowMs += 1_999;
  expect((await readiness()).checks).toEqual({ store: "run 1" });
  nowMs += 1;
  done = Promise.withResolvers();
  done.resolve();
  expect([(await readiness()).checks, runs]).toEqual([{ store: "run 2" }, 2]);
});
