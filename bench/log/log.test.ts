// The measured processes of the log do what their figures say: the leaves are in the tree, and the proofs lead to its root.

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { Child } from "../child.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-bench-log-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the benchmark of the log", () => {
  it("counts a leaf when the committed tree contains it", async () => {
    await mkdir(join(folder, "ours"));
    await using child = new Child();
    const load = { folder: join(folder, "ours"), writers: 4, warmUp: 8, entries: 40 };
    const { size, heads } = await child.call("sections/log-append.ts", "run", load);
    expect(size).toBeGreaterThanOrEqual(48);
    expect(heads).toBeGreaterThanOrEqual(10);
  });

  it("proves every leaf that it asks for, and notices a tile that was changed", async () => {
    await using child = new Child();
    await child.call("sections/log-proof.ts", "build", folder, 1_000);
    const load = { folder, indexes: [0, 255, 256, 700, 999] };
    expect(await child.call("sections/log-proof.ts", "prove", load)).toBeGreaterThan(0);
    expect(await child.call("sections/log-proof.ts", "readTiles", load)).toBeGreaterThan(0);
    const tile = join(folder, "log/tile/0/002");
    const bytes = await readFile(tile);
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    await writeFile(tile, bytes);
    await expect(child.call("sections/log-proof.ts", "prove", load)).rejects.toThrow(
      "the proof of leaf 700 is wrong",
    );
  });
});
