// Port: the public register that every region reads: parties, keys, mandates, certificates, AI policies, custody,
// blocks. The business actor is the truth; this is its projection. Passes storage/register-store.conformance.ts.
//   G1. An entry is replaced only by one with a higher `change`, so a repeated or late write undoes nothing.
//   G2. A write that returned survives the loss of the process.

export const registerTables = ["party", "key", "mandate", "certificate", "policy", "custody"] as const;
export type RegisterTable = (typeof registerTables)[number];

export interface RegisterEntry {
  readonly table: RegisterTable;
  /** What entries are listed by: the party's uuid. */
  readonly partition: string;
  /** Unique in the table: uuid, key_id, mandate_id, cert_id, `<uuid>/<version>`, statement_id. */
  readonly key: string;
  /** Raised with every change of the party (G1). */
  readonly change: number;
  /** JSON text. */
  readonly body: string;
}

export interface RegisterStore {
  put(entries: readonly RegisterEntry[]): Promise<void>;
  get(table: RegisterTable, key: string): Promise<RegisterEntry | null>;
  /** All entries of a party in one table, ascending by key. */
  list(table: RegisterTable, partition: string): Promise<readonly RegisterEntry[]>;
  /** Every entry written after `cursor` (opaque; empty for the start), oldest first, at most `limit`. Caches follow it. */
  changes(cursor: string, limit: number): Promise<{ entries: readonly RegisterEntry[]; cursor: string }>;
}
