// The fuzzer finds each of the faults that are planted for it, in a process of its own, and says so when one changes nothing.

import { describe, expect, it } from "vitest";
import { type PlantedFault, plantedFaults } from "./fuzz/planted-faults.ts";
import { root, startProcess } from "./process.ts";

/** The same for every commit: what is tried is the fuzzer, which either finds them or does not. */
const seed = 1;
/** Several times as many as any of them takes; a target that finds nothing ends by it, and not by a time that a slow machine needs. */
const inputs = 100_000;

interface Ended {
  readonly code: number | null;
  readonly said: string;
}

const fuzzed = (args: readonly string[]): Promise<Ended> => run(["tools/fuzz.ts", ...args]);

/** Plants a fault in a process of its own, which uses the file where it is. */
function planted(was: string, path: string): Promise<Ended> {
  const fault = JSON.stringify({ name: "nothing", target: "", path: "std/work.ts", was, becomes: "" });
  const program = `import { plantFault } from "./tools/fuzz/planted-faults.ts"; const check = plantFault(${fault}); await import("./${path}"); check();`;
  return run(["--input-type=module", "--eval", program]);
}

async function run(args: readonly string[]): Promise<Ended> {
  const { child, ended } = startProcess(process.execPath, args, {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (part: Buffer) => {
      said += part.toString();
    });
  return { code: (await ended).code, said };
}

describe(`fuzzing with seed ${seed}`, () => {
  it.each(plantedFaults.map((fault): [string, PlantedFault] => [fault.name, fault]))(
    "finds %s",
    async (name, { target }) => {
      const { code, said } = await fuzzed([
        "--fault",
        name,
        "--seed",
        String(seed),
        "--seconds",
        "1100",
        "--inputs",
        String(inputs),
      ]);
      expect(said).toContain(`FAIL ${target}: `);
      expect(code).toBe(1);
      // It is the fault that was found, and nothing else.
      const [, input = ""] = /--input (\S+)$/m.exec(said) ?? [];
      expect(await fuzzed(["--target", target, "--input", input])).toMatchObject({ code: 0 });
    },
  );

  it("has at least ten faults, each with a name of its own, for many targets", () => {
    expect(plantedFaults.length).toBeGreaterThanOrEqual(10);
    expect(new Set(plantedFaults.map(({ name }) => name)).size).toBe(plantedFaults.length);
    expect(new Set(plantedFaults.map(({ target }) => target)).size).toBeGreaterThanOrEqual(8);
  });

  it.each([
    ["is not in its file", "there is no such text", "std/work.ts", "its text is not once in std/work.ts"],
    ["is in a file that is not used", "export", "std/json-pointer.ts", "std/work.ts is not used"],
  ])("says that a fault changes nothing that %s", async (_, was, path, why) => {
    const { code, said } = await planted(was, path);
    expect(said).toContain(`The fault nothing changes nothing: ${why}`);
    expect(code).toBe(1);
  });

  it("says which fault there is none of", async () => {
    expect(await fuzzed(["--fault", "none"])).toMatchObject({
      code: 2,
      said: expect.stringContaining("--fault is one of"),
    });
  });
});
