// What every implementation of the port in register-store.ts must pass: obligations G1 and G2 and the reads beside them.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RegisterEntry, type RegisterStore, registerTables } from "./register-store.ts";

export interface OpenRegisterStore {
  readonly store: RegisterStore;
  /** Ends this handle as the loss of the process would, and opens the same contents anew. */
  reopen(): Promise<OpenRegisterStore>;
  close(): Promise<void>;
}

/** More pages than any of these tests has to turn. */
const pagesMax = 2_000;

let counter = 0;
/** Unlike any other of this run or an earlier one, so that stores which keep their contents can be used. */
function fresh(prefix: string): string {
  counter += 1;
  return `${prefix}-${Date.now().toString(36)}-${counter}`;
}

function entry(key: string, changes: Partial<RegisterEntry> = {}): RegisterEntry {
  return {
    table: "key",
    partition: `party of ${key}`,
    key,
    change: 1,
    body: '{"name":"Größe 😀"}',
    ...changes,
  };
}

export function registerStoreConformance(name: string, open: () => Promise<OpenRegisterStore>): void {
  let opened: OpenRegisterStore;
  let store: RegisterStore;
  const reopen = async (): Promise<void> => {
    opened = await opened.reopen();
    store = opened.store;
  };

  describe(`${name} keeps the contract of a register store`, () => {
    beforeEach(async () => {
      opened = await open();
      store = opened.store;
    });
    afterEach(() => opened.close());

    describe("entries", () => entryTests(() => store, reopen));
    describe("changes", () => changeTests(() => store, reopen));
  });
}

function entryTests(store: () => RegisterStore, reopen: () => Promise<void>): void {
  it("are given back as they were put, in every table, after a loss of the process too (G2)", async () => {
    const key = fresh("k");
    const entries = registerTables.map((table) => entry(key, { table, body: `{"table":"${table}"}` }));
    await store().put(entries);
    await reopen();
    for (const each of entries) expect(await store().get(each.table, key)).toEqual(each);
    expect(await store().get("key", fresh("k"))).toBeNull();
  });

  it("are replaced only by those with a higher change, in whatever order they come (G1)", async () => {
    const key = fresh("k");
    for (const change of [2, 7, 7, 3]) await store().put([entry(key, { change, body: `{"n":${change}}` })]);
    await store().put([entry(key, { change: 7, body: '{"other":true}' })]);
    expect(await store().get("key", key)).toEqual(entry(key, { change: 7, body: '{"n":7}' }));
    await store().put([entry(key, { change: 8, body: "{}" })]);
    expect(await store().get("key", key)).toEqual(entry(key, { change: 8, body: "{}" }));
  });

  it("are judged one by one within a call, the same entry twice included", async () => {
    const [a, b] = [fresh("k"), fresh("k")];
    await store().put([entry(a, { change: 5 })]);
    await store().put([entry(a, { change: 4, body: "{}" }), entry(b, { change: 2, body: "[2]" }), entry(b)]);
    expect(await store().get("key", a)).toEqual(entry(a, { change: 5 }));
    expect(await store().get("key", b)).toEqual(entry(b, { change: 2, body: "[2]" }));
    await store().put([]);
  });

  it("are listed by party and table, ascending by key, as they are now", async () => {
    const [partition, other] = [fresh("p"), fresh("p")];
    const keys = ["b", "a", "B", "a/10", "a/9"].map((key) => `${partition}/${key}`);
    await store().put(keys.map((key) => entry(key, { partition })));
    await store().put([
      entry(fresh("k"), { partition: other }),
      entry(fresh("k"), { partition, table: "mandate" }),
    ]);
    await store().put([entry(`${partition}/a`, { partition, change: 2, body: "{}" })]);
    const listed = await store().list("key", partition);
    expect(listed.map((each) => each.key)).toEqual(
      ["B", "a", "a/10", "a/9", "b"].map((key) => `${partition}/${key}`),
    );
    expect(listed[1]?.body).toBe("{}");
    expect(await store().list("certificate", partition)).toEqual([]);
    await reopen();
    expect(await store().list("key", partition)).toEqual(listed);
  });
}

function changeTests(store: () => RegisterStore, reopen: () => Promise<void>): void {
  /** Everything after `cursor`, and the cursor behind it. */
  const follow = async (
    cursor: string,
    limit: number,
  ): Promise<{ entries: RegisterEntry[]; cursor: string }> => {
    const entries: RegisterEntry[] = [];
    let at = cursor;
    for (let pages = 0; pages < pagesMax; pages += 1) {
      const page = await store().changes(at, limit);
      expect(page.entries.length).toBeLessThanOrEqual(limit);
      if (page.entries.length === 0) return { entries, cursor: page.cursor };
      entries.push(...page.entries);
      at = page.cursor;
    }
    throw new Error(`the changes after cursor "${cursor}" do not end`);
  };

  it("are followed from the end to whatever is written later, page by page, oldest first", async () => {
    const start = (await follow("", 100)).cursor;
    const keys = Array.from({ length: 7 }, () => fresh("k"));
    for (const key of keys) await store().put([entry(key)]);
    for (const limit of [1, 2, 3, 7, 100]) {
      expect((await follow(start, limit)).entries.map((each) => each.key)).toEqual(keys);
    }
    const end = (await follow(start, 3)).cursor;
    expect((await store().changes(end, 3)).entries).toEqual([]);
    await store().put([entry(keys[2] ?? "", { change: 2 })]);
    expect((await follow(end, 3)).entries).toEqual([entry(keys[2] ?? "", { change: 2 })]);
  });

  it("show an entry as it is now, and not what changed nothing", async () => {
    const start = (await follow("", 100)).cursor;
    const [a, b] = [fresh("k"), fresh("k")];
    await store().put([entry(a), entry(b)]);
    const middle = (await follow(start, 100)).cursor;
    await store().put([entry(a, { change: 2, body: "{}" })]);
    await store().put([entry(b)]);
    expect((await follow(middle, 100)).entries).toEqual([entry(a, { change: 2, body: "{}" })]);
    const seen = new Map((await follow(start, 1)).entries.map((each) => [each.key, each]));
    expect(seen.get(a)).toEqual(entry(a, { change: 2, body: "{}" }));
    expect(seen.get(b)).toEqual(entry(b));
  });

  it("hold everything from the empty cursor, and a cursor outlives the process", async () => {
    const [a, b] = [fresh("k"), fresh("k")];
    await store().put([entry(a)]);
    const { entries, cursor } = await follow("", 50);
    expect(entries).toContainEqual(entry(a));
    await reopen();
    expect((await store().changes(cursor, 10)).entries).toEqual([]);
    await store().put([entry(b)]);
    expect((await store().changes(cursor, 10)).entries).toEqual([entry(b)]);
  });

  it("miss nothing that is written side by side", async () => {
    const start = (await follow("", 100)).cursor;
    const keys = Array.from({ length: 40 }, () => fresh("k"));
    const seen = new Set<string>();
    let cursor = start;
    const writes = Promise.all(keys.map((key) => store().put([entry(key)])));
    for (let rounds = 0; rounds < 20; rounds += 1) {
      const page = await store().changes(cursor, 7);
      for (const each of page.entries) seen.add(each.key);
      cursor = page.cursor;
    }
    await writes;
    for (const each of (await follow(cursor, 7)).entries) seen.add(each.key);
    expect(keys.filter((key) => !seen.has(key))).toEqual([]);
  });
}
