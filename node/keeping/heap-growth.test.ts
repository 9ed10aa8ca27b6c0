import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

const module = fileURLToPath(new URL("./heap-growth.ts", import.meta.url));

/** What a program says that has the functions of the module. */
async function saidBy(statements: string, args: readonly string[] = []): Promise<string> {
  const program = `const { boundHeapGrowth, collectGarbage } = await import(${JSON.stringify(module)}); ${statements}`;
  const all = [...args, "--input-type=module", "--eval", program];
  return (await promisify(execFile)(process.execPath, all)).stderr;
}

/** What V8 says of a flag, once a program has gone on for a while. */
const saidAfter = (statement: string) => saidBy(`${statement} globalThis.gc();`, ["--expose-gc"]);

// How large V8 then lets a heap become follows the time that others leave it, so it is not measured here.
test("V8 knows the flag by which the growth of a heap is bounded; it names one that it does not know", async () => {
  expect(await saidAfter("boundHeapGrowth();")).toBe("");
  const other =
    'boundHeapGrowth(); (await import("node:v8")).setFlagsFromString("--heap-growing-per-mille=1");';
  expect(await saidAfter(other)).toContain("heap-growing-per-mille");
});

test("what nobody refers to is collected at once", async () => {
  const pause = "await new Promise(setImmediate);";
  const said = "console.error(held.deref() === undefined);";
  const program = `const held = new WeakRef({}); ${pause} ${said} ${pause} collectGarbage(); ${said}`;
  expect(await saidBy(program)).toBe("false\ntrue\n");
});
