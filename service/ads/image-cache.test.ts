import { expect, it } from "vitest";
import type { StoredImage } from "../../storage/image-store.ts";
import { ImageCache } from "./image-read.ts";

const image = (bytes: number): StoredImage => ({
  mediaType: "image/png",
  bytes: new Uint8Array(bytes),
  width: 1,
  height: 1,
});

it("C1: keeps so many bytes, and drops what was not used for the longest time", () => {
  const cache = new ImageCache({ elapsedMs: () => 0, bytesMax: 100 });
  for (const name of ["a", "b"]) cache.set(name, image(40));
  expect(cache.get("a")?.bytes.length).toBe(40);
  cache.set("c", image(40));
  expect([cache.get("a") !== null, cache.get("b") !== null, cache.get("c") !== null]).toEqual([
    true,
    false,
    true,
  ]);
  cache.set("a", image(10));
  cache.set("d", image(50));
  expect(["a", "c", "d"].map((name) => cache.get(name)?.bytes.length)).toEqual([10, 40, 50]);
  cache.set("e", image(101));
  expect(["a", "c", "d", "e"].map((name) => cache.get(name))).toEqual([null, null, null, null]);
});

it("C2: keeps an image for 15 minutes, however often it is used", () => {
  let nowMs = 1_000;
  const cache = new ImageCache({ elapsedMs: () => nowMs, bytesMax: 100 });
  cache.set("a", image(60));
  nowMs += 899_999;
  expect(cache.get("a")).not.toBeNull();
  nowMs += 1;
  expect(cache.get("a")).toBeNull();
  cache.set("b", image(100));
  expect(cache.get("b")).not.toBeNull();
});
