// Which rows of a product search are sponsored (specification, «Search row» and «States», Ad).
//   SR1. A row is sponsored if a running campaign of its own business sponsors its product in the country of the search, and the
//        certificate of the business is active; both its campaign and the sponsoring stand (retrieval/record-standing.ts), and its ad is not taken
//        down. Being sponsored moves no row: the order is the caller's.
//   SR2. Rows, index and filter agree: a search with the filter `sponsored` names the records that it then marks, from one reading of
//        the book. What is sponsored is on no row in the index, so it changes everywhere as soon as the book does.
//   SR3. What was marked is durable before the search is answered, so that its render is known to have been served.
//   SR4. A product that was rendered in a conversation is not sponsored in its searches for an hour, unless its business allows repeats.

import { poolRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { SearchRequest } from "../../collections/search-request.ts";
import type { Clock } from "../../crypto/port.ts";
import type { RowHit } from "../../storage/row-index.ts";
import type { Sponsorship } from "../register/ad-book.ts";
import type { Register } from "../register/register.ts";
import type { Retrieval } from "../retrieval/receipts.ts";
import { adStanding } from "../retrieval/record-standing.ts";
import type { AdSessions } from "./ad-tokens.ts";

export interface SponsoredRowsDeps extends Actors {
  readonly register: Register;
  readonly sessions: AdSessions;
  readonly clock: Clock;
  readonly region: string;
}

/** What is sponsored for one search, by record id. */
export type Sponsored = ReadonlyMap<string, Sponsorship>;

export interface SponsoredSearch {
  /** All that is sponsored in the country; null for a search that does not filter by it. */
  filtered(): Promise<Sponsored | null>;
  /** Those of the rows that are sponsored. */
  among(hits: readonly RowHit[]): Promise<Sponsored>;
  /** See SR3; nothing for a search without sponsored rows. */
  keep(retrieval: Retrieval, hits: readonly RowHit[], sponsored: Sponsored): Promise<void>;
}

export interface SponsoredRows {
  open(company: string, request: SearchRequest): SponsoredSearch;
}

const nothing: Sponsored = new Map();

/** Opens each search's look at what is sponsored (S1 in retrieval/search.ts). */
export function createSponsoredRows(deps: SponsoredRowsDeps): SponsoredRows {
  return {
    open: (company, request) => {
      const { collection, country } = request;
      const nowMs = deps.clock.now();
      const names = () => deps.sessions.namesOf(company, request.sessionRef, nowMs);
      const offered = async (found: Sponsored): Promise<Sponsored> =>
        found.size === 0
          ? found
          : withoutShown(await standing(deps, found), await deps.sessions.shownIn(names()));
      return {
        filtered: async () => {
          if (request.clauses.every(({ field }) => field.isOnRows)) return null;
          return offered(certified(deps, deps.register.ads.sponsored({ country, nowMs })));
        },
        among: async (hits) => {
          if (collection !== "products") return nothing;
          const found = new Map<string, Sponsorship>();
          for (const { record_id } of hits) {
            const sponsorship = deps.register.ads.sponsorshipOf(record_id, { country, nowMs });
            if (sponsorship !== null) found.set(record_id, sponsorship);
          }
          return offered(certified(deps, found));
        },
        keep: async (retrieval, hits, sponsored) => {
          const served = hits.flatMap(({ record_id }) => sponsored.get(record_id) ?? []);
          if (served.length > 0)
            await keepServed(deps, { company, session: names()[0] ?? null }, retrieval, served);
        },
      };
    },
  };
}

function certified({ register }: SponsoredRowsDeps, found: Sponsored): Sponsored {
  const { certifiedNames, takenDown } = register;
  return filter(
    found,
    ({ ad: { business_uuid: uuid, ad_id } }) =>
      certifiedNames.legalNameOf(uuid) !== null && !takenDown.has(uuid, ad_id),
  );
}

async function standing({ register }: SponsoredRowsDeps, found: Sponsored): Promise<Sponsored> {
  const stands = await adStanding(
    register,
    Array.from(found.values(), ({ ad }) => ad.business_uuid),
  );
  return filter(found, ({ ad, campaign }) => stands(ad) && stands(campaign));
}

function withoutShown(found: Sponsored, shown: ReadonlySet<string>): Sponsored {
  return shown.size === 0 ? found : filter(found, ({ ad }) => !shown.has(ad.ad_id));
}

function filter(found: Sponsored, isKept: (each: Sponsorship) => boolean): Sponsored {
  return new Map([...found].filter(([, each]) => isKept(each)));
}

async function keepServed(
  { actors, region }: SponsoredRowsDeps,
  served: { readonly company: string; readonly session: string | null },
  { retrievalId, servedAtMs }: Retrieval,
  rows: readonly Sponsorship[],
): Promise<void> {
  const serve = {
    type: "pool.serve",
    ...served,
    served_at_ms: servedAtMs,
    items: rows.map(({ ad: { ad_id, business_uuid, campaign_id, allow_repeats } }) => ({
      ad_id,
      business_uuid,
      campaign_id,
      allow_repeats,
    })),
  } as const;
  await actors.ask(poolRef(retrievalId, region), serve, { isNew: true });
}
