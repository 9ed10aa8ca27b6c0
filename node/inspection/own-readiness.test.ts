import { expect, it } from "vitest";
import { createOwnReadiness } from "./inspection.ts";

it("OR1: however many look, the checks run once at a time, every ten seconds, or two while anything fails", async () => {
  let nowMs = 0;
  let runs = 0;
  let isOk = false;
  let done = Promise.withResolvers<void>();
  const readiness = createOwnReadiness({
    elapsedMs: () => nowMs,
    check: async () => {
      runs += 1;
      await done.promise;
      return {
        report: { ready: isOk, degraded: [], checks: { store: isOk ? "ok" : `run ${runs}` } },
        spaces: [],
      };
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
  isOk = true;
  expect([(await readiness()).checks, runs]).toEqual([{ store: "ok" }, 2]);
  nowMs += 9_999;
  isOk = false;
  expect([(await readiness()).ready, runs]).toEqual([true, 2]);
  nowMs += 1;
  done = Promise.withResolvers();
  done.reject(new Error("It cannot be read."));
  await expect(readiness()).rejects.toThrow("It cannot be read.");
  nowMs += 1_999;
  await expect(readiness()).rejects.toThrow();
  expect(runs).toBe(3);
});
