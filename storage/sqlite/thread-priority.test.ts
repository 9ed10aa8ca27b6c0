import { once } from "node:events";
import { getPriority } from "node:os";
import { Worker } from "node:worker_threads";
import { expect, it } from "vitest";

const script = `
  const { getPriority } = await import("node:os");
  const { lowerPriority } = await import(process.env.MODULE);
  const { parentPort } = await import("node:worker_threads");
  const before = getPriority(0);
  lowerPriority();
  parentPort.postMessage([before, getPriority(0)]);`;

it.runIf(process.platform === "linux")("a thread that gives way does so alone", async () => {
  const before = getPriority(0);
  const module = new URL("./thread-priority.ts", import.meta.url).href;
  const url = new URL(`data:text/javascript,${encodeURIComponent(script)}`);
  const worker = new Worker(url, { env: { ...process.env, MODULE: module } });
  const [priorities] = await once(worker, "message");
  expect(priorities).toEqual([before, Math.max(before, 10)]);
  expect(getPriority(0)).toBe(before);
  await worker.terminate();
});
