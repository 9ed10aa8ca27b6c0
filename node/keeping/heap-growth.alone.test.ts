import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const fixture = fileURLToPath(new URL("./heap-growth.fixture.ts", import.meta.url));
/**
 * Without other threads, which fall behind where the processor is taken away, from a small heap on, and without optimized code, which
 * makes objects in the old generation at once: when it is there follows the time that others leave it.
 */
const steady = [
  "--expose-gc",
  "--single-threaded",
  "--no-incremental-marking",
  "--no-opt",
  "--no-maglev",
  "--initial-old-space-size=64",
];

test("a heap that is filled quickly stays smaller than V8 lets it become by itself", async () => {
  const args = [...steady, fixture, "bounded"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  // V8 names a flag that it does not know here, and goes on.
  expect(stderr).toBe("");
  // It is 4.0 times what is in use; unbounded, 5.1.
  expect(Number(stdout)).toBeLessThan(4.5);
});
