import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { recordSet } from "../../client/record-set.ts";
import { SpoolWriter } from "./product-input.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-spool-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const records = Array.from({ length: 2_500 }, (_, index) =>
  new TextEncoder().encode(`{"n":${index},"text":"${"x".repeat(index % 1_000)}"}`),
);

it("gives back the same records as memory does, and the same bulk file", async () => {
  const writer = await SpoolWriter.open(folder);
  for (const [index, record] of records.entries()) await writer.add(record, index + 2);
  await using spool = await writer.finish();
  const memory = recordSet(records);
  expect(spool.leaves).toEqual(memory.leaves);
  expect(spool.lengths).toEqual(memory.lengths);
  expect(spool.places[9]).toBe(11);
  for (const [first, count] of [
    [0, 1],
    [7, 900],
    [2_400, 1_000],
    [2_500, 10],
  ] as const) {
    expect(await spool.read(first, count)).toEqual(await memory.read(first, count));
    const [file, wanted] = [await spool.bulkFile(first, count), await memory.bulkFile(first, count)];
    expect(await file.text()).toBe(await wanted.text());
  }
});

it("goes with its process, and takes those of processes that were killed with it", async () => {
  await writeFile(join(folder, "999999999-1.spool"), "");
  await writeFile(join(folder, "1-1.spool"), "");
  await writeFile(join(folder, "push.json"), "");
  const writer = await SpoolWriter.open(folder);
  expect(await readdir(folder)).toHaveLength(3);
  await writer.drop();
  expect((await readdir(folder)).sort()).toEqual(["1-1.spool", "push.json"]);
});
