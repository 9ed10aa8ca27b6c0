// Decodes images of ads with libvips, through sharp: whether an image can be shown is what a maintained decoder says.
//   D1. Only the loaders of the three types exist: nothing else that libvips can read is ever parsed.
//   D2. At most `decodingMax` images are decoded at once, each on one thread of the platform's pool, so that the pool has
//       threads left for the disk. A bounded number waits; beyond that the answer is 503.
//   D3. The dimensions are read from the head and judged before a pixel is decoded. Warnings of a decoder are faults.
//   D4. Decoding ends after `timeoutSeconds`: an image that takes longer is refused.

import sharp, { type Metadata, type SharpOptions } from "sharp";
import type { ImageMediaType } from "../../protocol/image-type.ts";
import { imagePixelsMax, imageSideMax } from "../../protocol/limits.ts";
import { ok, refuse } from "../../protocol/result.ts";
import type { DecodeImage } from "../../service/ad-images.ts";
import { Semaphore } from "../../std/semaphore.ts";
import { Unavailable } from "../../std/unavailable.ts";

const decodingMax = 2;
const waitingMax = 32;
const timeoutSeconds = 10;
const retrySeconds = 2;

const formats: Readonly<Record<ImageMediaType, string>> = {
  "image/png": "png",
  "image/jpeg": "jpeg",
  "image/webp": "webp",
};

const options: SharpOptions = { failOn: "warning", sequentialRead: true, autoOrient: false };

export function createImageDecoder(limits: { readonly waitingMax?: number } = {}): DecodeImage {
  restrictLibvips();
  const slots = new Semaphore(decodingMax);
  const waiting = limits.waitingMax ?? waitingMax;
  return async (bytes, type) => {
    if (slots.waiting >= waiting) throw overloaded();
    return slots.run(() => decode(bytes, type));
  };
}

function restrictLibvips(): void {
  sharp.concurrency(1);
  sharp.cache(false);
  sharp.block({ operation: ["VipsForeignLoad"] });
  sharp.unblock({
    operation: ["VipsForeignLoadPngBuffer", "VipsForeignLoadJpegBuffer", "VipsForeignLoadWebpBuffer"],
  });
}

const decode: DecodeImage = async (bytes, type) => {
  const head = await headOf(bytes);
  if (head === null || head.format !== formats[type]) return unreadable();
  const { width, height } = head;
  if (width > imageSideMax || height > imageSideMax || width * height > imagePixelsMax)
    return refuse(
      "image_dimensions",
      `The image has ${width} × ${height} pixels; at most ${imageSideMax} each way and ${imagePixelsMax} together are taken.`,
    );
  try {
    // One byte per pixel is enough to have every pixel decoded.
    const { info } = await sharp(bytes, { ...options, limitInputPixels: imagePixelsMax })
      .removeAlpha()
      .greyscale()
      .raw()
      .timeout({ seconds: timeoutSeconds })
      .toBuffer({ resolveWithObject: true });
    return info.width === width && info.height === height ? ok({ width, height }) : unreadable();
  } catch {
    return unreadable();
  }
};

/** Null for an image whose head cannot be read, or that has several pages. */
async function headOf(bytes: Uint8Array): Promise<Metadata | null> {
  try {
    const head = await sharp(bytes, { ...options, limitInputPixels: false }).metadata();
    return (head.pages ?? 1) === 1 ? head : null;
  } catch {
    return null;
  }
}

function unreadable() {
  return refuse("image_invalid", "The image cannot be decoded as a whole.");
}

function overloaded(): Unavailable {
  return new Unavailable("too many images wait to be decoded", {
    reason: "images_in_decoding",
    effect: "not_applied",
    retryAfterSeconds: retrySeconds,
  });
}
