// Tables of the records in SQLite. Record ids are spread evenly, so every tree that is keyed by them has about one page
// written for each record published. There is only one such tree: a record gets a number with its first head or version,
// and everything else is keyed by that number.

/** Number of a record's first versions that are scanned for given bytes; later ones are found by an index. */
export const lookedThroughMax = 200;

/**
 * Migration steps of the tables, for {@link SqliteDatabase.migrate}. The first versions of a record are scanned one by one; few
 * records have more, so publishing seldom writes to the index by hash. A catalogue is read type by type, each in the order of
 * the numbers.
 */
export const recordMigrations: readonly string[] = [
  `CREATE TABLE record_head (
     no INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, business_uuid TEXT NOT NULL, type TEXT NOT NULL,
     live INTEGER NOT NULL, generation INTEGER NOT NULL, change INTEGER NOT NULL, hash TEXT NOT NULL);
   CREATE TABLE record_version (
     record_no INTEGER NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL, seal_id TEXT NOT NULL,
     leaf_index INTEGER, cert_id TEXT NOT NULL, published_at INTEGER NOT NULL, proof BLOB NOT NULL,
     bytes BLOB NOT NULL, sidecar TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (record_no, generation));
   CREATE TABLE record_seal (seal_id TEXT PRIMARY KEY, envelope TEXT NOT NULL, tree_size INTEGER);
   CREATE TABLE staged_leaf (
     push_id TEXT NOT NULL, leaf INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (push_id, leaf));
   CREATE TABLE staged_document (
     push_id TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (push_id, name));
   CREATE TABLE staged_push (push_id TEXT PRIMARY KEY, staged_at INTEGER NOT NULL) WITHOUT ROWID;
   CREATE INDEX record_version_by_hash ON record_version (record_no, hash, generation)
     WHERE generation > ${lookedThroughMax};
   CREATE INDEX record_head_by_type ON record_head (business_uuid, type);`,
];
