// What every implementation of the port in image-store.ts must pass: obligations I1–I6.

import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { hashOf } from "../protocol/bytes.ts";
import { imageBytesMax } from "../protocol/limits.ts";
import type { ImageStore, ImageToStore } from "./image-store.ts";

export interface OpenImageStore {
  readonly store: ImageStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenImageStore>;
  /** Time passes, in milliseconds. */
  pass(ms: number): void;
  close(): Promise<void>;
}

let images = 0;

/** Images that no other test has. */
export function imageOf(length: number): ImageToStore {
  images += 1;
  const bytes = new Uint8Array(length);
  const seed = new TextEncoder().encode(`${images} ${Math.random()}`);
  for (let at = 0; at < length; at += 1) bytes[at] = (seed[at % seed.length] ?? 0) ^ (at % 251);
  return { sha256: hashOf(bytes), mediaType: "image/webp", bytes, width: 640, height: 360 };
}

export function imageStoreConformance(
  name: string,
  /** Opens a store that has no image yet. */
  open: (bytesMax: number) => Promise<OpenImageStore>,
): void {
  describe(`${name} keeps the contract of an image store`, () => {
    const bytesMax = 5_000_000;
    let opened: OpenImageStore;
    beforeEach(async () => {
      opened = await open(bytesMax);
    });
    afterEach(() => opened.close());

    const read = async (of: ImageToStore) => {
      const found = await opened.store.read(of.sha256);
      return found && { ...found, bytes: new Uint8Array(found.bytes), sha256: of.sha256 };
    };

    it("I1: shows another process an image of any size, exactly as it was", async () => {
      const of = [1, 1_000, 262_144, 262_145, 1_000_000, imageBytesMax].map(imageOf);
      for (const image of of) expect(await opened.store.put(image)).toBe("stored");
      opened = await opened.reopen();
      for (const image of of) expect(await read(image)).toEqual(image);
    });

    it("I1: knows nothing of an image that was never put", async () => {
      expect(await read(imageOf(10))).toBeNull();
    });

    it("I2: counts an image once, however often it is put, and keeps what it was", async () => {
      const image = imageOf(2_000_000);
      for (let times = 0; times < 4; times += 1) expect(await opened.store.put(image)).toBe("stored");
      expect(await opened.store.put({ ...image, width: 1 })).toBe("stored");
      expect(await read(image)).toEqual(image);
      expect(await opened.store.put(imageOf(2_000_000))).toBe("stored");
    });

    it("I3: refuses an image beyond its room, and keeps nothing of it", async () => {
      const [first, second, third] = [imageOf(2_000_000), imageOf(2_000_000), imageOf(1_000_001)];
      expect(await opened.store.put(first)).toBe("stored");
      expect(await opened.store.put(second)).toBe("stored");
      expect(await opened.store.put(third)).toBe("full");
      expect(await read(third)).toBeNull();
      opened = await opened.reopen();
      expect(await opened.store.put(third)).toBe("full");
      expect(await opened.store.put(imageOf(1_000_000))).toBe("stored");
      expect(await opened.store.put(imageOf(1))).toBe("full");
      // What is there already takes up no more.
      expect(await opened.store.put(first)).toBe("stored");
    });

    it("I4: leaves nothing of an image that is forgotten, and has its room again", async () => {
      const [first, second, third] = [imageOf(2_000_000), imageOf(2_000_000), imageOf(2_000_000)];
      await opened.store.put(first);
      await opened.store.put(second);
      expect(await opened.store.put(third)).toBe("full");
      for (let times = 0; times < 3; times += 1) await opened.store.forget(first.sha256);
      expect(await read(first)).toBeNull();
      expect(await read(second)).toEqual(second);
      expect(await opened.store.put(third)).toBe("stored");
      expect(await opened.store.put(first)).toBe("full");
      await opened.store.forget(third.sha256);
      expect(await opened.store.put(first)).toBe("stored");
      expect(await read(first)).toEqual(first);
    });

    it("I5: shows each of many images whole while they are put at once", async () => {
      const of = Array.from({ length: 6 }, () => imageOf(600_000));
      const puts = of.map((image) => opened.store.put(image));
      for (const image of of) {
        const found = await read(image);
        if (found !== null) expect(found).toEqual(image);
      }
      expect(await Promise.all(puts)).toEqual(of.map(() => "stored"));
      for (const image of of) expect(await read(image)).toEqual(image);
    });

    it("I6: finds what nobody needs, and forgets it unless it was needed meanwhile", async () => {
      const dayMs = 86_400_000;
      const startMs = Date.now();
      const [unneeded, renewed, again] = [imageOf(300_000), imageOf(300_000), imageOf(300_000)];
      for (const image of [unneeded, renewed, again]) await opened.store.put(image);
      const since = startMs + dayMs;
      const found = async () => [...(await opened.store.unneeded(since, 10))].sort();
      expect(await found()).toEqual([unneeded, renewed, again].map(({ sha256 }) => sha256).sort());
      expect(await opened.store.unneeded(since, 2)).toHaveLength(2);
      expect(await opened.store.unneeded(startMs - dayMs, 10)).toEqual([]);
      opened.pass(8 * dayMs);
      expect(await opened.store.renew(renewed.sha256)).toBe(true);
      expect(await opened.store.renew(imageOf(10).sha256)).toBe(false);
      expect(await opened.store.put(again)).toBe("stored");
      opened = await opened.reopen();
      expect(await found()).toEqual([unneeded.sha256]);
      for (const { sha256 } of [unneeded, renewed, again]) await opened.store.forget(sha256, since);
      expect(await read(unneeded)).toBeNull();
      for (const image of [renewed, again]) expect(await read(image)).toEqual(image);
      expect(await opened.store.put(unneeded)).toBe("stored");
      expect(await read(unneeded)).toEqual(unneeded);
    });

    it("takes nothing that should have been refused before", async () => {
      const image = imageOf(10);
      for (const wrong of [
        { ...image, sha256: "sha256:00" },
        { ...image, bytes: new Uint8Array() },
        { ...image, bytes: new Uint8Array(imageBytesMax + 1) },
      ])
        await expect(opened.store.put(wrong)).rejects.toThrow(RangeError);
    });
  });
}
