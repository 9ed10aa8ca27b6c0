// What every implementation of the port in list-store.ts must pass: obligations OL1–OL4.

import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { listBytesMax } from "../protocol/limits.ts";
import { abandonedAfterMs, type ListStore, type ListVersion } from "./list-store.ts";

export interface OpenListStore {
  readonly store: ListStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenListStore>;
  close(): Promise<void>;
  /** Lets time pass for what is opened from now on and before. */
  pass(ms: number): void;
  /** How many files of the list have anything here, those of writers that died among them. */
  files(list: string): Promise<number>;
}

/** A version that no other test has. */
export function versionOf(list: string, version: number, size: number): ListVersion {
  const [file, set_at] = [randomUUID(), "2026-11-20T03:00:00.000Z"];
  const sha256 = `sha256:${"0".repeat(64)}`;
  return { list, version, file, sha256, size, holds: `${version} hosts`, by: "Ada", reason: "A ≠ B", set_at };
}

export function listStoreConformance(name: string, open: () => Promise<OpenListStore>): void {
  describe(`${name} keeps the contract of a store of operators' lists`, () => {
    let opened: OpenListStore;
    let list: string;
    beforeEach(async () => {
      opened = await open();
      list = randomUUID();
    });
    afterEach(() => opened.close());
    const set = async (version: number, size: number, keep: number | null = null) => {
      const [next, bytes] = [versionOf(list, version, size), new Uint8Array(randomBytes(size))];
      return { next, bytes, isSet: await opened.store.set(next, bytes, keep) };
    };
    const numbers = async () => (await opened.store.versions(list, 100)).map(({ version }) => version);

    it("OL2, OL3: shows another process a version of any size, exactly as it was, with who and why", async () => {
      expect(await opened.store.versions(list, 1)).toEqual([]);
      const sizes = [1, 262_144, 262_145, 3_000_000, listBytesMax];
      const made = [];
      for (const [at, size] of sizes.entries()) made.push(await set(at + 1, size));
      opened = await opened.reopen();
      expect(await opened.store.versions(list, 100)).toEqual(made.map(({ next }) => next).reverse());
      expect(await opened.store.versions(list, 1)).toEqual([made.at(-1)?.next]);
      for (const { next, bytes } of made)
        expect(Buffer.from((await opened.store.read(next)) ?? []).equals(bytes)).toBe(true);
      const unknown = versionOf(list, 1, 1);
      expect(await opened.store.read(unknown)).toBeNull();
    });

    it("OL1: one of several writers of a number succeeds, and nothing of the others stays", async () => {
      const second = await opened.reopen();
      const writers = [opened, second, opened, second].map(async ({ store }) => {
        const next = versionOf(list, 1, 300_000);
        return { next, isSet: await store.set(next, new Uint8Array(300_000), null) };
      });
      const done = await Promise.all(writers);
      const winners = done.filter(({ isSet }) => isSet).map(({ next }) => next);
      expect(winners).toHaveLength(1);
      expect(await opened.store.versions(list, 100)).toEqual(winners);
      for (const { next, isSet } of done)
        expect(await opened.store.read(next), `${isSet}`).toEqual(isSet ? new Uint8Array(300_000) : null);
      expect(await opened.files(list)).toBe(1);
      opened = second;
    });

    it("OL1: a number is not taken again, nor one before the newest", async () => {
      expect((await set(1, 1)).isSet).toBe(true);
      expect((await set(2, 1)).isSet).toBe(true);
      for (const version of [1, 2]) expect((await set(version, 1)).isSet, `${version}`).toBe(false);
      expect(await numbers()).toEqual([2, 1]);
    });

    it("OL4: keeps the newest alone where that is asked, and their bytes no longer than an hour", async () => {
      const made = [];
      for (let version = 1; version <= 4; version += 1) made.push(await set(version, 300_000, 2));
      expect(await numbers()).toEqual([4, 3]);
      opened.pass(abandonedAfterMs + 1);
      await set(5, 1, 2);
      expect(await numbers()).toEqual([5, 4]);
      expect(await opened.files(list)).toBe(2);
      expect(await opened.store.read(made[0]?.next ?? versionOf(list, 1, 1))).toBeNull();
      expect(await opened.store.read(made[3]?.next ?? versionOf(list, 1, 1))).toEqual(made[3]?.bytes);
    });

    it("lists know nothing of each other", async () => {
      await set(1, 10);
      const other = versionOf(randomUUID(), 1, 10);
      expect(await opened.store.set(other, new Uint8Array(10), null)).toBe(true);
      expect(await numbers()).toEqual([1]);
    });
  });
}
