import { chmod, mkdir, mkdtemp, open, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { leaf, stagingAreaConformance } from "../staging-area.conformance.ts";
import { openFolderStagingArea } from "./staging-area.ts";

const bytesMax = 2 ** 30;
let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), "svc-staging-"));
});
afterAll(() => rm(home, { recursive: true, force: true }));

stagingAreaConformance("a folder", async () => {
  const folder = join(await mkdtemp(join(tmpdir(), "svc-staging-")), "bulk");
  const open = () => openFolderStagingArea({ folder, bytesMax, now: Date.now });
  return { area: await open(), handle: open, close: () => rm(folder, { recursive: true, force: true }) };
});

it("removes drafts of an earlier process and files that nobody uses any more (F2)", async () => {
  const folder = join(home, "earlier");
  await mkdir(folder);
  for (const name of ["a.records.part", "b.records", "c.records"]) await writeFile(join(folder, name), "x");
  await utimes(join(folder, "c.records"), 0, 0);
  await openFolderStagingArea({ folder, bytesMax, now: Date.now });
  expect(await readdir(folder)).toEqual(["b.records"]);
});

it("does not take a file without its end for a file", async () => {
  const folder = join(home, "cut");
  const area = await openFolderStagingArea({ folder, bytesMax, now: Date.now });
  await writeFile(join(folder, "cut.records"), "half of a file");
  await writeFile(join(folder, "none.records"), "");
  expect(await area.readLeaves("cut", 0, 1)).toBeNull();
  expect(await area.readHashes("none")).toBeNull();
});

it("refuses what cannot be written, with the time to come back, and leaves nothing behind (S4)", async () => {
  const blocked = join(home, "blocked");
  await writeFile(blocked, "a file where the folder should be");
  const area = await openFolderStagingArea({ folder: blocked, bytesMax, now: Date.now });
  const facts = { reason: "staging_unavailable", retryAfterSeconds: 60, effect: "not_applied" };
  await expect(area.create("a")).rejects.toMatchObject(facts);
});

it.skipIf(process.getuid?.() === 0)("refuses a read-only folder in the same way", async () => {
  const folder = join(home, "read-only");
  await mkdir(folder);
  await chmod(folder, 0o500);
  const area = await openFolderStagingArea({ folder, bytesMax, now: Date.now });
  await expect(area.create("a")).rejects.toMatchObject({ reason: "staging_unavailable" });
  await chmod(folder, 0o700);
});

it("refuses what follows once the disk is full, and leaves nothing behind (S4)", async () => {
  const folder = join(home, "full");
  let room = 100;
  const openFile: typeof open = async (...given) => {
    const file = await open(...given);
    const write = file.write.bind(file) as (
      bytes: Uint8Array,
      from: number,
    ) => Promise<{ bytesWritten: number }>;
    const limited = async (bytes: Uint8Array, from: number) => {
      const taken = Math.min(room, bytes.length - from);
      if (taken === 0) throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC" });
      room -= taken;
      return write(bytes.subarray(from, from + taken), 0);
    };
    return Object.assign(file, { write: limited });
  };
  const area = await openFolderStagingArea({ folder, bytesMax, now: Date.now, openFile });
  const writer = await area.create("a");
  await writer.append([leaf("x".repeat(99))]);
  await expect(writer.append([leaf("yy")])).rejects.toMatchObject({ reason: "staging_unavailable" });
  expect(await readdir(folder)).toHaveLength(1);
  await writer.discard();
  expect(await readdir(folder)).toEqual([]);
});

it("refuses what has no room beside the other files, across a restart, until one is removed (F3)", async () => {
  const folder = join(home, "bounded");
  const reopen = () => openFolderStagingArea({ folder, bytesMax: 300, now: Date.now });
  const write = async (area: Awaited<ReturnType<typeof reopen>>, name: string) => {
    const writer = await area.create(name);
    try {
      await writer.append([leaf("x".repeat(150))]);
      await writer.finish();
    } catch (error) {
      await writer.discard();
      throw error;
    }
  };
  const first = await reopen();
  await write(first, "a");
  for (const area of [first, await reopen()]) {
    for (const name of ["b", "c"])
      await expect(write(area, name)).rejects.toMatchObject({ reason: "staging_unavailable" });
    expect(await readdir(folder)).toEqual(["a.records"]);
  }
  const later = await reopen();
  await later.remove("a");
  await write(later, "b");
  expect(await readdir(folder)).toEqual(["b.records"]);
});
