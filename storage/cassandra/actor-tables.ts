// Tables of the actor store. The partition of `actor` is the source of truth; the others are hints and lists that lead to
// it.
//
// `actor`: one partition per actor. Its head is stored in static columns; row (0, 0, '') is written with the first claim
// and never deleted: a conditional write reads the first live row, and thanks to this row it never meets a tombstone.
// gc_grace is one day: run repairs more often than that.

export const actorTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS actor (
     kind text, id text, rt tinyint, k bigint, k2 text,
     epoch bigint static, owner text static, claim uuid static, head bigint static, op uuid static,
     snap_seq bigint static, snap blob static, schema_v int static,
     wake_at bigint static, outbox_low bigint static, home text static, moved_from text static,
     body blob,
     PRIMARY KEY ((kind, id), rt, k, k2))
   WITH gc_grace_seconds = 86400 AND compaction = {'class': 'UnifiedCompactionStrategy'}`,
  // Hints: «look at this actor then». A slot is ten seconds; floor is the first slot that may contain any.
  `CREATE TABLE IF NOT EXISTS actor_wake (
     region text, slot bigint, wake_at bigint, kind text, id text, hinted_at bigint,
     PRIMARY KEY ((region, slot), wake_at, kind, id))
   WITH gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}`,
  "CREATE TABLE IF NOT EXISTS actor_wake_floor (region text PRIMARY KEY, slot bigint)",
  // The directory of actors: by kind for operators, by party for a move to another region.
  `CREATE TABLE IF NOT EXISTS actor_name (kind text, bucket tinyint, id text, PRIMARY KEY ((kind, bucket), id))`,
  "CREATE TABLE IF NOT EXISTS actor_of_party (party text, kind text, id text, PRIMARY KEY (party, kind, id))",
];
