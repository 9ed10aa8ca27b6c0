// What the outer structure of an image shows: whether the file is the image, all of it and nothing else. A decoder alone
// would ignore what follows the image, and would show the first frame of an animation.
//   F1. Every step goes forward by at least one byte, so that no file takes longer than its length.
//   F2. Only parts that are known are taken, of a bounded number and size: what a decoder would have to inflate, besides the pixels,
//       is at most one colour profile, whose length the decoder's process bounds (D7 in node/images/decoder-process.ts).

import type { ImageMediaType } from "../protocol/image-type.ts";
import { colourProfileBytesMax } from "../protocol/limits.ts";

/** `broken` for a file whose parts do not follow one another, `foreign` for one with a part that is not taken (F2). */
export type ImageStructure = "whole" | "cut_off" | "followed" | "animated" | "broken" | "foreign";

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
  ...{ IHDR: 13, PLTE: 768, IDAT: Number.POSITIVE_INFINITY, IEND: 0, tRNS: 768 },
  ...{ cHRM: 32, cICP: 4, cLLI: 8, gAMA: 4, iCCP: 32_768, mDCV: 24, sBIT: 4, sRGB: 1 },
  ...{ bKGD: 6, hIST: 512, pHYs: 9, tIME: 7, eXIf: textBytesMax, tEXt: textBytesMax, iTXt: textBytesMax },
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
  ...{ "VP8 ": Number.POSITIVE_INFINITY, VP8L: Number.POSITIVE_INFINITY, ALPH: Number.POSITIVE_INFINITY },
  ...{ VP8X: 10, ICCP: colourProfileBytesMax, EXIF: textBytesMax, "XMP ": textBytesMax },
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
  ...[0xc0, 0xc1, 0xc2, 0xc4, marker.scan, 0xdb, 0xdd, 0xfe],
  ...[0xe0, 0xe1, 0xe2, 0xec, 0xed, 0xee],
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
