// Tables of records, receipts and the public register. How each column is stamped is described in write-timestamps.ts.

const compaction = "compaction = {'class': 'UnifiedCompactionStrategy'}";

/** Records, what is staged for pushes, and the catalogue. */
const records: readonly string[] = [
  // One partition per record: its head, in one static cell (W1), and its versions, newest first (W2). So a version and the
  // head that moves to it are one write, and what is served takes one read. Bytes that are published again are stored
  // again: finding them elsewhere would cost every fetch a second read.
  `CREATE TABLE IF NOT EXISTS record (
     record_id text, generation bigint, hash text, head text static,
     bytes blob, seal_id text, leaf_index int, proof blob, sidecar text, row text, cert_id text, published_at bigint,
     PRIMARY KEY (record_id, generation, hash))
   WITH CLUSTERING ORDER BY (generation DESC, hash ASC) AND ${compaction}`,
  `CREATE TABLE IF NOT EXISTS record_seal (seal_id text PRIMARY KEY, envelope text, tree_size int) WITH ${compaction}`,
  // A second copy of the heads, by business and bucket of the record id (W1): the source from which an index is built.
  `CREATE TABLE IF NOT EXISTS record_catalogue (
     business_uuid text, bucket smallint, record_id text, head text,
     PRIMARY KEY ((business_uuid, bucket), record_id)) WITH ${compaction}`,
  // What is staged of a push; its size is bounded by what one request may carry.
  // A row has as many leaves as its key says, from `first` on.
  `CREATE TABLE IF NOT EXISTS staged_leaves (
     push_id text, first int, leaves int, ends blob, bytes blob,
     PRIMARY KEY (push_id, first, leaves)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS staged_document (
     push_id text, name text, body text, PRIMARY KEY (push_id, name)) WITH ${compaction}`,
  // The pushes that have anything staged, by slots of five minutes, with the stamp of the newest of it, and the place of each push.
  // A row of a slot is struck out, never deleted; one that reappears with its slot goes with it again (staged-list.ts).
  `CREATE TABLE IF NOT EXISTS staged_push (
     region text, slot bigint, push_id text, stamp bigint, dropped bigint,
     PRIMARY KEY ((region, slot), push_id)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS staged_of_push (
     push_id text PRIMARY KEY, region text, slot bigint, stamp bigint) WITH ${compaction}`,
  "CREATE TABLE IF NOT EXISTS staged_floor (list text, region text, slot bigint, PRIMARY KEY (list, region))",
];

/** Receipts and their batches. */
const receipts: readonly string[] = [
  // A batch is what one node served in one minute, spread over shards (W2); "batch" is quoted because it is a CQL keyword.
  `CREATE TABLE IF NOT EXISTS receipt (
     region text, name text, shard smallint, retrieval_id text,
     company text, key_id text, nonce text, billable boolean, served_at bigint, envelope text, event text,
     PRIMARY KEY ((region, name, shard), retrieval_id)) WITH ${compaction}`,
  // Batches that are not closed, by hour (`YYYYMMDDHH`), and the hours that may contain any. Tombstones stay few: a
  // partition is abandoned with its hour.
  `CREATE TABLE IF NOT EXISTS receipt_open (
     region text, hour text, name text, PRIMARY KEY ((region, hour), name)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS receipt_hour (region text, hour text, PRIMARY KEY (region, hour)) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS receipt_closed (
     region text, hour text, name text, root text, tree_size bigint, closed_at bigint, forgotten_at bigint,
     PRIMARY KEY ((region, hour), name)) WITH ${compaction}`,
  // The hour before which nothing is left to forget.
  `CREATE TABLE IF NOT EXISTS receipt_forgotten (region text PRIMARY KEY, hour text) WITH ${compaction}`,
];

/** References in the feed are read for four hours; after that they only take up space. */
const feedSeconds = 86_400;

/** The public register. */
const register: readonly string[] = [
  // The entries, and the same entries by party (W1).
  `CREATE TABLE IF NOT EXISTS register_entry (
     tbl text, key text, party text, change bigint, body text, PRIMARY KEY ((tbl, key))) WITH ${compaction}`,
  `CREATE TABLE IF NOT EXISTS register_of_party (
     tbl text, party text, key text, change bigint, body text, PRIMARY KEY ((tbl, party), key)) WITH ${compaction}`,
  // The entries that changed, by the writer's time: references without contents.
  `CREATE TABLE IF NOT EXISTS register_feed (
     slot bigint, at bigint, tbl text, key text, change bigint, party text,
     PRIMARY KEY ((slot), at, tbl, key, change))
   WITH default_time_to_live = ${feedSeconds} AND gc_grace_seconds = 10800 AND ${compaction}`,
  // The party to which a key belongs: written once, agreed on between all regions, never changed (key-owners.ts).
  `CREATE TABLE IF NOT EXISTS key_owner (key_id text PRIMARY KEY, party text) WITH ${compaction}`,
];

/** Statements that create the tables, each to be run separately; repeating them changes nothing. */
export const recordTables: readonly string[] = [...records, ...receipts, ...register];
