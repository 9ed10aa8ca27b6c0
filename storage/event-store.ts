// Port: the events of each AI company, in the order in which a region stored them, for companies to read one after another.
// Every implementation passes storage/event-store.conformance.ts.
//
// Obligations of an implementation:
//   E1. Once `put` has returned, every event of it will be read, even after the loss of any process. After an unknown
//       outcome it is repeated; an event that is put again may then be read again, with the same `retrieval_id`.
//   E2. Who has read up to a position misses nothing that is stored later: what is read after it has a higher position.
//       Events may be held back for some seconds, until nothing with a lower position can still come.
//   E3. Events are read in ascending order of position, those of one company and one region only.
//   E4. `forget` removes events that were stored before an instant, at most `limit` at a time; no other call does. An
//       implementation whose events expire on their own has nothing to do.
//   E5. A region's events are written and read in that region only, and need no other region.

export interface CompanyEvent {
  /** The uuid of the AI company. */
  readonly company: string;
  readonly retrieval_id: string;
  /** JSON text. */
  readonly body: string;
}

/** Where an event stands in the stream of its company and region. */
export interface EventPosition {
  readonly at: number;
  readonly id: string;
}

export interface StoredEvent {
  readonly position: EventPosition;
  readonly body: string;
}

export interface EventsWanted {
  readonly region: string;
  readonly company: string;
  /** Null for the oldest that is kept. */
  readonly after: EventPosition | null;
  readonly limit: number;
}

/** How long an event is kept. */
export const eventRetentionMs = 30 * 86_400_000;

export interface EventStore {
  /** Throws {@link StoreError}. */
  put(region: string, events: readonly CompanyEvent[]): Promise<void>;
  read(wanted: EventsWanted): Promise<readonly StoredEvent[]>;
  /** Returns how many were removed; fewer than `limit` means that none is left (E4). */
  forget(beforeMs: number, limit: number): Promise<number>;
}

export { StoreError } from "./actor-store.ts";
