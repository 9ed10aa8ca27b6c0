// Joins the feeds for several countries, which are read already, into one spool of records (client/country-feeds.ts).

import { joinCountries } from "../client/country-feeds.ts";
import type { FeedReport } from "./feed-report.ts";
import type { RecordSpool, SpoolWriter } from "./record-spool.ts";

export interface CountryFeed {
  /** The file's name. */
  readonly file: string;
  readonly records: RecordSpool;
  /** The own id of each record. */
  readonly ids: readonly (string | null)[];
}

/**
 * Writes one record for each product, in the order in which the feeds have them. A product that one feed has and that could not be
 * read there is left out of all: with the others alone it would no longer be published for that feed's countries.
 */
export async function joinFeeds(
  feeds: readonly CountryFeed[],
  report: FeedReport,
  spool: SpoolWriter,
): Promise<void> {
  const places = feeds.map(({ ids }) => new Map(ids.map((id, index) => [id, index])));
  const faulty = new Set(report.leftOutIds);
  for (const [at, feed] of feeds.entries()) {
    report.source = feed.file;
    for (const [index, id] of feed.ids.entries()) {
      if (id === null || faulty.has(id)) continue;
      // It came with an earlier feed.
      if (places.slice(0, at).some((known) => known.has(id))) continue;
      const records: Uint8Array[] = [];
      for (const [other, known] of places.entries()) {
        const found = known.get(id);
        if (found !== undefined) records.push(...((await feeds[other]?.records.read(found, 1)) ?? []));
      }
      const place = feed.records.places[index] ?? 0;
      const { bytes, notes } = joinCountries(records);
      await report.addJoined({ place, id, notes }, bytes === null);
      if (bytes !== null) await spool.add(bytes, place);
    }
  }
}
