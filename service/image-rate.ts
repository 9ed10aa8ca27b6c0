// How many images a business may send in a day, and how many bytes (docs/ads.md). Counted by this node alone.
//   R1. At most `imagesPerDay` images and `bytesPerDay` bytes of a business are taken within 24 hours of the first.
//   R2. Businesses that have not sent any for long are forgotten: memory is bounded.

import { imageBytesPerDay, imagesPerDay } from "../protocol/limits.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import type { Refused } from "./answer.ts";
import { rateLimited } from "./rate-limited.ts";

export interface ImageRate {
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
