// Tables of the records in SQLite. Record ids are spread evenly, so every tree that is keyed by them has about one page
// written for each record published. There is only one such tree: a record gets a number with its first head or version,
// and everything else is keyed by that number.

/** Number of a record's first versions that are scanned for given bytes; later ones are found by an index. */
export const lookedThroughMax = 200;

/** Migration steps of the tables, for {@link SqliteDatabase.migrate}. */
export const recordMigrations: readonly string[] = [
  `CREATE TABLE record_head (
     record_id TEXT PRIMARY KEY, business_uuid TEXT NOT NULL, type TEXT NOT NULL, live INTEGER NOT NULL,
     generation INTEGER NOT NULL, change INTEGER NOT NULL, hash TEXT NOT NULL) WITHOUT ROWID;
   CREATE TABLE record_version (
     record_id TEXT NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL, seal_id TEXT NOT NULL,
     leaf_index INTEGER, cert_id TEXT NOT NULL, published_at INTEGER NOT NULL, proof BLOB NOT NULL,
     bytes BLOB NOT NULL, sidecar TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (record_id, generation));
   CREATE TABLE record_seal (seal_id TEXT PRIMARY KEY, envelope TEXT NOT NULL, tree_size INTEGER);
   CREATE TABLE staged_leaf (
     push_id TEXT NOT NULL, leaf INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (push_id, leaf));
   CREATE TABLE staged_document (
     push_id TEXT NOT NULL, name TEXT NOT NULL, body TEXT NOT NULL, PRIMARY KEY (push_id, name));`,
  "CREATE INDEX record_head_by_business ON record_head (business_uuid, record_id);",
  `CREATE TABLE numbered_head (
     no INTEGER PRIMARY KEY, record_id TEXT NOT NULL UNIQUE, business_uuid TEXT NOT NULL, type TEXT NOT NULL,
     live INTEGER NOT NULL, generation INTEGER NOT NULL, change INTEGER NOT NULL, hash TEXT NOT NULL);
   INSERT INTO numbered_head (record_id, business_uuid, type, live, generation, change, hash)
     SELECT record_id, business_uuid, type, live, generation, change, hash FROM record_head;
   CREATE TABLE numbered_version (
     record_no INTEGER NOT NULL, generation INTEGER NOT NULL, hash TEXT NOT NULL, seal_id TEXT NOT NULL,
     leaf_index INTEGER, cert_id TEXT NOT NULL, published_at INTEGER NOT NULL, proof BLOB NOT NULL,
     bytes BLOB NOT NULL, sidecar TEXT NOT NULL, row TEXT NOT NULL, PRIMARY KEY (record_no, generation));
   INSERT INTO numbered_version
     SELECT h.no, v.generation, v.hash, v.seal_id, v.leaf_index, v.cert_id, v.published_at, v.proof, v.bytes, v.sidecar,
       v.row FROM record_version v JOIN numbered_head h USING (record_id);
   DROP TABLE record_version;
   DROP TABLE record_head;
   ALTER TABLE numbered_version RENAME TO record_version;
   ALTER TABLE numbered_head RENAME TO record_head;
   CREATE INDEX record_head_by_business ON record_head (business_uuid);`,
  `CREATE TABLE staged_push (push_id TEXT PRIMARY KEY, staged_at INTEGER NOT NULL) WITHOUT ROWID;
   INSERT INTO staged_push
     SELECT push_id, 0 FROM (SELECT push_id FROM staged_leaf UNION SELECT push_id FROM staged_document);`,
  // The first versions of a record are scanned one by one; few records have more, so publishing seldom writes to this
  // index.
  `CREATE INDEX record_version_by_hash ON record_version (record_no, hash, generation)
     WHERE generation > ${lookedThroughMax};`,
  // A catalogue is read type by type, each in the order of the numbers.
  `DROP INDEX record_head_by_business;
   CREATE INDEX record_head_by_type ON record_head (business_uuid, type);`,
];
