// Links to images of ads that are valid for 15 minutes (specification, «Limits»). A link proves itself: its token is derived
// from a secret that all nodes share, so that any node of any region answers it, and nothing is stored about it.
//   L1. A token is for one image and one instant: its holder can neither extend it nor use it for another image.
//   L2. Tokens are compared so that the time taken tells nothing about the right one.

import type { CryptoPort } from "../crypto/port.ts";
import { toBase64Url, utf8 } from "../protocol/bytes.ts";
import { parseHash } from "../protocol/hash.ts";
import { imageLinkValidSeconds } from "../protocol/limits.ts";

export interface ImageLinksOptions {
  readonly crypto: Pick<CryptoPort, "hmacSha256">;
  /** The same on every node of every region. */
  readonly secret: Uint8Array;
  /** The public address of the retrieval surface, without a slash at its end. */
  readonly baseUrl: string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The parameters of a link, as they arrived. */
export interface ImageLinkQuery {
  readonly expires: string | null;
  readonly token: string | null;
}

export interface ImageLinks {
  /** A link to the image with this hash (`sha256:<hex>`), valid from now on. */
  linkOf(sha256: string): string;
  /** For how many more seconds the link is valid, at least 1; null for one that is expired or forged. */
  verify(hex: string, query: ImageLinkQuery): number | null;
}

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
