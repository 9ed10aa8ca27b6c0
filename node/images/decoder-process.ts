// A process that decodes images of ads with libvips, through sharp: whether an image can be shown is what a maintained decoder says.
// It is a process of its own, so that whatever a decoder does to an image, it can be ended.
//   D1. Only the loaders of the three types exist: nothing else that libvips can read is ever parsed.
//   D3. The dimensions are read from the head and judged before a pixel is decoded. Warnings of a decoder are faults.
//   D5. The data of a PNG inflates to exactly its pixels: libvips stops there, and a decoder of somebody else might not.
//   D7. The colour profile of a PNG inflates to a bounded length, which is seen before libvips looks at it.

import { createInflate, inflateSync } from "node:zlib";
import sharp, { type Metadata, type SharpOptions } from "sharp";
import type { ImageMediaType } from "../../protocol/image-type.ts";
import { colourProfileBytesMax, imagePixelsMax, imageSideMax } from "../../protocol/limits.ts";
import { ok, refuse } from "../../protocol/result.ts";
import type { DecodeImage } from "../../service/ads/ad-images.ts";

/** One image; the process is asked for one at a time. */
export interface DecodeRequest {
  readonly bytes: Uint8Array;
  readonly type: ImageMediaType;
}

/** What comes back for each. */
export type DecodeReply = Awaited<ReturnType<DecodeImage>>;

const formats: Readonly<Record<ImageMediaType, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/webp": "webp",
};

const options: SharpOptions = { failOn: "warning", sequentialRead: true, autoOrient: false };

function restrictLibvips(): void {
  sharp.concurrency(1);
  sharp.cache(false);
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({
    operation: ["VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadWebpBuffer"],
  });
}

async function decode({ bytes, type }: DecodeRequest): Promise<DecodeReply> {
  if (type === "image/png" && !hasBoundedProfile(bytes)) return unreadable();
  const head = await headOf(bytes);
  if (head === null || head.format !== formats[type]) return unreadable();
  const { width, height } = head;
  if (width > imageSideMax || height > imageSideMax || width * height > imagePixelsMax)
    return refuse(
      "image_dimensions",
      `The image has ${width} × ${height} pixels; at most ${imageSideMax} each way and ${imagePixelsMax} together are taken.`,
    );
  if (type === "image/png" && !(await inflatesToPixels(bytes))) return unreadable();
  try {
    // One byte per pixel is enough to have every pixel decoded.
    const { info } = await sharp(bytes, { ...options, limitInputPixels: imagePixelsMax })
      .removeAlpha()
      .greyscale()
      .raw()
      .toBuffer({ resolveWithObject: true });
    return info.width === width && info.height === height ? ok({ width, height }) : unreadable();
  } catch {
    return unreadable();
  }
}

/** Null for an image whose head cannot be read, or that has several pages. */
async function headOf(bytes: Uint8Array): Promise<Metadata | null> {
  try {
    const head = await sharp(bytes, { ...options, limitInputPixels: false }).metadata();
    return (head.pages ?? 1) === 1 ? head : null;
  } catch {
    return null;
  }
}

/** The seven passes of an interlaced PNG: where each begins, and its steps (PNG §8.2). */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;
/** Samples of a pixel by colour type (PNG §11.2.1). */
const samplesOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/** Bytes of the scanlines, each with its filter (PNG §7.2), as the head says. */
function scanlineBytes(head: DataView): number {
  const [width, height] = [head.getUint32(0), head.getUint32(4)];
  const bits = head.getUint8(8) * (samplesOf[head.getUint8(9)] ?? 0);
  const passes = head.getUint8(12) === 1 ? adam7 : [[0, 0, 1, 1] as const];
  let bytes = 0;
  for (const [x, y, stepX, stepY] of passes) {
    const columns = Math.ceil((width - x) / stepX);
    const rows = Math.ceil((height - y) / stepY);
    if (columns > 0 && rows > 0) bytes += rows * (1 + Math.ceil((columns * bits) / 8));
  }
  return bytes;
}

/** See D5. The structure of the file was judged before. */
function inflatesToPixels(bytes: Uint8Array): Promise<boolean> {
  const expected = scanlineBytes(new DataView(bytes.buffer, bytes.byteOffset + 16, 13));
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const inflate = createInflate();
  let inflated = 0;
  inflate.on("data", (piece: Uint8Array) => {
    inflated += piece.length;
    if (inflated > expected) inflate.destroy();
  });
  let isBroken = false;
  inflate.on("error", () => {
    isBroken = true;
  });
  inflate.on("close", () => resolve(!isBroken && inflated === expected));
  for (const data of chunksOf(bytes, chunkTypes.IDAT)) inflate.write(data);
  inflate.end();
  return promise;
}

/** See D7. In front of the profile are its name, a zero and the method, which is zero as well (PNG §11.3.2.3). */
function hasBoundedProfile(bytes: Uint8Array): boolean {
  for (const data of chunksOf(bytes, chunkTypes.iCCP)) {
    try {
      inflateSync(data.subarray(data.indexOf(0) + 2), { maxOutputLength: colourProfileBytesMax });
    } catch {
      return false;
    }
  }
  return true;
}

const chunkTypes = { IDAT: 0x49444154, iCCP: 0x69434350 } as const;

/** The data of all chunks of the type. */
function* chunksOf(bytes: Uint8Array, type: number): Generator<Uint8Array> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = 8; at + 12 <= bytes.length; at += 12 + view.getUint32(at))
    if (view.getUint32(at + 4) === type) yield bytes.subarray(at + 8, at + 8 + view.getUint32(at));
}

function unreadable() {
  return refuse("image_invalid", "The image cannot be decoded as a whole.");
}

restrictLibvips();
process.on(
  "message",
  (request: DecodeRequest) => void decode(request).then((reply) => process.send?.(reply)),
);
// The node that asked is gone.
process.on("disconnect", () => process.exit(0));
