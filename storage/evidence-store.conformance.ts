// What every implementation of the port in evidence-store.ts must pass: obligations EV1–EV4.

import { randomBytes, randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { evidenceBytesMax } from "../protocol/limits.ts";
import { countedBytesMin, type EvidenceStore, type EvidenceToStore } from "./evidence-store.ts";

export interface OpenEvidenceStore {
  readonly store: EvidenceStore;
  /** Opens another handle on the same data, that of another process. */
  reopen(): Promise<OpenEvidenceStore>;
  close(): Promise<void>;
}

const mebibyte = 2 ** 20;
export const conformanceBounds = {
  allMax: 30 * mebibyte,
  ofPersonMax: 12 * mebibyte,
  ofNetworkMax: 20 * mebibyte,
};

/** A file that no other test has. */
export function evidenceOf(length: number, more: Partial<EvidenceToStore> = {}): EvidenceToStore {
  const bytes = new Uint8Array(randomBytes(length));
  const [application, file, person] = [randomUUID(), randomUUID(), randomUUID()];
  return { application, file, person, network: "192.0.2.0/24", bytes, ...more };
}

export function evidenceStoreConformance(
  name: string,
  /** Opens a store that has no file yet, with {@link conformanceBounds}. */
  open: () => Promise<OpenEvidenceStore>,
): void {
  describe(`${name} keeps the contract of an evidence store`, () => {
    let opened: OpenEvidenceStore;
    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());
    const read = async (of: EvidenceToStore) => {
      const found = await opened.store.read(of);
      return found && Buffer.from(found).equals(of.bytes);
    };
    const put = (file: EvidenceToStore) => opened.store.put(file);

    it("EV1: shows another process a file of any size, exactly as it was", async () => {
      const files = [1, 262_144, 262_145, 3_000_000, evidenceBytesMax].map((length, at) =>
        evidenceOf(length, { network: `192.0.${at}.0/24` }),
      );
      for (const each of files) expect(await put(each)).toBe("stored");
      opened = await opened.reopen();
      for (const each of files) expect(await read(each)).toBe(true);
      expect(await read(evidenceOf(1))).toBeNull();
    });

    it("EV2: bounds what one person, one network and all have, and keeps nothing of what is beyond", async () => {
      const large = 6 * mebibyte;
      const first = evidenceOf(large);
      const { person } = first;
      expect(await put(first)).toBe("stored");
      expect(await put(evidenceOf(large, { person, network: null }))).toBe("stored");
      const beyond = evidenceOf(1, { person, network: "192.0.3.0/24" });
      expect([await put(beyond), await read(beyond)]).toEqual(["full", null]);
      // The person is full, and the network has 14 MiB left.
      expect(await put(evidenceOf(large))).toBe("stored");
      expect(await put(evidenceOf(large))).toBe("stored");
      expect(await put(evidenceOf(large))).toBe("full");
      opened = await opened.reopen();
      expect(await put(evidenceOf(large))).toBe("full");
      expect(await put(evidenceOf(large, { network: "192.0.4.0/24" }))).toBe("stored");
      // Everything together is full now.
      expect(await put(evidenceOf(1, { network: "192.0.5.0/24" }))).toBe("full");
    });

    it("EV2: counts a small file as a larger one", async () => {
      const person = randomUUID();
      const most = conformanceBounds.ofPersonMax / countedBytesMin;
      for (let count = 0; count < most; count += 1)
        expect(await put(evidenceOf(1, { person }))).toBe("stored");
      expect(await put(evidenceOf(1, { person }))).toBe("full");
    });

    it("EV3: leaves nothing of what is forgotten, and has its room again", async () => {
      const [a, b] = [evidenceOf(6 * mebibyte), evidenceOf(6 * mebibyte)];
      const { application, person } = a;
      const second = { ...b, application, person };
      const other = evidenceOf(mebibyte, { network: null });
      for (const each of [a, second, other]) await put(each);
      for (let times = 0; times < 2; times += 1) await opened.store.forget(a);
      expect([await read(a), await read(second), await read(other)]).toEqual([null, true, true]);
      expect(await put(evidenceOf(6 * mebibyte, { application, person }))).toBe("stored");
      expect(await put(evidenceOf(1, { person }))).toBe("full");
      for (let times = 0; times < 2; times += 1) await opened.store.forget({ application, file: null });
      expect([await read(second), await read(other)]).toEqual([null, true]);
      expect(await put(evidenceOf(6 * mebibyte, { person }))).toBe("stored");
    });

    it("takes nothing that should have been refused before", async () => {
      for (const length of [0, evidenceBytesMax + 65])
        await expect(put(evidenceOf(length))).rejects.toThrow(RangeError);
    });
  });
}
