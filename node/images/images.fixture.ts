// Test support: real images, made by sharp.

import sharp from "sharp";
import type { ImageMediaType } from "../../protocol/image-type.ts";

export interface MadeImage {
  readonly width?: number;
  readonly height?: number;
  /** Noise cannot be compressed; without it an image is of one colour. */
  readonly isNoisy?: boolean;
}

const formats = { "image/png": "png", "image/jpeg": "jpeg", "image/webp": "webp" } as const;

export async function imageOf(
  type: ImageMediaType,
  { width = 64, height = 48, isNoisy = true }: MadeImage = {},
): Promise<Uint8Array> {
  const noise = { type: "gaussian", mean: 128, sigma: 40 } as const;
  const drawn = sharp({
    create: { width, height, channels: 3, background: "#336699", ...(isNoisy ? { noise } : {}) },
    limitInputPixels: false,
  });
  return new Uint8Array(await drawn.toFormat(formats[type]).toBuffer());
}

/** A WebP of several frames. */
export async function animationOf(frames: number): Promise<Uint8Array> {
  const images = await Promise.all(Array.from({ length: frames }, () => imageOf("image/png")));
  const joined = sharp(
    images.map((each) => Buffer.from(each)),
    { join: { animated: true } },
  );
  return new Uint8Array(await joined.webp({ loop: 0 }).toBuffer());
}
