// What is removed from some tables must not remain in the file: who asked for what.

import type { DatabaseSync } from "node:sqlite";

/**
 * Runs `work`, within its transaction, so that SQLite overwrites what is freed with zeros: what it removes, and also what it
 * moves to another page when it writes. Small rows that are to disappear must therefore be written in this way as well:
 * otherwise copies of them stay in the unused parts of pages.
 */
export function overwritingFreed<T>(db: DatabaseSync, work: () => T): T {
  db.exec("PRAGMA secure_delete = ON");
  try {
    return work();
  } finally {
    db.exec("PRAGMA secure_delete = FAST");
  }
}
