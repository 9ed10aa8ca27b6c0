// The actor system on a real SQLite journal, in this process and in one that is killed.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { ask, counter } from "../../actors/system/world.fixture.ts";
import { openJournal } from "./actor-journal.fixture.ts";

const folder = mkdtempSync(join(tmpdir(), "svc-actor-journal-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * Starts the writer and kills it without warning once it has acknowledged `count` commands; returns all acknowledgements.
 */
async function killAfter(path: string, run: string, count: number): Promise<string[]> {
  const script = join(import.meta.dirname, "actor-journal.fixture.ts");
  const child: ChildProcess = spawn(process.execPath, [script, path, run], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  let lines = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    text += chunk.toString();
    lines += chunk.toString().split("\n").length - 1;
    if (lines >= count) child.kill("SIGKILL");
  });
  const [, signal] = await once(child, "close");
  expect(signal).toBe("SIGKILL");
  // The last line may be cut off; only whole lines count as acknowledged.
  return text.slice(0, text.lastIndexOf("\n")).split("\n");
}

describe("a process that is killed", () => {
  it("A2, S4: loses nothing that it acknowledged, and applies nothing twice", async () => {
    const path = join(folder, "killed.db");
    const acknowledged: string[] = [];
    for (const [run, count] of [
      ["first", 50],
      ["second", 700],
      ["third", 2_000],
    ] as const) {
      acknowledged.push(...(await killAfter(path, run, count)));
    }
    expect(acknowledged.length).toBeGreaterThan(2_700);
    const { database, system } = openJournal(path);
    await using _database = database;
    const store = new Set<string>();
    for (const row of database
      .prepare("SELECT id, k2 FROM actor_row, actor_head WHERE rt = 16 AND actor = no")
      .all()) {
      store.add(`${row["id"]} ${row["k2"]}`);
    }
    for (const line of acknowledged) expect(store).toContain(line);
    let total = 0;
    for (let actor = 0; actor < 8; actor += 1) {
      const rows = [...store].filter((line) => line.startsWith(`a${actor} `)).length;
      expect(await ask(system, `a${actor}`, { type: "read" })).toMatchObject({ n: rows });
      total += rows;
    }
    expect(total).toBe(store.size);
    await system.drain(10_000);
  });
});

describe("actors on a SQLite journal", () => {
  it("keep their state, messages and work across clean restarts", async () => {
    const path = join(folder, "restarted.db");
    for (let round = 1; round <= 3; round += 1) {
      const { database, system } = openJournal(path);
      await system.start();
      const sent = [];
      for (let i = 0; i < 60; i += 1) sent.push(ask(system, "a", { type: "add", by: 1 }));
      for (let i = 0; i < 5; i += 1) sent.push(ask(system, "a", { type: "forward", to: "b", by: 1 }));
      sent.push(ask(system, "a", { type: "work", job: `job-${round}` }));
      await Promise.all(sent);
      if (round === 3) {
        await ask(system, "b", { type: "await", n: 15 });
        expect(await ask(system, "a", { type: "read" })).toMatchObject({ n: 180, epoch: 3 });
        expect((await system.inspect(counter("b")))?.context).toMatchObject({ n: 15 });
      }
      await system.drain(10_000);
      expect(system.stats().active).toBe(0);
      database.close();
    }
    const { database, system } = openJournal(path);
    await system.adopt();
    for (;;) {
      const { done } = (await ask(system, "a", { type: "read" })) as { done: string[] };
      if (done.length < 3) continue;
      expect([...done].sort()).toEqual(["job-1", "job-2", "job-3"]);
      break;
    }
    await system.drain(10_000);
    database.close();
  });
});
