// What is removed must not remain in the file: the bytes of purged records, and who asked for what.

import type { DatabaseSync } from "node:sqlite";

/**
 * What every connection overwrites with zeros: what it frees within pages that it writes anyway. Free pages are left to those who ask
 * for more.
 */
export const overwriteInPages = "PRAGMA secure_delete = FAST";

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
    db.exec(overwriteInPages);
  }
}
