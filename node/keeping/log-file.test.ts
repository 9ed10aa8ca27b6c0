import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type NodeLog, openLog, openLogFile } from "./log-file.ts";

const dayMs = 86_400_000;
let folder: string;
let nowMs: number;
let look: (() => void) | null;
let opened: NodeLog | null;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "svc-log-"));
  nowMs = Date.now();
  [look, opened] = [null, null];
});
afterEach(() => {
  opened?.close();
  rmSync(folder, { recursive: true, force: true });
});

async function open(retention = { logDays: 30, logMebibytes: 8 }): Promise<NodeLog> {
  const timers = {
    schedule: (_delayMs: number, run: () => void) => {
      look = run;
      return () => {};
    },
  };
  const log = openLogFile({ path: join(folder, "node.log"), retention, clock: { now: () => nowMs }, timers });
  opened = log;
  await new Promise((resolve) => log.destination.once("ready", () => resolve(undefined)));
  return log;
}

async function write({ destination }: NodeLog, lines: readonly string[]): Promise<void> {
  const text = lines.map((line) => `${line}\n`).join("");
  // The file is written, and its successor opened, in the background; the log's byte counter hears of it before this does.
  let left = Buffer.byteLength(text);
  const count = (written: number): void => {
    left -= written;
  };
  destination.on("write", count);
  for (const line of lines) destination.write(`${line}\n`);
  await vi.waitFor(() => {
    destination.flush();
    expect(left).toBe(0);
  });
  destination.off("write", count);
}

const files = (): readonly string[] => readdirSync(folder).sort();
const sizeOf = (names: readonly string[]): number =>
  names.reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
const mebibyte = 1_048_576;

describe("a node's log file", () => {
  it("takes no more than its bound, and loses or splits no line of what is kept (L1, L2)", async () => {
    const log = await open();
    const line = (n: number) => JSON.stringify({ n, pad: "x".repeat(10_000) });
    let n = 0;
    // Writes 24 MiB through a log of 8 MiB.
    for (let block = 0; block < 24; block += 1) {
      await write(
        log,
        Array.from({ length: 100 }, () => line(n++)),
      );
      nowMs += 1_000;
    }
    expect(sizeOf(files())).toBeLessThan(8.5 * mebibyte);
    expect(sizeOf(files())).toBeGreaterThan(6 * mebibyte);
    // The current file has the shortest name and the newest lines.
    const inOrder = [...files().slice(1), "node.log"];
    const kept = inOrder.flatMap((name) => readFileSync(join(folder, name), "utf8").trim().split("\n"));
    const numbers = kept.map((text) => JSON.parse(text).n as number);
    expect(numbers).toEqual(numbers.map((_, index) => n - numbers.length + index));
  });

  it("is put aside after a day and removed when its lines were kept for long enough (L3)", async () => {
    const log = await open({ logDays: 3, logMebibytes: 8 });
    await write(log, ["of the first day"]);
    // A file is as old as the disk says, and was made a moment after the test began.
    nowMs += dayMs + 60_000;
    // Until the next file is open, lines go on into the one that was put aside.
    const isOpen = new Promise((resolve) => log.destination.once("ready", () => resolve(undefined)));
    look?.();
    await isOpen;
    await write(log, ["of the second day"]);
    expect(files()).toHaveLength(2);
    expect(readFileSync(join(folder, files()[1] ?? ""), "utf8")).toBe("of the first day\n");
    expect(readFileSync(join(folder, "node.log"), "utf8")).toBe("of the second day\n");
    const areLeft = (count: number) => vi.waitFor(() => expect(files()).toHaveLength(count));
    nowMs += 3 * dayMs - 1;
    look?.();
    await areLeft(3);
    expect(files()[0]).toBe("node.log");
    nowMs += 2;
    look?.();
    await areLeft(2);
    nowMs += 3 * dayMs;
    look?.();
    expect(files()).toEqual(["node.log"]);
  });

  it("goes on with the file of an earlier run, and touches no file of another name", async () => {
    writeFileSync(join(folder, "node.log"), "of an earlier run\n");
    const before = (nowMs - 2 * dayMs) / 1_000;
    utimesSync(join(folder, "node.log"), before, before);
    writeFileSync(join(folder, "node.log.20200101T000000000Z"), "old");
    writeFileSync(join(folder, "node.log.kept-by-hand"), "mine");
    const log = await open();
    await write(log, ["of this run"]);
    const [first, second, ...more] = files();
    expect([first, more]).toEqual(["node.log", ["node.log.kept-by-hand"]]);
    expect(readFileSync(join(folder, second ?? ""), "utf8")).toBe("of an earlier run\n");
    expect(readFileSync(join(folder, "node.log"), "utf8")).toBe("of this run\n");
  });

  it("is nobody else's to read", async () => {
    await write(await open(), ["a line"]);
    expect(statSync(join(folder, "node.log")).mode & 0o077).toBe(0);
  });

  it.runIf(process.platform === "linux")(
    "L4: neither ends the process nor loses lines where they cannot be written for a while",
    async () => {
      const faults: string[] = [];
      const note = ({ message }: Error): void => void faults.push(message);
      process.on("warning", note);
      // Every write to it fails as on a full disk.
      const log = openLog("/dev/full");
      for (let n = 0; n < 50; n += 1) log.destination.write(`${n}\n`);
      await vi.waitFor(() => expect(faults.join()).toContain("ENOSPC"));
      const path = join(folder, "room");
      log.destination.reopen(path);
      log.destination.write("50\n");
      await vi.waitFor(() => expect(readFileSync(path, "utf8")).toMatch(/^0\n1\n.*49\n50\n$/s));
      await vi.waitFor(() => expect(faults.at(-1)).toContain("0 lines were dropped"));
      log.close();
      process.off("warning", note);
    },
  );

  it.runIf(process.platform === "linux")(
    "L4: keeps no more lines than its bound, and ends although they cannot be written",
    async () => {
      const log = openLog("/dev/full");
      let dropped = 0;
      log.destination.on("drop", () => {
        dropped += 1;
      });
      await new Promise((resolve) => log.destination.once("ready", () => resolve(undefined)));
      const line = `${"x".repeat(999)}\n`;
      for (let n = 0; n < 20_000; n += 1) log.destination.write(line);
      expect(dropped).toBeGreaterThan(3_000);
      expect(dropped).toBeLessThan(4_000);
      await new Promise((resolve) => log.destination.once("error", resolve));
      log.close();
      await new Promise((resolve) => log.destination.once("close", () => resolve(undefined)));
    },
  );
});
