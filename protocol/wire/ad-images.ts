// What a business is answered when it has sent an image of an ad.

import { imageMediaTypes } from "../image-type.ts";
import { imageBytesMax, imageSideMax } from "../limits.ts";
import { described, hash, integer, named, type Of, object, oneOf } from "../shape.ts";

const side = integer({ min: 1, max: imageSideMax });

export const adImage = named(
  "AdImage",
  object({
    sha256: described(hash, "Over the bytes as they were sent: what the creative of an ad names."),
    media_type: oneOf(imageMediaTypes),
    width: described(side, "In pixels, as stored: an orientation in the metadata is not applied."),
    height: described(side, "In pixels, as stored."),
    bytes: integer({ min: 1, max: imageBytesMax }),
  }),
);
export type AdImage = Of<typeof adImage>;
