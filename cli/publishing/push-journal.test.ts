import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { PushState } from "../../client/push-state.ts";
import { openPushJournal, PushRunningError } from "./push.ts";

let folder = "";
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-journal-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const state: PushState = { v: 1, business_uuid: "b", records: 1, root: "sha256:00", batches: [] };

describe("the journal of a push", () => {
  it("keeps its state for the next run", async () => {
    const path = join(folder, "pushes", "p.json");
    {
      using journal = await openPushJournal(path);
      expect(await journal.load()).toBeNull();
      await journal.save(state);
    }
    using again = await openPushJournal(path);
    expect(await again.load()).toMatchObject(state);
  });

  it("knows which records an unfinished push sends, until another one begins", async () => {
    const path = join(folder, "pushes", "p.json");
    const batch = { first: 0, count: 3, sealed: null, result: null };
    {
      using journal = await openPushJournal(path);
      await journal.begin([0, 1, 7]);
      expect(await journal.unfinished()).toBeNull();
      await journal.save({ ...state, batches: [batch] });
    }
    {
      using journal = await openPushJournal(path);
      expect(await journal.unfinished()).toEqual([0, 1, 7]);
      const nothing = { accepted: 0, updated: 0, rejected: 0, faults: [], reasons: [] };
      const held = { ...batch, result: { state: "held" as const, ...nothing } };
      await journal.save({ ...state, batches: [held] });
      expect(await journal.unfinished()).toEqual([0, 1, 7]);
      await journal.save({ ...state, batches: [{ ...held, result: { ...held.result, state: "failed" } }] });
      expect(await journal.unfinished()).toBeNull();
      await journal.begin([2]);
    }
    using last = await openPushJournal(path);
    expect(await last.load()).toBeNull();
  });

  it("is one process's at a time", async () => {
    const path = join(folder, "p.json");
    {
      using _first = await openPushJournal(path);
      await expect(openPushJournal(path)).rejects.toThrow(PushRunningError);
    }
    using second = await openPushJournal(path);
    expect(second.path).toBe(path);
  });

  it("is free again when the process that had it was killed", async () => {
    const path = join(folder, "p.json");
    const program = join(folder, "holder.ts");
    const module = JSON.stringify(new URL("./push.ts", import.meta.url).href);
    await writeFile(
      program,
      `const { openPushJournal } = await import(${module});
       globalThis.journal = await openPushJournal(${JSON.stringify(path)});
       console.log("held");
       setInterval(() => {}, 1000);`,
    );
    const holder = spawn(process.execPath, [program], { stdio: ["ignore", "pipe", "inherit"] });
    await once(holder.stdout, "data");
    await expect(openPushJournal(path)).rejects.toThrow(PushRunningError);
    holder.kill("SIGKILL");
    await once(holder, "exit");
    using journal = await openPushJournal(path);
    expect(await journal.load()).toBeNull();
  });
});
