// Port: the public register that every region reads: parties, keys, mandates, certificates, AI policies, custody, blocks.
// The business actor is the source of truth; this is its projection. Passes storage/register-store.conformance.ts.
//   G1. An entry is replaced only by one with a higher `change`, so a repeated or late write undoes nothing. Two entries
//       of one key with the same change are the same entry; if they ever were not, one of the two is kept, the same one
//       for every reader.
//   G2. A write that has returned survives the loss of the process.
//   G3. A feed delivers every entry: those that existed when it started, and each one that changes later, however late it
//       becomes readable here. `get` returns what the feed has delivered, in that state or a later one. So does `list`,
//       once the put of the entry has reached this region completely.
//   G4. A feed may deliver an entry again, and entries in any order, but never an entry in an earlier state than before.
//   G5. A key belongs to one party for ever. `claimKey` returns which, the same for every caller in every region and
//       however many ask at once: the party that the key was registered for before claims existed, or else the first that
//       claimed it. The answer survives the loss of the process. A claim whose outcome is unknown is repeated.
//   G6. An entry never moves to another party: once it exists, an entry with the same key and another partition changes
//       nothing. Names of entries contain their party or the hash of a document that names it, so two parties could only
//       put the same key entry at once; a key is therefore claimed before it is put (G5).

import type { StoreError } from "./actor-store.ts";

export const registerTables = [
  ...(["party", "key", "mandate", "certificate", "policy", "custody"] as const),
  ...(["campaign", "ad", "takedown"] as const),
] as const;
export type RegisterTable = (typeof registerTables)[number];

export interface RegisterEntry {
  readonly table: RegisterTable;
  /** The partition by which entries are listed: the party's uuid. */
  readonly partition: string;
  /**
   * Unique in the table: uuid, key_id, `<uuid>/<mandate_id>`, cert_id, `<uuid>/<version>`, statement_id,
   * `<uuid>/<campaign_id>`, ad_id; of a takedown the uuid or the record's id.
   */
  readonly key: string;
  /** Raised with every change of the party (G1). */
  readonly change: number;
  /** JSON text. */
  readonly body: string;
}

export interface RegisterStore {
  /** The uuid of the party that owns the key, from this call on at the latest (G5). Throws {@link StoreError}. */
  claimKey(keyId: string, partyUuid: string): Promise<string>;
  put(entries: readonly RegisterEntry[]): Promise<void>;
  get(table: RegisterTable, key: string): Promise<RegisterEntry | null>;
  /** All entries of a party in one table, in ascending order of key. */
  list(table: RegisterTable, partition: string): Promise<readonly RegisterEntry[]>;
  /** Starts following the register, see G3 and G4. */
  follow(): RegisterFeed;
}

/** What one reader has received so far. It is lost with the process, which then starts over. Only one call at a time. */
export interface RegisterFeed {
  /**
   * Returns at most `limit` entries that have not been delivered yet, possibly along with some that have. `more` means
   * that further entries are available at once; without it, everything that was put in this region before the call began
   * has been delivered. Entries that a failed call would have delivered are delivered by a later one.
   */
  next(limit: number): Promise<{ readonly entries: readonly RegisterEntry[]; readonly more: boolean }>;
}
