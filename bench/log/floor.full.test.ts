// The floor of log appends, a program in Go, appends the same entries as the service.

import { execFile } from "node:child_process";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { parseBundle, parseEntry } from "../../protocol/log/leaves.ts";
import { buildGoPrograms } from "../../tools/go-programs.ts";
import { benchEntry } from "./sequencer.ts";

it("appends the entries of the benchmark, in their order", async ({ skip }) => {
  const built = await buildGoPrograms({ append: "./append-floor" });
  if (built === null) return skip("the floor cannot be built here");
  try {
    const to = join(built.folder, "floor");
    const { stdout } = await promisify(execFile)(built.paths.append, [to, "4", "4", "8"]);
    expect(Number(stdout)).toBeGreaterThan(0);
    const bundle = parseBundle(await readFile(join(to, "tile/entries/000.p/12")), 12) ?? [];
    const leaves = bundle.map((bytes) => parseEntry(bytes)?.leaf).toSorted();
    expect(leaves).toEqual(Array.from({ length: 12 }, (_, at) => benchEntry(at).leaf).toSorted());
  } finally {
    await rm(built.folder, { recursive: true });
  }
});
