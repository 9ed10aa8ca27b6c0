import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const fixture = fileURLToPath(new URL("./heap-growth.fixture.ts", import.meta.url));
/**
 * Without collections beside the program, which fall behind where the processor is taken away, and from a small heap on: how large V8
 * lets it become before its first collection follows the time that others leave it.
 */
const collecting = [
  ...["--expose-gc", "--single-threaded-gc", "--no-incremental-marking"],
  "--initial-old-space-size=64",
];

test("a heap that is filled quickly stays smaller than V8 lets it become by itself", async () => {
  const args = [...collecting, fixture, "bounded"];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  // V8 names a flag that it does not know here, and goes on.
  expect(stderr).toBe("");
  // Unbounded, it becomes more than 5.2 times what is in use.
  expect(Number(stdout)).toBeLessThan(4.7);
});
