import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { readFileIfThere, replaceFile } from "./durable-file.ts";

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
