// Answers a signed link to an image of an ad (specification, «Ad pool item»): the bytes as they were stored.
// Also the links themselves, and the cache of images.
//   R1. A link that is expired or forged, and one to an image that is not here, get the same 404. Nothing is read from the
//       store for a link that is not valid.

import type { CryptoPort } from "../../crypto/port.ts";
import { parseHash, toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { imageLinkValidSeconds } from "../../protocol/limits.ts";
import type { ImageStore, StoredImage } from "../../storage/image-store.ts";
import { type Given, type Outcome, refusedWith } from "../answer.ts";
import { answerDocument } from "../verification/published-reads.ts";

export interface ImageReadDeps {
  readonly store: ImageStore;
  readonly links: ImageLinks;
  readonly cache: ImageCache;
}

export interface ImageRequest extends ImageLinkQuery {
  /** The hash as the link names it. */
  readonly hex: string;
  readonly ifNoneMatch: string | null;
}

export type ReadImage = (request: ImageRequest) => Promise<Outcome>;

/** Throws {@link StoreError}. */
export function createReadImage({ store, links, cache }: ImageReadDeps): ReadImage {
  const imageOf = async (sha256: string): Promise<StoredImage | null> => {
    const kept = cache.get(sha256);
    if (kept !== null) return kept;
    const image = await store.read(sha256);
    if (image !== null) cache.set(sha256, image);
    return image;
  };
  return async ({ hex, ifNoneMatch, ...query }) => {
    const validSeconds = links.verify(hex, query);
    if (validSeconds === null) return notFound();
    const hash = `sha256:${hex}`;
    const image = await imageOf(hash);
    if (image === null) return notFound();
    const { bytes, mediaType } = image;
    const cacheControl = `private, max-age=${validSeconds}`;
    const answer = answerDocument({ bytes, hash, mediaType, cacheControl }, ifNoneMatch);
    return { ...answer, headers: { ...answer.headers, ...shownAlone } };
  };
}

/** An image that somebody opens by itself runs nothing; every answer of the surface forbids guessing its type. */
const shownAlone = { "content-security-policy": "default-src 'none'" };

function notFound(): Outcome {
  return refusedWith("not_found", "There is no such image, or the link to it is not valid any more.");
}

// Links to images of ads that are valid for 15 minutes (specification, «Limits»). A link proves itself: its token is derived
// from a secret that all nodes share, so that any node of any region answers it, and nothing is stored about it.
//   L1. A token is for one image and one instant: its holder can neither extend it nor use it for another image.
//   L2. Tokens are compared so that the time taken tells nothing about the right one.

export interface ImageLinksOptions {
  readonly crypto: CryptoPort;
  /** The same on every node of every region. */
  readonly secret: Uint8Array;
  /** The public address of the retrieval surface, without a slash at its end. */
  readonly baseUrl: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The parameters of a link, as they arrived. */
type ImageLinkQuery = Given<"expires" | "token">;

export interface ImageLinks {
  /** A link to the image with this hash (`sha256:<hex>`), valid from now on. */
  linkOf(sha256: string): string;
  /** For how many more seconds the link is valid, at least 1; null for one that is expired or forged. */
  verify(hex: string, query: ImageLinkQuery): number | null;
}

/** Links to images that expire, with a MAC by `secret`, which every node can verify. */
export function createImageLinks({ crypto, secret, baseUrl, now }: ImageLinksOptions): ImageLinks {
  const { hmacSha256 } = crypto;
  const tokenOf = (hex: string, expires: number): string =>
    toBase64Url(hmacSha256(secret, utf8(`ad image\n${hex}\n${expires}`)));
  const macOf = (text: string): string => toBase64Url(hmacSha256(secret, utf8(`token\n${text}`)));
  return {
    linkOf: (sha256) => {
      const hex = hexOf(sha256);
      const expires = Math.floor(now() / 1_000) + imageLinkValidSeconds;
      return `${baseUrl}/v1/ads/images/${hex}?expires=${expires}&token=${tokenOf(hex, expires)}`;
    },
    verify: (hex, { expires: text, token }) => {
      if (text === null || token === null || !/^[1-9][0-9]{9,11}$/.test(text)) return null;
      const expires = Number(text);
      // See L2.
      if (macOf(token) !== macOf(tokenOf(hex, expires))) return null;
      const leftSeconds = Math.ceil(expires - now() / 1_000);
      return leftSeconds > 0 ? leftSeconds : null;
    },
  };
}

function hexOf(sha256: string): string {
  if (parseHash(sha256) === null) throw new RangeError("A link is to the hash of an image.");
  return sha256.slice("sha256:".length);
}

// Keeps the images in memory that were read last, so that an image that many are shown is not read from the store each time.
//   C1. All images together have at most `bytesMax` bytes: the one whose last use is the longest ago goes first.
//   C2. An image is kept for at most `keptMs`, so that one that was forgotten in the store is soon forgotten here.

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
