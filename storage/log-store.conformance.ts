// What every implementation of the port in log-store.ts must pass: obligations L1–L4.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { utf8 } from "../protocol/bytes.ts";
import { formatBundle } from "../protocol/log/leaves.ts";
import { entriesPath, tilePath } from "../protocol/log/tiles.ts";
import { LogConflict, type LogStore, type StoredCheckpoint } from "./log-store.ts";

export interface OpenLogStore {
  readonly store: LogStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenLogStore>;
  close(): Promise<void>;
}

const leafOf = (digit: string): string => `sha256:${digit.repeat(64)}`;
const object = (path: string, text: string) => ({ path, bytes: utf8(text) });

function checkpoint(size: number, change: Partial<StoredCheckpoint> = {}): StoredCheckpoint {
  return { size, root: leafOf("a"), note: `note of ${size}`, ...change };
}

export function logStoreConformance(name: string, open: () => Promise<OpenLogStore>): void {
  describe(`log store: ${name}`, () => {
    let opened: OpenLogStore;
    let store: LogStore;
    beforeEach(async () => {
      opened = await open();
      ({ store } = opened);
    });
    afterEach(async () => await opened.close());

    const reopened = async <T>(read: (store: LogStore) => Promise<T>): Promise<T> => {
      const other = await opened.reopen();
      try {
        return await read(other.store);
      } finally {
        await other.close();
      }
    };

    it("is empty at first", async () => {
      expect(await store.readCheckpoint()).toBeNull();
      expect(await store.read(["tile/0/000", "tile/entries/000.p/1"])).toEqual([null, null]);
      expect(await store.findLeaves([leafOf("1")])).toEqual([null]);
      expect(await store.read([])).toEqual([]);
      expect(await store.findLeaves([])).toEqual([]);
    });

    it("L1: shows every process what was written, byte for byte and in the order asked for", async () => {
      const every = Uint8Array.from({ length: 256 }, (_, at) => at);
      const objects = [
        { path: "tile/0/000", bytes: every },
        object("tile/0/001.p/7", "partial"),
        object("tile/entries/001.p/7", "entries"),
        object("tile/1/x001/000.p/1", "deep"),
      ];
      await store.write(objects, [
        { leaf: leafOf("1"), index: 0 },
        { leaf: leafOf("2"), index: 2 ** 40 },
      ]);
      await reopened(async (other) => {
        const read = await other.read([
          "tile/1/x001/000.p/1",
          "tile/2/000",
          ...objects.map(({ path }) => path),
        ]);
        expect(read.map((bytes) => bytes && [...bytes])).toEqual([
          [...utf8("deep")],
          null,
          ...objects.map(({ bytes }) => [...bytes]),
        ]);
        expect(await other.findLeaves([leafOf("2"), leafOf("3"), leafOf("1")])).toEqual([2 ** 40, null, 0]);
      });
    });

    it("L2: takes the same again, and refuses other bytes under the same name", async () => {
      await store.write([object("tile/0/000.p/1", "one")], [{ leaf: leafOf("1"), index: 0 }]);
      await store.write([object("tile/0/000.p/1", "one")], [{ leaf: leafOf("1"), index: 0 }]);
      await expect(store.write([object("tile/0/000.p/1", "two")], [])).rejects.toThrow(LogConflict);
      await expect(store.write([], [{ leaf: leafOf("1"), index: 1 }])).rejects.toThrow(LogConflict);
      const [bytes] = await store.read(["tile/0/000.p/1"]);
      expect([...(bytes ?? [])]).toEqual([...utf8("one")]);
      expect(await store.findLeaves([leafOf("1")])).toEqual([0]);
    });

    it("L2: reads partial tiles and bundles from the full ones, which replace them", async () => {
      const hashes = Uint8Array.from({ length: 256 * 32 }, (_, at) => at >> 5);
      const entries = Array.from({ length: 256 }, (_, at) => utf8(`entry ${at}`));
      const first = (width: number) => [
        { path: tilePath({ level: 0, index: 0, width }), bytes: hashes.slice(0, width * 32) },
        { path: entriesPath({ index: 0, width }), bytes: formatBundle(entries.slice(0, width)) },
      ];
      for (const width of [3, 200, 256]) await store.write(first(width), []);
      // What is written again, late, is what is there.
      await store.write(first(200), []);
      await reopened(async (other) => {
        for (const width of [1, 3, 200, 255, 256])
          for (const { path, bytes } of first(width))
            expect((await other.read([path])).map((read) => read && [...read])).toEqual([[...bytes]]);
      });
      const other = [{ path: "tile/0/000.p/3", bytes: new Uint8Array(96) }];
      await expect(store.write(other, [])).rejects.toThrow(LogConflict);
    });

    it("L2: replaces what reaches beyond the tree of which the writer names the size, and nothing else", async () => {
      const lost = [
        object("tile/0/000.p/1", "a"),
        object("tile/0/000.p/3", "abc"),
        object("tile/entries/000.p/3", "abc"),
      ];
      await store.write(lost, [
        { leaf: leafOf("1"), index: 0 },
        { leaf: leafOf("2"), index: 2 },
      ]);
      const instead = [object("tile/0/000.p/3", "axy"), object("tile/entries/000.p/3", "axy")];
      for (const over of [3, undefined])
        await expect(store.write(instead, [], { over })).rejects.toThrow(LogConflict);
      await store.write(instead, [{ leaf: leafOf("2"), index: 1 }], { over: 1 });
      await expect(store.write([object("tile/0/000.p/1", "z")], [], { over: 1 })).rejects.toThrow(
        LogConflict,
      );
      const elsewhere = [{ leaf: leafOf("1"), index: 1 }];
      await expect(store.write([], elsewhere, { over: 1 })).rejects.toThrow(LogConflict);
      await reopened(async (other) => {
        const read = await other.read([...lost.slice(0, 1), ...instead].map(({ path }) => path));
        expect(read.map((bytes) => bytes && [...bytes])).toEqual(
          ["a", "axy", "axy"].map((text) => [...utf8(text)]),
        );
        expect(await other.findLeaves([leafOf("1"), leafOf("2")])).toEqual([0, 1]);
      });
    });

    it("L4: finds the newest checkpoint", async () => {
      expect(await store.readNewestCheckpoint()).toBeNull();
      await store.publish(checkpoint(3));
      expect(await reopened((other) => other.readNewestCheckpoint())).toEqual(checkpoint(3));
    });

    it("L3: only advances its checkpoint", async () => {
      await store.publish(checkpoint(3));
      await store.publish(checkpoint(3));
      await store.publish(checkpoint(3, { note: "cosigned by more" }));
      expect((await store.readCheckpoint())?.note).toBe("cosigned by more");
      await store.publish(checkpoint(5, { root: leafOf("b") }));
      for (const refused of [checkpoint(4), checkpoint(5, { root: leafOf("c") }), checkpoint(0)])
        await expect(store.publish(refused)).rejects.toThrow(LogConflict);
      const now = checkpoint(5, { root: leafOf("b") });
      expect(await store.readCheckpoint()).toEqual(now);
      expect(await reopened((other) => other.readCheckpoint())).toEqual(now);
    });

    it("L3: lets one of many that publish at once be the last, and it is the largest", async () => {
      const sizes = Array.from({ length: 8 }, (_, at) => at + 1);
      const ended = await Promise.allSettled(sizes.map((size) => store.publish(checkpoint(size))));
      expect(ended.some(({ status }) => status === "fulfilled")).toBe(true);
      for (const size of sizes) await store.publish(checkpoint(size)).catch(() => {});
      expect((await store.readCheckpoint())?.size).toBe(8);
    });

    it("takes no path that is not a tile's", async () => {
      for (const path of ["../x", "tile/0/../../x", "/tile/0/000", "checkpoint", "tile/0/0"]) {
        await expect(Promise.resolve().then(() => store.read([path]))).rejects.toThrow();
        await expect(Promise.resolve().then(() => store.write([object(path, "x")], []))).rejects.toThrow();
      }
    });
  });
}
