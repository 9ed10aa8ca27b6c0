// What each member of a request about an image of an ad changes: all of it has a test of its own.

import type { Proof } from "../contract/request-effects.fixture.ts";

const links = (title: string): Proof => ({ shownBy: `api/ad-images.test.ts: ${title}` });
const forged = "is the same 404 when it is forged, expired, of another image, or to none";
const reading = "GET /v1/ads/images/{hash}";

export const imageProofs: Readonly<Record<string, Proof>> = {
  [`${reading} path hash`]: links(forged),
  [`${reading} query expires`]: links(forged),
  [`${reading} query token`]: links(forged),
  [`${reading} header If-None-Match`]: links("answers HEAD, and a conditional request"),
};
