import { setTimeout as delay } from "node:timers/promises";
import { expect, it } from "vitest";
import { longestStepReading, watchLongestStep } from "./timings.ts";

it("tells the longest step of the thread, by processor time, and no wait", async () => {
  const step = watchLongestStep();
  await delay(60);
  const idleMs = step.longestMs();
  const { user } = process.threadCpuUsage();
  while (process.threadCpuUsage().user - user < 200_000);
  await delay(60);
  const busyMs = step.longestMs();
  await delay(60);
  step.close();
  expect(idleMs).toBeLessThan(200);
  expect(busyMs).toBeGreaterThanOrEqual(195);
  expect(step.longestMs()).toBeGreaterThanOrEqual(busyMs);
  expect(longestStepReading(step)).toMatchObject({ name: "svc_longest_step_seconds", kind: "gauge" });
});
