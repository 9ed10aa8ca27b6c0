// Answers a signed link to an image of an ad (specification, «Ad pool item»): the bytes as they were stored.
//   R1. A link that is expired or forged, and one to an image that is not here, get the same 404. Nothing is read from the
//       store for a link that is not valid.

import { problem } from "../protocol/problem.ts";
import type { ImageStore, StoredImage } from "../storage/image-store.ts";
import { type Outcome, refused } from "./answer.ts";
import type { ImageCache } from "./image-cache.ts";
import type { ImageLinkQuery, ImageLinks } from "./image-links.ts";
import { answerDocument } from "./public-document.ts";

export interface ImageReadDeps {
  readonly store: Pick<ImageStore, "read">;
  readonly links: Pick<ImageLinks, "verify">;
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
  return refused(problem("not_found", "There is no such image, or the link to it is not valid any more."));
}
