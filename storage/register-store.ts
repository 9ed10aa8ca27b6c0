// Port: the public register that every region reads: parties, keys, mandates, certificates, AI policies, custody,
// blocks. The business actor is the truth; this is its projection. Passes storage/register-store.conformance.ts.
//   G1. An entry is replaced only by one with a higher `change`, so a repeated or late write undoes nothing. Two entries
//       of one key with one change are the same entry; were they not, one of both is kept, the same for everyone.
//   G2. A write that returned survives the loss of the process.
//   G3. A feed gives every entry: those that were there when it began, and each that changes later, however late it
//       becomes readable here. What it gives, `get` tells in that state or a later one. `list` does, too, once the put of it
//       has reached this region whole.
//   G4. A feed may give an entry again, and entries in any order, but never an entry in an earlier state than before.
//   G5. A key belongs to one party for ever. `claimKey` answers which, the same to everyone in every region and however
//       many ask at once: the party that it was registered for before there were claims, or else the first that claimed it. The
//       answer survives the loss of the process. Where the outcome of a claim is not known it is claimed again.
//   G6. An entry never moves to another party: once it is there, one of the same key and of another partition changes
//       nothing. Names of entries hold their party or the hash of a document that names it, so only a key could be put by
//       two parties at once; it is claimed before it is put (G5).

import type { StoreError } from "./actor-store.ts";

export const registerTables = ["party", "key", "mandate", "certificate", "policy", "custody"] as const;
export type RegisterTable = (typeof registerTables)[number];

export interface RegisterEntry {
  readonly table: RegisterTable;
  /** What entries are listed by: the party's uuid. */
  readonly partition: string;
  /**
   * Unique in the table: uuid, key_id, `<uuid>/<mandate_id>`, cert_id, `<uuid>/<version>`, statement_id. Mandates of
   * earlier releases have their mandate_id alone.
   */
  readonly key: string;
  /** Raised with every change of the party (G1). */
  readonly change: number;
  /** JSON text. */
  readonly body: string;
}

export interface RegisterStore {
  /** The uuid of the party that the key belongs to, from now on at the latest (G5). Throws {@link StoreError}. */
  claimKey(keyId: string, partyUuid: string): Promise<string>;
  put(entries: readonly RegisterEntry[]): Promise<void>;
  get(table: RegisterTable, key: string): Promise<RegisterEntry | null>;
  /** All entries of a party in one table, ascending by key. */
  list(table: RegisterTable, partition: string): Promise<readonly RegisterEntry[]>;
  /** Begins to follow the register: G3, G4. */
  follow(): RegisterFeed;
}

/** What one reader has been given so far; lost with the process, which then begins anew. Asked by one call at a time. */
export interface RegisterFeed {
  /**
   * At most `limit` entries that were not given yet, and maybe some that were. `more` says that there are others to be
   * had at once; without it, everything that was put in this region before the call began has been given. What a call
   * that failed would have given is given by a later one.
   */
  next(limit: number): Promise<{ readonly entries: readonly RegisterEntry[]; readonly more: boolean }>;
}
