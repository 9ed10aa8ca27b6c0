// What every implementation of the port in staging-area.ts must pass: obligations S1–S4.

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { concatBytes, utf8 } from "../protocol/bytes.ts";
import { leafHash } from "../protocol/merkle.ts";
import { fresh } from "./record-store.fixture.ts";
import type { FileLeaf, StagingArea } from "./staging-area.ts";

export interface OpenStagingArea {
  readonly area: StagingArea;
  /** Opens another handle, that of another process. */
  handle(): Promise<StagingArea>;
  close(): Promise<void>;
}

export const leaf = (text: string): FileLeaf => ({ bytes: utf8(text), hash: leafHash(utf8(text)) });

export function stagingAreaConformance(name: string, open: () => Promise<OpenStagingArea>): void {
  describe(`${name} keeps the contract of a staging area`, () => {
    let opened: OpenStagingArea;
    let area: StagingArea;
    beforeAll(async () => {
      opened = await open();
      area = opened.area;
    });
    afterAll(() => opened.close());

    const fileName = (): string => fresh("00000000-0000-4000-8000-00000000000f.bup").replaceAll("_", "-");
    const leaves = Array.from({ length: 700 }, (_, index) => leaf(`${index} `.repeat(1 + (index % 90))));
    const written = async (of: readonly FileLeaf[] = leaves, step = 100): Promise<string> => {
      const file = fileName();
      const writer = await area.create(file);
      for (let from = 0; from < of.length; from += step) await writer.append(of.slice(from, from + step));
      await writer.finish();
      return file;
    };
    const texts = (found: readonly Uint8Array[] | null): readonly string[] | undefined =>
      found?.map((each) => new TextDecoder().decode(each));
    const textsOf = (of: readonly FileLeaf[]): readonly string[] => texts(of.map(({ bytes }) => bytes)) ?? [];

    it("S1: shows another process the records and their hashes, in pieces of any size", async () => {
      const file = await written();
      const other = await opened.handle();
      for (const [first, count] of [
        [0, 200],
        [37, 1],
        [199, 402],
        [690, 200],
        [700, 10],
      ] as const) {
        const found = await other.readLeaves(file, first, count);
        expect(texts(found)).toEqual(textsOf(leaves.slice(first, first + count)));
      }
      expect(await other.readHashes(file)).toEqual(concatBytes(...leaves.map(({ hash }) => hash)));
    });

    it("S1: shows the same whatever pieces it was written in", async () => {
      const file = await written(leaves, 333);
      expect(texts(await area.readLeaves(file, 0, 700))).toEqual(textsOf(leaves));
    });

    it("S1: keeps records of any size and any bytes", async () => {
      const all = Uint8Array.from({ length: 256 }, (_, index) => index);
      const big = new Uint8Array(153_600).fill(7);
      const of = [all, big, new Uint8Array([0]), big].map((bytes) => ({ bytes, hash: leafHash(bytes) }));
      const file = await written(of, 2);
      expect(await area.readLeaves(file, 0, 9)).toEqual(of.map(({ bytes }) => bytes));
    });

    it("S1: shows nothing of a file before it is finished", async () => {
      const file = fileName();
      const writer = await area.create(file);
      await writer.append(leaves.slice(0, 300));
      expect(await area.readLeaves(file, 0, 10)).toBeNull();
      expect(await area.readHashes(file)).toBeNull();
      await writer.finish();
      expect(await area.readLeaves(file, 0, 10)).toHaveLength(10);
    });

    it("S1: knows nothing of a name that was never written", async () => {
      expect(await area.readLeaves(fileName(), 0, 10)).toBeNull();
      expect(await area.readHashes(fileName())).toBeNull();
    });

    it("S2: refuses a name that exists, finished or not, and the file stays what it is", async () => {
      const file = await written(leaves.slice(0, 3));
      await expect(area.create(file)).rejects.toMatchObject({ reason: "staging_unavailable" });
      const begun = fileName();
      const writer = await area.create(begun);
      await expect(area.create(begun)).rejects.toMatchObject({ reason: "staging_unavailable" });
      await writer.discard();
      expect(texts(await area.readLeaves(file, 0, 9))).toEqual(textsOf(leaves.slice(0, 3)));
    });

    it("S3: leaves nothing of a file that was removed, and removes it again without fault", async () => {
      const file = await written();
      await area.remove(file);
      await area.remove(file);
      expect(await area.readLeaves(file, 0, 10)).toBeNull();
      expect(await area.readHashes(file)).toBeNull();
    });

    it("S3: refuses to finish a file that was removed while it was written", async () => {
      const file = fileName();
      const writer = await area.create(file);
      await writer.append(leaves.slice(0, 10));
      await area.remove(file);
      await expect(writer.finish()).rejects.toMatchObject({ reason: "staging_unavailable" });
      await writer.discard();
      expect(await area.readLeaves(file, 0, 10)).toBeNull();
    });

    it("S4: leaves nothing of a file that was given up", async () => {
      const file = fileName();
      const writer = await area.create(file);
      await writer.append(leaves);
      await writer.discard();
      expect(await area.readLeaves(file, 0, 10)).toBeNull();
      const next = await area.create(file);
      await next.discard();
    });

    it("refuses a name that leads elsewhere", async () => {
      for (const wrong of ["", "../a", "a/b", ".a", `a${"b".repeat(300)}`]) {
        await expect(area.create(wrong)).rejects.toThrow(RangeError);
        await expect(area.readLeaves(wrong, 0, 1)).rejects.toThrow(RangeError);
      }
    });
  });
}
