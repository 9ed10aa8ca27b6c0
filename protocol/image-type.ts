// The kinds of images that an ad may have, told by their first bytes.

export const imageMediaTypes = ["image/png", "image/jpeg", "image/webp"] as const;
export type ImageMediaType = (typeof imageMediaTypes)[number];

const pngSignature = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
const jpegStart = [0xff, 0xd8, 0xff];
const riff = [0x52, 0x49, 0x46, 0x46];
const webp = [0x57, 0x45, 0x42, 0x50];

/** The type that the first bytes show (PNG §5.2, JPEG B.1.1.3, WebP container); null for any other. */
export function imageTypeOf(bytes: Uint8Array): ImageMediaType | null {
  if (hasAt(bytes, 0, pngSignature)) return "image/png";
  if (hasAt(bytes, 0, jpegStart)) return "image/jpeg";
  return hasAt(bytes, 0, riff) && hasAt(bytes, 8, webp) ? "image/webp" : null;
}

function hasAt(bytes: Uint8Array, at: number, wanted: readonly number[]): boolean {
  return wanted.every((byte, index) => bytes[at + index] === byte);
}
