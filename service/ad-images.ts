// Takes an image of an ad: it is stored under its hash exactly as it arrived, once it has been decoded as a whole.
//   A1. What an image is follows from its bytes. What the sender says of it must agree, and proves nothing.
//   A2. An image is decoded only after its size, its type and its structure are in order, and its dimensions are read
//       before any pixel is.
//   A3. What is refused is not stored, and counts towards what its business may send in a day.

import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { type ImageMediaType, imageMediaTypes, imageTypeOf } from "../protocol/image-type.ts";
import { imageBytesMax } from "../protocol/limits.ts";
import { type ProblemCode, problem } from "../protocol/problem.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import type { AdImage } from "../protocol/wire/ad-images.ts";
import type { ImageStore } from "../storage/image-store.ts";
import { answerJson, type Outcome, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { ImageRate } from "./image-rate.ts";
import { type ImageStructure, judgeStructure } from "./image-structure.ts";

export interface ImageSize {
  /** In pixels. */
  readonly width: number;
  readonly height: number;
}

/**
 * Decodes every pixel of an image of the type, within the limits on its dimensions. Throws `Unavailable` while too many
 * images are being decoded.
 */
export type DecodeImage = (
  bytes: Uint8Array,
  type: ImageMediaType,
  /** The business whose image it is: the images of one wait for one another. */
  owner: string,
) => Promise<Result<ImageSize, "image_dimensions" | "image_invalid">>;

export type ImageRefusal =
  | "image_type_unsupported"
  | "image_too_large"
  | "image_dimensions"
  | "image_invalid"
  | "image_store_full";

export interface ArrivedImage {
  readonly bytes: Uint8Array;
  /** What the sender says that it is; null if it does not. */
  readonly declaredMediaType: string | null;
  readonly owner: string;
}

export interface AdImagesDeps {
  readonly decode: DecodeImage;
  readonly store: ImageStore;
  readonly sha256: Sha256;
}

export type AcceptImage = (image: ArrivedImage) => Promise<Result<AdImage, ImageRefusal>>;

/** Throws `Unavailable` and {@link StoreError}. */
export function createAcceptImage({ decode, store, sha256 }: AdImagesDeps): AcceptImage {
  return async ({ bytes, declaredMediaType, owner }) => {
    if (bytes.length > imageBytesMax)
      return refuse("image_too_large", `An image has at most ${imageBytesMax} bytes.`);
    const type = typeOf(bytes, declaredMediaType);
    if (!type.ok) return type;
    const mediaType = type.value;
    const fault = structureFaults[judgeStructure(bytes, mediaType)];
    if (fault !== null) return refuse(...fault);
    const decoded = await decode(bytes, mediaType, owner);
    if (!decoded.ok) return decoded;
    const image = { sha256: hashOf(bytes, sha256), ...decoded.value };
    if ((await store.put({ ...image, mediaType, bytes })) === "full")
      return refuse("image_store_full", "There is no room for further images now.");
    const { width, height } = decoded.value;
    return ok({ sha256: image.sha256, media_type: mediaType, width, height, bytes: bytes.length });
  };
}

/** See A1. */
function typeOf(
  bytes: Uint8Array,
  declared: string | null,
): Result<ImageMediaType, "image_type_unsupported"> {
  const type = imageTypeOf(bytes);
  if (type === null)
    return refuse("image_type_unsupported", `An image is ${imageMediaTypes.join(", ")} by its first bytes.`);
  // Parameters have no meaning for these types (RFC 9110 §8.3.1).
  const named = declared?.split(";", 1)[0]?.trim().toLowerCase() ?? type;
  if (named === type) return ok(type);
  return refuse(
    "image_type_unsupported",
    `The bytes are ${type}, and the type that was sent is another one.`,
  );
}

const structureFaults: Readonly<Record<ImageStructure, [ImageRefusal, string] | null>> = {
  whole: null,
  cut_off: ["image_invalid", "The image ends before it is complete."],
  followed: ["image_invalid", "Something follows the image in the file."],
  broken: ["image_invalid", "The parts of the image do not follow one another."],
  foreign: [
    "image_invalid",
    "The image has a part that is not taken, such as a compressed text: save it without metadata.",
  ],
  animated: ["image_type_unsupported", "Animations are not taken: send one still image."],
};

export interface ImageUpload extends Omit<ArrivedImage, "owner"> {
  readonly caller: Caller;
}

export type UploadImage = (upload: ImageUpload) => Promise<Outcome>;

/** Takes the image that a business sends. Throws what {@link createAcceptImage} throws. */
export function createUploadImage(accept: AcceptImage, rate: ImageRate): UploadImage {
  return async ({ caller, ...arrived }) => {
    const owner = caller.party.uuid;
    const limited = rate.take(owner, arrived.bytes.length);
    if (limited !== null) return limited;
    const accepted = await accept({ ...arrived, owner });
    if (accepted.ok) return answerJson(201, accepted.value, { "cache-control": "no-store" });
    const { code: reason, detail } = accepted;
    const code = problemCodes[reason];
    const retry = code === "unavailable" ? { retry_after_seconds: fullRetrySeconds } : {};
    return refused(problem(code, detail, { reason, ...retry }));
  };
}

/** Room is made as ads end. */
const fullRetrySeconds = 3_600;

const problemCodes: Readonly<Record<ImageRefusal, ProblemCode>> = {
  image_type_unsupported: "media_type_unsupported",
  image_too_large: "record_too_large",
  image_dimensions: "request_invalid",
  image_invalid: "request_invalid",
  image_store_full: "unavailable",
};
