// Keeps the images in memory that were read last, so that an image that many are shown is not read from the store each time.
//   C1. All images together have at most `bytesMax` bytes: the one whose last use is the longest ago goes first.
//   C2. An image is kept for at most `keptMs`, so that one that was forgotten in the store is soon forgotten here.

import { imageLinkValidSeconds } from "../protocol/limits.ts";
import type { StoredImage } from "../storage/image-store.ts";

export interface ImageCacheOptions {
  /** Monotonic milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly bytesMax?: number;
}

interface Kept {
  readonly image: StoredImage;
  readonly untilMs: number;
}

const bytesMaxDefault = 67_108_864;
const keptMs = imageLinkValidSeconds * 1_000;

export class ImageCache {
  readonly #elapsedMs: () => number;
  readonly #bytesMax: number;
  /** In order of use: the last one was used last. */
  readonly #kept = new Map<string, Kept>();
  #bytes = 0;

  constructor({ elapsedMs, bytesMax = bytesMaxDefault }: ImageCacheOptions) {
    this.#elapsedMs = elapsedMs;
    this.#bytesMax = bytesMax;
  }

  get(sha256: string): StoredImage | null {
    const kept = this.#kept.get(sha256);
    if (kept === undefined) return null;
    this.#drop(sha256);
    if (kept.untilMs <= this.#elapsedMs()) return null;
    this.#keep(sha256, kept);
    return kept.image;
  }

  set(sha256: string, image: StoredImage): void {
    this.#drop(sha256);
    this.#keep(sha256, { image, untilMs: this.#elapsedMs() + keptMs });
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#bytesMax) return;
      this.#drop(oldest);
    }
  }

  #keep(sha256: string, kept: Kept): void {
    this.#kept.set(sha256, kept);
    this.#bytes += kept.image.bytes.length;
  }

  #drop(sha256: string): void {
    this.#bytes -= this.#kept.get(sha256)?.image.bytes.length ?? 0;
    this.#kept.delete(sha256);
  }
}
