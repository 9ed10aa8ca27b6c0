// The event stream of an AI company: one event for every search and fetch that was answered.

import { collectionNames, isKeyId } from "../identifiers.ts";
import { searchRowsMax } from "../limits.ts";
import {
  country,
  described,
  flag,
  integer,
  list,
  matching,
  named,
  nullable,
  type Of,
  object,
  oneOf,
  text,
  timestamp,
} from "../shape.ts";

/** Events in one answer, at most and by default. */
export const eventsPageMax = 1_000;
export const eventsPageUsual = 100;

/** Where to read on. */
export const eventCursor = described(
  matching(/^[0-9]{1,15}-ret_[0-9a-f]{32}$/, "a cursor of an earlier answer"),
  "Opaque: where the next read goes on, as `after`.",
);

export const companyEvent = named(
  "CompanyEvent",
  object({
    event_id: described(
      matching(/^event_[0-9a-f]{32}$/, "an event id"),
      "The same if an event is delivered again, which may happen.",
    ),
    cursor: eventCursor,
    type: oneOf(["search", "fetch", "ad_pool"]),
    at: described(timestamp, "When it was served, as in the receipt."),
    retrieval_id: text(128),
    key_id: matching(isKeyId, "a key id"),
    client_query_id: described(nullable(text(128)), "As sent with the search; null if there was none."),
    collection: nullable(oneOf(collectionNames)),
    country: nullable(country),
    rows: integer({ min: 0, max: searchRowsMax }),
    billable: flag,
    region: described(text(64), "The region that answered; each has its own stream."),
  }),
);
export type CompanyEvent = Of<typeof companyEvent>;

export const companyEvents = named(
  "CompanyEvents",
  object({
    events: list(companyEvent, { min: 0, max: eventsPageMax }),
    next_cursor: described(
      nullable(eventCursor),
      "Of the last event, or as asked if there is none; null if there was no event yet.",
    ),
  }),
);
export type CompanyEvents = Of<typeof companyEvents>;
