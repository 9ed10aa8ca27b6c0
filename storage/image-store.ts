// Port: the images of ads, each under the hash of its bytes.
// Every implementation passes storage/image-store.conformance.ts.
//
// Obligations of an implementation:
//   I1. Once `put` has returned, every process reads the image, exactly as it was, also after the loss of any process.
//   I2. An image that is put again takes up no more room, and stays what it was; after an unknown outcome it is put again.
//   I3. All images together have at most the bytes that the store was opened with: one beyond that is refused with `full`,
//       and nothing of it stays. A store that several processes write may exceed this by what the others wrote within the
//       last minute.
//   I4. `forget` leaves nothing of an image and makes room; it may be repeated, and the image may then be put again.
//   I5. An image is read whole or not at all: one that is still on its way here, or half written, is not shown in part.
//   I6. An image is needed at the instant at which it was put or renewed last, by the clock of the process that did. It is found as
//       unneeded since then, up to a week early, and `forget` with that instant leaves what was put or renewed meanwhile.

import { parseHash } from "../protocol/bytes.ts";
import type { ImageMediaType } from "../protocol/image-type.ts";
import { imageBytesMax } from "../protocol/limits.ts";

export interface StoredImage {
  readonly mediaType: ImageMediaType;
  readonly bytes: Uint8Array;
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

export interface ImageToStore extends StoredImage {
  /** `sha256:<hex>` over the bytes. */
  readonly sha256: string;
}

export interface ImageStore {
  /** Throws {@link StoreError}. */
  put(image: ImageToStore): Promise<"stored" | "full">;
  /** Null for an image that is not here. Throws {@link StoreError}. */
  read(sha256: string): Promise<StoredImage | null>;
  /** The image is needed now. False for one that is not here. Throws {@link StoreError}. */
  renew(sha256: string): Promise<boolean>;
  /** Hashes of images that nobody needed at that instant or later (I6), at most `limit`, in no particular order. Throws {@link StoreError}. */
  unneeded(sinceMs: number, limit: number): Promise<readonly string[]>;
  /** Unless it was needed at that instant or later; whatever was needed, if none is given. Throws {@link StoreError}. */
  forget(sha256: string, unneededSinceMs?: number): Promise<void>;
}

/** How long an image may be needed before that is written again. */
export const writtenAgainAfterMs = 7 * 86_400_000;

export interface ImageStoreOptions {
  /** The most bytes of all images together. */
  readonly bytesMax: number;
  /** Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
}

/** Throws RangeError for an image that its caller should have refused. */
export function assertImage({ sha256, bytes }: Pick<ImageToStore, "sha256" | "bytes">): void {
  if (parseHash(sha256) === null) throw new RangeError("An image is stored under the hash of its bytes.");
  if (bytes.length === 0 || bytes.length > imageBytesMax)
    throw new RangeError(`An image has 1 to ${imageBytesMax} bytes, not ${bytes.length}.`);
}

export { StoreError } from "./actor-store.ts";
