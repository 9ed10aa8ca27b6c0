import { mkdtempSync, rmSync } from "node:fs";
import { link, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { utf8 } from "../../protocol/bytes.ts";
import { logStoreConformance, type OpenLogStore } from "../log-store.conformance.ts";
import { LogConflict } from "../log-store.ts";
import { SqliteDatabase } from "./database.ts";
import { openSqliteLogStore } from "./log-store.ts";

function openIn(home: string): OpenLogStore {
  const database = SqliteDatabase.open(join(home, "store.db"));
  const store = openSqliteLogStore({ database, folder: join(home, "log") });
  return {
    store,
    reopen: async () => openIn(home),
    close: async () => {
      await store[Symbol.asyncDispose]();
      database.close();
    },
  };
}

function openHome(): { readonly home: string; readonly opened: OpenLogStore } {
  const home = mkdtempSync(join(tmpdir(), "svc-log-store-"));
  onTestFinished(() => rmSync(home, { recursive: true }));
  return { home, opened: openIn(home) };
}

logStoreConformance("files and SQLite", async () => openHome().opened);

it("F1, L2: leaves the tiles as files under their own paths, no draft, and no partial tile beside a full one", async () => {
  const { home, opened } = openHome();
  await opened.store.write([{ path: "tile/0/000.p/1", bytes: utf8("a") }], []);
  await opened.store.write(
    [
      { path: "tile/0/001.p/1", bytes: utf8("a") },
      { path: "tile/0/000", bytes: utf8("b") },
      { path: "tile/entries/x001/000", bytes: utf8("c") },
    ],
    [],
  );
  await opened.close();
  const files = await readdir(join(home, "log"), { recursive: true, withFileTypes: true });
  const names = files.filter((each) => each.isFile()).map((each) => join(each.parentPath, each.name));
  expect(names.map((each) => each.slice(join(home, "log").length + 1)).sort()).toEqual([
    "tile/0/000",
    "tile/0/001.p/1",
    "tile/entries/x001/000",
  ]);
});

it("F1: never writes into a draft that a crash left, which may already be the file itself", async () => {
  const { home, opened } = openHome();
  const object = { path: "tile/0/000", bytes: utf8("whole") };
  await opened.store.write([object], []);
  await link(join(home, "log/tile/0/000"), join(home, "log/tile/0/000.new"));
  await expect(opened.store.write([{ ...object, bytes: utf8("other") }], [])).rejects.toThrow(LogConflict);
  expect(await opened.store.read(["tile/0/000"])).toEqual([Buffer.from("whole")]);
  await writeFile(join(home, "log/tile/0/001.new"), "torn");
  await opened.store.write([{ path: "tile/0/001", bytes: utf8("next") }], []);
  expect(await opened.store.read(["tile/0/001"])).toEqual([Buffer.from("next")]);
  expect((await readdir(join(home, "log/tile/0"))).sort()).toEqual(["000", "001"]);
  await opened.close();
});

it("F2: ends what it is writing before it is closed, and writes nothing afterwards", async () => {
  const { home, opened } = openHome();
  const paths = Array.from({ length: 50 }, (_, index) => `tile/0/${String(index).padStart(3, "0")}`);
  const objects = paths.map((path) => ({ path, bytes: utf8(path) }));
  const written = opened.store.write(objects, []).catch(() => {});
  await opened.close();
  expect((await readdir(join(home, "log/tile/0"))).length).toBe(50);
  rmSync(join(home, "log"), { recursive: true });
  const late = opened.store.write(objects, []);
  await expect(late).rejects.toMatchObject({ effect: "not_applied" });
  await written;
  await expect(readdir(join(home, "log"))).rejects.toThrow(/ENOENT/);
});
