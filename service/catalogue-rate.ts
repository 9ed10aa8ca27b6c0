// How often a large catalogue may be read (specification, «Limits»: rate-limited above 1,000 records). The first 1,000
// entries are free; reading on takes one of a business's reads of the hour. Counted by this node alone.
//   R1. At most `perHour` readings of a business go beyond the free entries in any hour.
//   R2. The pages of one reading, asked for in their order, take one read, however many there are. A page that is asked
//       for again at once takes none; one that was passed before takes another.
//   R3. Businesses that have not read for long are forgotten: memory is bounded.

import { catalogueFreeEntries, catalogueReadsPerHour } from "../protocol/limits.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import type { Refused } from "./answer.ts";
import { rateLimited } from "./rate-limited.ts";

export interface CatalogueRate {
  /** Null for a page that may be read. */
  readonly take: (businessUuid: string, page: CatalogueReading) => Refused | null;
}

export interface CatalogueReading {
  /** Identifies the reading: the same on all of its pages. */
  readonly reading: string;
  /** Number of entries on the pages in front of this one. */
  readonly passed: number;
}

export interface CatalogueRateOptions {
  /** Monotonic whole milliseconds since some instant. */
  readonly elapsedMs: () => number;
  readonly perHour?: number;
  readonly freeEntries?: number;
  readonly businessesMax?: number;
}

interface Read {
  readonly reading: string;
  readonly beganMs: number;
  passed: number;
}

const hourMs = 3_600_000;
const businessesMaxDefault = 10_000;

export function createCatalogueRate(options: CatalogueRateOptions): CatalogueRate {
  const { elapsedMs, perHour = catalogueReadsPerHour, freeEntries = catalogueFreeEntries } = options;
  const ofBusiness = new BoundedMap<string, readonly Read[]>(options.businessesMax ?? businessesMaxDefault);
  return {
    take: (businessUuid, { reading, passed }) => {
      if (passed < freeEntries) return null;
      const nowMs = elapsedMs();
      const reads = (ofBusiness.get(businessUuid) ?? []).filter(({ beganMs }) => nowMs - beganMs < hourMs);
      const own = reads.find((each) => each.reading === reading && each.passed <= passed);
      if (own !== undefined) {
        own.passed = passed;
        return null;
      }
      const [oldest] = reads;
      if (oldest !== undefined && reads.length >= perHour)
        return tooOften({ perHour, freeEntries, leftMs: oldest.beganMs + hourMs - nowMs });
      ofBusiness.set(businessUuid, [...reads, { reading, beganMs: nowMs, passed }]);
      return null;
    },
  };
}

function tooOften(at: {
  readonly perHour: number;
  readonly freeEntries: number;
  readonly leftMs: number;
}): Refused {
  const detail = `More than ${at.freeEntries} entries of a catalogue may be read ${at.perHour} times an hour; read on later from the same cursor.`;
  return rateLimited(detail, {
    retry_after_seconds: Math.ceil(at.leftMs / 1_000),
    reason: "catalogue_reads",
  });
}
