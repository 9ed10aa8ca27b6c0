import { beforeEach, describe, expect, it } from "vitest";
import { utf8 } from "../../protocol/bytes.ts";
import { part, rubbish } from "../../protocol/rubbish.fixture.ts";
import { forgetUnneeded, type UnneededImagesDeps, unneededMs } from "./unneeded-images.ts";

const startMs = Date.UTC(2026, 10, 1);
let nowMs: number;
/** When each image was needed last. */
let stored: Map<string, number>;
/** The images of each live ad; null for one that cannot be read. */
let ads: Map<string, readonly string[] | null>;
/** What happens after the images were listed. */
let meanwhile: () => void;

beforeEach(() => {
  nowMs = startMs;
  stored = new Map();
  ads = new Map();
  meanwhile = () => {};
});

const deps: UnneededImagesDeps = {
  clock: { now: () => nowMs },
  book: part({
    live: () => [
      ...[...ads.keys()].map((ad_id) => rubbish({ ad_id, generation: 1, hash: "h" })),
      rubbish({ ad_id: "ad_product", generation: 1, hash: "h", product: "svc_a" }),
    ],
  }),
  records: part({
    readOrigins: async (ids) =>
      ids.flatMap(({ record_id }) => {
        const images = ads.get(record_id)?.map((sha256) => ({ sha256 }));
        return images === undefined ? [] : [rubbish({ record_id, bytes: utf8(JSON.stringify({ images })) })];
      }),
  }),
  images: part({
    renew: async (sha256) => {
      if (stored.has(sha256)) stored.set(sha256, nowMs);
      return stored.has(sha256);
    },
    unneeded: async (sinceMs, limit) => {
      const found = [...stored].flatMap(([sha256, atMs]) => (atMs < sinceMs ? [sha256] : [])).slice(0, limit);
      meanwhile();
      return found;
    },
    forget: async (sha256, sinceMs = Number.POSITIVE_INFINITY) => {
      if ((stored.get(sha256) ?? 0) < sinceMs) stored.delete(sha256);
    },
  }),
};

describe("an image", () => {
  it("is forgotten a month after anybody needed it, and not while a live ad names it (U1, U2)", async () => {
    for (const image of ["named", "unnamed"]) stored.set(image, startMs);
    ads.set("ad_a", ["named"]);
    nowMs = startMs + unneededMs;
    expect(await forgetUnneeded(deps)).toBe(0);
    nowMs += 1;
    expect(await forgetUnneeded(deps)).toBe(1);
    expect([...stored.keys()]).toEqual(["named"]);
    ads.clear();
    nowMs += unneededMs;
    expect(await forgetUnneeded(deps)).toBe(0);
    nowMs += 1;
    expect(await forgetUnneeded(deps)).toBe(1);
    expect(stored.size).toBe(0);
  });

  it("stays if an ad is published with it while a node looks (U1)", async () => {
    stored.set("late", startMs);
    nowMs += 2 * unneededMs;
    meanwhile = () => void stored.set("late", nowMs);
    await forgetUnneeded(deps);
    expect(stored.has("late")).toBe(true);
  });

  it("stays if a live ad cannot be read: it may name anything", async () => {
    stored.set("unknown", startMs);
    ads.set("ad_a", null);
    nowMs += 2 * unneededMs;
    await expect(forgetUnneeded(deps)).rejects.toThrow("no image is forgotten");
    expect(stored.has("unknown")).toBe(true);
  });

  it("is one of many that are forgotten in one look, and none is once the node stops", async () => {
    for (let each = 0; each < 500; each += 1) stored.set(`i${each}`, startMs);
    nowMs += 2 * unneededMs;
    expect(await forgetUnneeded(deps, () => true)).toBe(0);
    expect(await forgetUnneeded(deps)).toBe(500);
    expect(stored.size).toBe(0);
  });
});
