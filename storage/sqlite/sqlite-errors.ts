// Translates SQLite failures into the errors of the store ports.

import { StoreError } from "../actor-store.ts";

/** SQLite result codes (sqlite.org/rescode.html), primary part. */
const sqliteBusy = 5;
const sqliteLocked = 6;
const sqliteCorrupt = 11;
const sqliteNotADatabase = 26;

export function storeError(effect: StoreError["effect"], cause: unknown): StoreError {
  return new StoreError(effect, cause instanceof Error ? cause.message : String(cause), { cause });
}

export function isSqliteError(error: unknown): error is Error & { readonly errcode: number } {
  return error instanceof Error && "errcode" in error && typeof error.errcode === "number";
}

/** Whether it says, itself or by its cause, that the bytes of a file are damaged. */
export function isDamage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const primary = isSqliteError(error) ? error.errcode & 0xff : 0;
  return primary === sqliteCorrupt || primary === sqliteNotADatabase || isDamage(error.cause);
}

/** Whether a lock was not granted: nothing was written then. */
export function isLockError(error: unknown): boolean {
  if (!isSqliteError(error)) return false;
  const primary = error.errcode & 0xff;
  return primary === sqliteBusy || primary === sqliteLocked;
}
