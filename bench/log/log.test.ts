// The measured process of the log does what its figures say: the leaves are in the tree.

import { mkdir, mkdtemp, rm } from "node:fs/promises";
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
});
