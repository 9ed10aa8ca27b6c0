// Forgets the images that no live ad has named for a month.
//   U1. An image is needed as long as a live ad names it, whatever has become of the campaign, and when it is sent or an ad is published
//       with it. What a node finds needed it renews, so that no other forgets it.
//   U2. Nothing is forgotten that was needed within `unneededMs`: an image may be sent long before its ad, and an ad that was taken back
//       may come back.
//   U3. A look begins an interval after the node started, so that it knows all live ads.

import type { Clock } from "../../crypto/port.ts";
import { parseUtf8 } from "../../protocol/bytes.ts";
import { repeat } from "../../std/back-off.ts";
import type { ImageStore } from "../../storage/image-store.ts";
import type { RecordStore } from "../../storage/record-store.ts";
import type { AdBook } from "../register/ad-book.ts";

export interface UnneededImagesDeps {
  readonly images: ImageStore;
  readonly book: AdBook;
  readonly records: RecordStore;
  readonly clock: Clock;
}

export interface ForgettingDeps extends UnneededImagesDeps {
  readonly timers: { schedule(delayMs: number, run: () => void): () => void };
  /** The time from the end of a look, or the start of the node, to the next look. */
  readonly everyMs: number;
  /** Called when images were forgotten. */
  readonly forgotten: (images: number) => void;
  readonly failed: (error: unknown) => void;
}

/** See U2. */
export const unneededMs = 30 * 86_400_000;
/** Ads that are read at once, and images that are listed at once. */
const pageMax = 200;

/** Starts looking; the returned function stops it. */
export function forgetFromTimeToTime(deps: ForgettingDeps): () => Promise<void> {
  const run = async (isStopped: () => boolean): Promise<void> => {
    try {
      const images = await forgetUnneeded(deps, isStopped);
      if (images > 0 && !isStopped()) deps.forgotten(images);
    } catch (error) {
      if (!isStopped()) deps.failed(error);
    }
  };
  return repeat({ ...deps, run });
}

/** Returns the number of images that were forgotten. */
export async function forgetUnneeded(
  deps: UnneededImagesDeps,
  isStopped: () => boolean = () => false,
): Promise<number> {
  const { images, clock } = deps;
  const sinceMs = clock.now() - unneededMs;
  const needed = await renewNamed(deps, isStopped);
  let forgotten = 0;
  for (;;) {
    const found = await images.unneeded(sinceMs, pageMax);
    for (const sha256 of found) {
      if (isStopped()) return forgotten;
      // Its renewal failed to show, or the store lost it: either way, it is not for this node to remove.
      if (needed.has(sha256)) continue;
      await images.forget(sha256, sinceMs);
      forgotten += 1;
    }
    if (found.length < pageMax || found.every((each) => needed.has(each))) return forgotten;
  }
}

/** The images that live ads name, each of them renewed. */
async function renewNamed(
  { images, book, records }: UnneededImagesDeps,
  isStopped: () => boolean,
): Promise<ReadonlySet<string>> {
  const ads = book.live().filter(({ product }) => product === undefined);
  const needed = new Set<string>();
  for (let from = 0; from < ads.length && !isStopped(); from += pageMax) {
    const page = ads.slice(from, from + pageMax);
    const ids = page.map(({ ad_id, generation, hash }) => ({ record_id: ad_id, generation, hash }));
    const origins = await records.readOrigins(ids);
    if (origins.length < page.length)
      throw new Error("Not every live ad can be read: no image is forgotten.");
    for (const { bytes } of origins)
      for (const sha256 of imagesIn(bytes)) {
        if (!needed.has(sha256)) await images.renew(sha256);
        needed.add(sha256);
      }
  }
  return needed;
}

/** An ad was judged before it was stored. */
function imagesIn(record: Uint8Array): readonly string[] {
  const { images } = JSON.parse(parseUtf8(record) ?? "") as {
    readonly images: readonly { sha256: string }[];
  };
  return images.map(({ sha256 }) => sha256);
}
