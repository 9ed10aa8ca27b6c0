import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const fixture = fileURLToPath(new URL("./heap-growth.fixture.ts", import.meta.url));

/** Without collections beside the program, which fall behind where the processor is taken away. */
const collecting = ["--single-threaded-gc", "--no-incremental-marking"];

async function highestHeap(...options: readonly string[]): Promise<number> {
  const args = [...collecting, fixture, ...options];
  const { stdout, stderr } = await promisify(execFile)(process.execPath, args);
  // V8 names a flag that it does not know here, and goes on.
  expect(stderr).toBe("");
  return Number(stdout);
}

test("a heap that is filled quickly stays smaller", async () => {
  const [free, bounded] = [await highestHeap(), await highestHeap("bounded")];
  expect(bounded).toBeGreaterThan(0);
  expect(bounded).toBeLessThan(0.8 * free);
});
