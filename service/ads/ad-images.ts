// Takes an image of an ad: it is stored under its hash exactly as it arrived, once it has been decoded as a whole.
//   A1. What an image is follows from its bytes. What the sender says of it must agree, and proves nothing.
//   A2. An image is decoded only after its size, its type and its structure are in order, and its dimensions are read
//       before any pixel is.
//   A3. What is refused is not stored, and counts towards what its business may send in a day.

import { hashOf, type Sha256 } from "../../protocol/bytes.ts";
import { type ImageMediaType, imageMediaTypes, imageTypeOf } from "../../protocol/image-type.ts";
import {
  colourProfileBytesMax,
  imageBytesMax,
  imageBytesPerDay,
  imagesPerDay,
} from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { AdImage } from "../../protocol/wire/ad-requests.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import type { ImageStore } from "../../storage/image-store.ts";
import {
  answerJson,
  type CallersParty,
  type Outcome,
  type Refused,
  rateLimited,
  refusedWith,
} from "../answer.ts";

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
  readonly caller: CallersParty;
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
    return refusedWith(code, detail, { reason, ...retry });
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

// How many images a business may send in a day, and how many bytes (docs/ads.md). Counted by this node alone.
//   R1. At most `imagesPerDay` images and `bytesPerDay` bytes of a business are taken within 24 hours of the first.
//   R2. Businesses that have not sent any for long are forgotten: memory is bounded.

interface ImageRate {
  /** Null for an image that may be taken; it then counts, whatever becomes of it. */
  readonly take: (businessUuid: string, bytes: number) => Refused | null;
}

export interface ImageRateOptions {
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly perDay?: number;
  readonly bytesPerDay?: number;
  readonly businessesMax?: number;
}

interface Day {
  readonly beganMs: number;
  readonly images: number;
  readonly bytes: number;
}

const dayMs = 86_400_000;
const businessesMaxDefault = 10_000;

/** What one business may upload in a day: images and their bytes, counted by this node. */
export function createImageRate(options: ImageRateOptions): ImageRate {
  const { elapsedMs, perDay = imagesPerDay, bytesPerDay = imageBytesPerDay } = options;
  const days = new BoundedMap<string, Day>(options.businessesMax ?? businessesMaxDefault);
  return {
    take: (businessUuid, bytes) => {
      const nowMs = elapsedMs();
      const known = days.get(businessUuid);
      const isOver = known === undefined || nowMs - known.beganMs >= dayMs;
      const day = isOver ? { beganMs: nowMs, images: 0, bytes: 0 } : known;
      if (day.images + 1 > perDay || day.bytes + bytes > bytesPerDay)
        return rateLimited(
          `A business may send ${perDay} images of ${bytesPerDay} bytes together in 24 hours; send more later.`,
          {
            retry_after_seconds: Math.max(1, Math.ceil((day.beganMs + dayMs - nowMs) / 1_000)),
            reason: "image_uploads",
          },
        );
      days.set(businessUuid, { ...day, images: day.images + 1, bytes: day.bytes + bytes });
      return null;
    },
  };
}

// What the outer structure of an image shows: whether the file is the image, all of it and nothing else. A decoder alone
// would ignore what follows the image, and would show the first frame of an animation.
//   F1. Every step goes forward by at least one byte, so that no file takes longer than its length.
//   F2. Only parts that are known are taken, of a bounded number and size: what a decoder would have to inflate, besides the pixels,
//       is at most one colour profile, whose length the decoder's process bounds (D7 in node/images/decoder-process.ts).

/** `broken` for a file whose parts do not follow one another, `foreign` for one with a part that is not taken (F2). */
type ImageStructure = "whole" | "cut_off" | "followed" | "animated" | "broken" | "foreign";

/** Judges a file that begins as the type says. */
export function judgeStructure(bytes: Uint8Array, type: ImageMediaType): ImageStructure {
  if (type === "image/png") return judgePng(bytes);
  return type === "image/jpeg" ? judgeJpeg(bytes) : judgeWebp(bytes);
}

function ending(bytes: Uint8Array, end: number): ImageStructure {
  if (end > bytes.length) return "cut_off";
  return end < bytes.length ? "followed" : "whole";
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function nameAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

const animationChunks = ["acTL", "fcTL", "fdAT"];
const textBytesMax = 65_536;
/**
 * The chunks of a PNG (third edition, §11) and how many bytes each may have. Left out are compressed texts (zTXt), which inflate to a
 * thousand times their length, and what no decoder needs.
 */
const pngChunks: Readonly<Record<string, number>> = {
  IHDR: 13,
  PLTE: 768,
  IDAT: Number.POSITIVE_INFINITY,
  IEND: 0,
  tRNS: 768,
  cHRM: 32,
  cICP: 4,
  cLLI: 8,
  gAMA: 4,
  iCCP: 32_768,
  mDCV: 24,
  sBIT: 4,
  sRGB: 1,
  bKGD: 6,
  hIST: 512,
  pHYs: 9,
  tIME: 7,
  eXIf: textBytesMax,
  tEXt: textBytesMax,
  iTXt: textBytesMax,
};
/** All others are there once at most (PNG table 5.3). */
const repeatedChunks = ["IDAT", "tEXt", "iTXt"];
/** Chunks of a PNG other than those of pixels, segments of a JPEG other than scans: each costs a decoder some work. */
const otherPartsMax = 64;

/** Chunks of a length, a type, the data and a checksum, up to IEND (PNG §5.3). */
function judgePng(bytes: Uint8Array): ImageStructure {
  const view = viewOf(bytes);
  let at = 8;
  let others = 0;
  const seen = new Set<string>();
  while (at + 12 <= bytes.length) {
    const type = nameAt(bytes, at + 4);
    const length = view.getUint32(at);
    const next = at + 12 + length;
    if (animationChunks.includes(type)) return "animated";
    if (length > (pngChunks[type] ?? -1)) return "foreign";
    if (type === "iTXt" && isCompressedText(bytes.subarray(at + 8, at + 8 + length))) return "foreign";
    if (type === "IEND") return ending(bytes, next);
    if (type !== "IDAT") others += 1;
    if (others > otherPartsMax || (seen.has(type) && !repeatedChunks.includes(type))) return "foreign";
    seen.add(type);
    at = next;
  }
  return "cut_off";
}

/** The flag behind the keyword and its zero (PNG §11.3.3.4); without a keyword nobody knows. */
function isCompressedText(data: Uint8Array): boolean {
  const flagAt = data.indexOf(0) + 1;
  return flagAt === 0 || data[flagAt] !== 0;
}

const animationFlag = 0x02;
/**
 * The chunks of a still WebP (container specification), apart from those that are unknown, and how many bytes each may have. There is
 * at most one of each, and pixels are `VP8 ` or `VP8L`.
 */
const webpChunks: Readonly<Record<string, number>> = {
  "VP8 ": Number.POSITIVE_INFINITY,
  VP8L: Number.POSITIVE_INFINITY,
  ALPH: Number.POSITIVE_INFINITY,
  VP8X: 10,
  ICCP: colourProfileBytesMax,
  EXIF: textBytesMax,
  "XMP ": textBytesMax,
};

/** One RIFF file of chunks with a type, a length and the data, padded to an even length (WebP container). */
function judgeWebp(bytes: Uint8Array): ImageStructure {
  if (bytes.length < 20) return "cut_off";
  const view = viewOf(bytes);
  const end = 8 + view.getUint32(4, true);
  const whole = ending(bytes, end);
  if (whole !== "whole") return whole;
  let at = 12;
  const seen = new Set<string>();
  while (at + 8 <= end) {
    const type = nameAt(bytes, at);
    if (type === "ANIM" || type === "ANMF") return "animated";
    const size = view.getUint32(at + 4, true);
    const part = type === "VP8L" ? "VP8 " : type;
    if (size > (webpChunks[type] ?? -1) || seen.has(part)) return "foreign";
    seen.add(part);
    if (type === "VP8X" && ((bytes[at + 8] ?? 0) & animationFlag) !== 0) return "animated";
    at += 8 + size + (size % 2);
  }
  return at === end ? "whole" : "broken";
}

const marker = { fill: 0xff, end: 0xd9, scan: 0xda } as const;
/**
 * The segments of sequential and progressive JPEG with Huffman codes (JPEG table B.1): SOF0 to SOF2, DHT, SOS, DQT, DRI, comments, and of
 * applications JFIF (APP0), Exif and XMP (APP1), colour profiles (APP2) and what Adobe's programs write (APP12 to APP14).
 */
const jpegSegments = [
  0xc0,
  0xc1,
  0xc2,
  0xc4,
  marker.scan,
  0xdb,
  0xdd,
  0xfe,
  0xe0,
  0xe1,
  0xe2,
  0xec,
  0xed,
  0xee,
];
/** A progressive image has about ten, each of which a decoder passes over all pixels for. */
const scansMax = 32;

function isRestart(code: number): boolean {
  return code >= 0xd0 && code <= 0xd7;
}

/** Segments, and behind the head of each scan its coded data, up to EOI (JPEG B.1.1). */
function judgeJpeg(bytes: Uint8Array): ImageStructure {
  const view = viewOf(bytes);
  let at = 2;
  let scans = 0;
  let others = 0;
  while (at + 2 <= bytes.length) {
    if (bytes[at] !== marker.fill) return "broken";
    const code = bytes[at + 1] ?? 0;
    if (code === marker.fill) at += 1;
    else if (code === marker.end) return ending(bytes, at + 2);
    else {
      if (!jpegSegments.includes(code)) return code === 0 ? "broken" : "foreign";
      if (at + 4 > bytes.length) return "cut_off";
      const length = view.getUint16(at + 2);
      if (length < 2) return "broken";
      at += 2 + length;
      if (code === marker.scan) scans += 1;
      else others += 1;
      if (scans > scansMax || others > otherPartsMax) return "foreign";
      if (code === marker.scan) at = endOfScan(bytes, at);
    }
  }
  return "cut_off";
}

/** Where the coded data ends: at the first marker that is neither a stuffed byte nor a restart. */
function endOfScan(bytes: Uint8Array, from: number): number {
  let at = bytes.indexOf(marker.fill, from);
  while (at >= 0 && at + 1 < bytes.length) {
    const code = bytes[at + 1] ?? 0;
    if (code !== 0 && !isRestart(code)) return at;
    at = bytes.indexOf(marker.fill, at + 2);
  }
  return bytes.length;
}
