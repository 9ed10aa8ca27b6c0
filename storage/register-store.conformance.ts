// What every implementation of the port in register-store.ts must pass: obligations G1–G6 and the related reads.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  type RegisterEntry,
  type RegisterFeed,
  type RegisterStore,
  registerTables,
} from "./register-store.ts";

export interface OpenRegisterStore {
  readonly store: RegisterStore;
  /** Ends this handle as the loss of the process would, and reopens the same contents. */
  reopen(): Promise<OpenRegisterStore>;
  close(): Promise<void>;
}

/** More pages than any of these tests has to read. */
const pagesMax = 5_000;

let counter = 0;
/** Unique across this run and earlier ones, so that stores which keep their contents can be used. */
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
    describe("a feed", () => feedTests(() => store, reopen));
    describe("a key", () => claimTests(() => store, reopen));
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
    expect(await store().get("key", key)).toEqual(entry(key, { change: 7, body: '{"n":7}' }));
    await store().put([entry(key, { change: 8, body: "{}" })]);
    expect(await store().get("key", key)).toEqual(entry(key, { change: 8, body: "{}" }));
  });

  it.each([
    ["a", "b"],
    ["b", "a"],
  ])(
    "that share key and change, which no two of one writer do, are one of both for every read (G1): %s, %s",
    async (...names) => {
      const key = fresh("k");
      const [first, second] = names.map((name) => entry(key, { change: 3, body: JSON.stringify({ name }) }));
      if (first === undefined || second === undefined) throw new Error("two were named");
      for (const each of [first, second, first]) await store().put([each]);
      const kept = await store().get("key", key);
      expect([first, second]).toContainEqual(kept);
      expect(await store().list("key", first.partition)).toEqual([kept]);
      expect((await drain(store().follow(), 100)).get(`key/${key}`)).toEqual(kept);
    },
  );

  it("never move to another party, whatever change it names (G6)", async () => {
    for (const table of registerTables) {
      const [key, first, second] = [fresh("k"), fresh("p"), fresh("p")];
      const feed = store().follow();
      await store().put([entry(key, { table, partition: first, change: 2 })]);
      await store().put([entry(key, { table, partition: second, change: 9, body: "[9]" })]);
      const kept = entry(key, { table, partition: first, change: 2 });
      expect(await store().get(table, key)).toEqual(kept);
      expect(await store().list(table, first)).toEqual([kept]);
      expect(await store().list(table, second)).toEqual([]);
      expect((await drain(feed, 100)).get(`${table}/${key}`)).toEqual(kept);
      await store().put([entry(key, { table, partition: first, change: 3 })]);
      expect(await store().get(table, key)).toMatchObject({ partition: first, change: 3 });
    }
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

/** Everything that a feed delivers, by `table/key`, each entry as last delivered. */
async function drain(feed: RegisterFeed, limit: number): Promise<ReadonlyMap<string, RegisterEntry>> {
  const given = new Map<string, RegisterEntry>();
  for (let pages = 0; pages < pagesMax; pages += 1) {
    const { entries, more } = await feed.next(limit);
    expect(entries.length).toBeLessThanOrEqual(limit);
    for (const each of entries) {
      const name = `${each.table}/${each.key}`;
      expect(each.change).toBeGreaterThanOrEqual(given.get(name)?.change ?? 0);
      given.set(name, each);
    }
    if (!more) return given;
  }
  throw new Error("the feed has always more to give");
}

function feedTests(store: () => RegisterStore, reopen: () => Promise<void>): void {
  it("gives all there is, and then whatever is put, page by page (G3)", async () => {
    const before = fresh("k");
    await store().put([entry(before)]);
    const limits = [1, 2, 3, 7, 100];
    const feeds = limits.map((limit) => ({ limit, feed: store().follow() }));
    for (const { feed, limit } of feeds) {
      expect((await drain(feed, limit)).get(`key/${before}`)).toEqual(entry(before));
    }
    const keys = Array.from({ length: 7 }, () => fresh("k"));
    for (const key of keys) await store().put([entry(key)]);
    await store().put([entry(before, { change: 2 })]);
    for (const { feed, limit } of feeds) {
      const given = await drain(feed, limit);
      for (const key of keys) expect(given.get(`key/${key}`)).toEqual(entry(key));
      expect(given.get(`key/${before}`)).toEqual(entry(before, { change: 2 }));
    }
  });

  it("shows an entry as it is now, and not what changed nothing (G4)", async () => {
    const feed = store().follow();
    await drain(feed, 100);
    const [a, b] = [fresh("k"), fresh("k")];
    await store().put([entry(a), entry(b, { change: 2 })]);
    await store().put([entry(a, { change: 2, body: "{}" })]);
    await store().put([entry(b, { change: 1, body: "late" })]);
    const given = await drain(feed, 1);
    expect(given.get(`key/${a}`)).toEqual(entry(a, { change: 2, body: "{}" }));
    expect(given.get(`key/${b}`)).toEqual(entry(b, { change: 2 }));
    await store().put([entry(b, { change: 3, body: "[3]" })]);
    expect((await drain(feed, 1)).get(`key/${b}`)).toEqual(entry(b, { change: 3, body: "[3]" }));
  });

  it("tells what the other reads tell too (G3)", async () => {
    const feed = store().follow();
    await drain(feed, 100);
    const key = fresh("k");
    for (const change of [1, 2, 3]) {
      await store().put([entry(key, { change })]);
      const given = (await drain(feed, 100)).get(`key/${key}`);
      expect(given?.change).toBe(change);
      expect(await store().get("key", key)).toEqual(given);
      expect(await store().list("key", `party of ${key}`)).toEqual([given]);
    }
  });

  it("begins anew after a loss of the process, with everything", async () => {
    const [a, b] = [fresh("k"), fresh("k")];
    await store().put([entry(a)]);
    await drain(store().follow(), 50);
    await reopen();
    const feed = store().follow();
    expect((await drain(feed, 50)).get(`key/${a}`)).toEqual(entry(a));
    await store().put([entry(b)]);
    expect((await drain(feed, 50)).get(`key/${b}`)).toEqual(entry(b));
  });

  it("misses nothing that is written side by side (G3)", async () => {
    const feed = store().follow();
    const keys = Array.from({ length: 40 }, () => fresh("k"));
    const seen = new Set<string>();
    const writes = Promise.all(keys.map((key) => store().put([entry(key)])));
    for (let rounds = 0; rounds < 20; rounds += 1) {
      for (const each of (await feed.next(7)).entries) seen.add(`key/${each.key}`);
    }
    await writes;
    for (const name of (await drain(feed, 7)).keys()) seen.add(name);
    expect(keys.filter((key) => !seen.has(`key/${key}`))).toEqual([]);
  });

  it("has more to give while anything put before the call is not given (G3)", async () => {
    const feed = store().follow();
    await drain(feed, 100);
    const keys = Array.from({ length: 3 }, () => fresh("k"));
    const [a = "", b = "", c = ""] = keys;
    await store().put([entry(a), entry(b)]);
    const seen = new Set<string>();
    for (let pages = 0, more = true; more && pages < pagesMax; pages += 1) {
      if (pages === 1) await store().put([entry(c)]);
      const page = await feed.next(1);
      for (const each of page.entries) seen.add(each.key);
      more = page.more;
    }
    expect(keys.filter((key) => !seen.has(key))).toEqual([]);
  });

  it("is each reader's own", async () => {
    const key = fresh("k");
    const [one, other] = [store().follow(), store().follow()];
    await drain(one, 100);
    await store().put([entry(key)]);
    expect((await drain(one, 100)).has(`key/${key}`)).toBe(true);
    expect((await drain(other, 100)).has(`key/${key}`)).toBe(true);
  });
}

function claimTests(store: () => RegisterStore, reopen: () => Promise<void>): void {
  it("belongs to the first party that claims it, for ever (G5)", async () => {
    const [key, first, second] = [fresh("k"), fresh("p"), fresh("p")];
    expect(await store().claimKey(key, first)).toBe(first);
    for (const party of [second, first, second]) expect(await store().claimKey(key, party)).toBe(first);
    await reopen();
    expect(await store().claimKey(key, second)).toBe(first);
    const other = fresh("k");
    expect(await store().claimKey(other, second)).toBe(second);
  });

  it("belongs to one of the parties that claim it at once, and all of them are told the same (G5)", async () => {
    for (let round = 0; round < 5; round += 1) {
      const key = fresh("k");
      const parties = Array.from({ length: 8 }, () => fresh("p"));
      const answers = await Promise.all(parties.map((party) => store().claimKey(key, party)));
      expect(new Set(answers).size).toBe(1);
      expect(parties).toContain(answers[0]);
      await reopen();
      expect(await store().claimKey(key, fresh("p"))).toBe(answers[0]);
    }
  });

  it("that was registered without a claim belongs to its party (G5)", async () => {
    const [key, party] = [fresh("k"), fresh("p")];
    await store().put([entry(key, { partition: party })]);
    await store().put([entry(key, { table: "certificate", partition: fresh("p") })]);
    expect(await store().claimKey(key, fresh("p"))).toBe(party);
    expect(await store().claimKey(key, party)).toBe(party);
  });
}
