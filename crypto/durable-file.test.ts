import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createFile, keepFirst, readFileIfThere, replaceFile } from "./durable-file.ts";
import { Ended, LossyDisk } from "./lossy-disk.fixture.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-durable-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("a durable file", () => {
  it("is replaced whole, and read by its owner alone", async () => {
    const path = join(folder, "a.json");
    expect(await readFileIfThere(path)).toBeNull();
    await replaceFile(path, "one");
    await replaceFile(path, "two");
    expect(await readFileIfThere(path)).toBe("two");
    expect(await readdir(folder)).toEqual(["a.json"]);
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is not touched by a draft that was left behind half written", async () => {
    const path = join(folder, "a.json");
    await replaceFile(path, '{"whole":true}');
    await writeFile(`${path}.new`, '{"who');
    expect(await readFileIfThere(path)).toBe('{"whole":true}');
    await replaceFile(path, "after");
    expect(await readFileIfThere(path)).toBe("after");
  });

  it("has the text of the first who keeps it, whoever else does at the same time", async () => {
    const path = join(folder, "a.json");
    const texts = Array.from({ length: 8 }, (_, index) => `text ${index}`);
    const kept = await Promise.all(texts.map((text) => keepFirst(path, text)));
    expect(new Set(kept)).toEqual(new Set([await readFileIfThere(path)]));
    expect(texts).toContain(kept[0]);
    expect(await createFile(path, "later")).toBe(false);
    expect(await readFileIfThere(path)).toBe(kept[0]);
    expect(await readdir(folder)).toEqual(["a.json"]);
    if (process.platform !== "win32") expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("is left alone by what cannot be written, and no draft stays", async () => {
    await expect(createFile(join(folder, "none", "a"), "text")).rejects.toThrow("ENOENT");
    await expect(replaceFile(join(folder, "none", "a"), "text")).rejects.toThrow("ENOENT");
    expect(await readdir(folder)).toEqual([]);
  });

  it("holds what was written last, or later, whenever its writer is killed", async () => {
    for (const lines of [1, 3, 8, 15]) {
      const path = join(folder, `killed-${lines}.json`);
      const writer = spawn(process.execPath, [join(import.meta.dirname, "durable-writer.fixture.ts"), path], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      let told = "";
      for await (const chunk of writer.stdout.setEncoding("utf8")) {
        told += String(chunk);
        if (told.split("\n").length > lines) break;
      }
      writer.kill("SIGKILL");
      if (writer.exitCode === null && writer.signalCode === null) await once(writer, "exit");
      const { count } = JSON.parse((await readFileIfThere(path)) ?? "") as { count: number };
      expect(count).toBeGreaterThanOrEqual(told.trimEnd().split("\n").length);
    }
  });
});

/** More steps than any of the functions here takes. */
const stepsMax = 12;
const path = "/keys/a.json";

/** Runs `write` until it finishes or the process dies before step `steps`; returns whether it finished. */
async function runs(disk: LossyDisk, steps: number, write: () => Promise<unknown>): Promise<boolean> {
  disk.stepsLeft = steps;
  try {
    await write();
    return true;
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    return false;
  }
}

describe.each([false, true])("after a loss of power (names kept by chance: %s)", (keepsNames) => {
  it("a file that was being replaced is the one or the other, and the new one once that was told (D1, D2)", async () => {
    const outcomes = new Set<boolean>();
    for (let steps = 0; steps <= stepsMax; steps += 1) {
      const disk = new LossyDisk();
      await replaceFile(path, "old", { disk });
      const isTold = await runs(disk, steps, () => replaceFile(path, "new", { disk }));
      disk.losePower(keepsNames);
      expect(isTold ? ["new"] : ["old", "new"]).toContain(disk.read(path));
      outcomes.add(isTold);
      // A leftover draft is in nobody's way.
      await replaceFile(path, "next", { disk });
      expect([disk.read(path), disk.names()]).toEqual(["next", [path]]);
    }
    expect(outcomes).toEqual(new Set([false, true]));
  });

  it("a file that was being made is whole or absent, and there once that was told (D1, D2)", async () => {
    const outcomes = new Set<boolean>();
    for (let steps = 0; steps <= stepsMax; steps += 1) {
      const disk = new LossyDisk();
      const isTold = await runs(disk, steps, () => createFile(path, "first", { disk }));
      disk.losePower(keepsNames);
      expect(isTold ? ["first"] : ["first", null]).toContain(disk.read(path));
      outcomes.add(isTold);
      const isMade = await createFile(path, "second", { disk });
      expect(disk.read(path)).toBe(isMade ? "second" : "first");
    }
    expect(outcomes).toEqual(new Set([false, true]));
  });

  it("a file is there for whoever was told that another had made it, though that one never came to its end (D2)", async () => {
    const outcomes = new Set<boolean>();
    for (let steps = 0; steps <= stepsMax; steps += 1) {
      const disk = new LossyDisk();
      await runs(disk, steps, () => createFile(path, "first", { disk }));
      disk.stepsLeft = Number.POSITIVE_INFINITY;
      const isMade = await createFile(path, "second", { disk });
      disk.losePower(keepsNames);
      expect(disk.read(path)).toBe(isMade ? "second" : "first");
      outcomes.add(isMade);
    }
    expect(outcomes).toEqual(new Set([false, true]));
  });
});
