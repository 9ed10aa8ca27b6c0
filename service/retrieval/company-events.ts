// GET /v1/events: what was answered to an AI company in this region, one event for each search and fetch (specification,
// «Retrieval API», `client_query_id`).
//   V1. A company reads its own events, whichever of its keys asked; nobody reads those of another.
//   V2. Who goes on from the cursor of the last event that it processed misses none. An event may come twice, and has the
//       same `event_id` then.
//   V3. Reading is not a retrieval: it has no receipt, and nothing is billed.

import { type CompanyEvent, eventsPageMax, eventsPageUsual } from "../../protocol/wire/retrieval.ts";
import type { EventPosition, EventStore, StoredEvent } from "../../storage/event-store.ts";
import { answerJson, type Caller, type Given, type Outcome, wrongParameter } from "../answer.ts";

export interface CompanyEventsDeps {
  readonly eventStore: EventStore;
  readonly region: string;
}

export interface CompanyEventsRequest extends Given<"after" | "limit"> {
  readonly caller: Caller;
  /** `lines`: one JSON document per line, instead of one document. */
  readonly format: "json" | "lines";
}

export type ReadCompanyEvents = (request: CompanyEventsRequest) => Promise<Outcome>;

const headers = Object.freeze({ "cache-control": "no-store", vary: "accept" });

/** GET /v1/events. Throws {@link StoreError}. */
export async function readCompanyEvents(
  { eventStore, region }: CompanyEventsDeps,
  { caller, after: cursor, limit: given, format }: CompanyEventsRequest,
): Promise<Outcome> {
  const after = cursor === null ? null : parseCursor(cursor);
  if (cursor !== null && after === null)
    return wrongParameter("after", "after must be a cursor of an earlier answer.");
  const limit = given === null ? eventsPageUsual : parseLimit(given);
  if (limit === null) return wrongParameter("limit", `limit must be an integer from 1 to ${eventsPageMax}.`);
  const stored = await eventStore.read({ region, company: caller.party.uuid, after, limit });
  const events = stored.map(eventOf);
  if (format === "json")
    return answerJson(200, { events, next_cursor: events.at(-1)?.cursor ?? cursor }, headers);
  const body = events.map((event) => `${JSON.stringify(event)}\n`).join("");
  return {
    kind: "answer",
    status: 200,
    body,
    headers: { "content-type": "application/x-ndjson", ...headers },
  };
}

function eventOf({ position, body }: StoredEvent): CompanyEvent {
  const { event_id, ...event } = JSON.parse(body) as Omit<CompanyEvent, "cursor">;
  return { event_id, cursor: `${position.at}-${position.id}`, ...event };
}

function parseCursor(cursor: string): EventPosition | null {
  const [, at, id] = /^([0-9]{1,15})-(ret_[0-9a-f]{32})$/.exec(cursor) ?? [];
  return at === undefined || id === undefined ? null : { at: Number(at), id };
}

function parseLimit(text: string): number | null {
  const limit = /^[1-9][0-9]{0,3}$/.test(text) ? Number(text) : Number.NaN;
  return limit <= eventsPageMax ? limit : null;
}
