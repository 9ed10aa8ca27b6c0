import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";
import { runSeed } from "./run-seed.ts";

const seeds = [1, 2, 3, 4, 5, 6];

describe("a seed", () => {
  it("has the same trace twice, in whatever order and whether or not somebody reads", async () => {
    const first = new Map<number, string>();
    for (const seed of seeds) first.set(seed, (await runSeed(seed)).traceHash);
    expect(new Set(first.values()).size).toBe(seeds.length);
    for (const seed of seeds.toReversed()) {
      const { traceHash, story } = await runSeed(seed, { story: true });
      expect(traceHash).toBe(first.get(seed));
      expect(story.length).toBeGreaterThan(20);
    }
  });

  it("has the same trace in another process", async () => {
    const program = `import { runSeed } from "./run-seed.ts"; console.log((await runSeed(3)).traceHash);`;
    const cwd = fileURLToPath(new URL(".", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "-e", program], {
      cwd,
    });
    expect(stdout.trim()).toBe((await runSeed(3)).traceHash);
  });

  it("uses nothing that is not deterministic, native asynchronous work included", async () => {
    for (const seed of seeds) {
      const { violations } = await runSeed(seed, { watchNativeWork: true });
      expect(violations).toEqual([]);
    }
  });
});
