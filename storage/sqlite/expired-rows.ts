// Forgets expired rows of actors. Each write of rows that will expire also advances a walk through their table, looking at
// a fixed number of rows for each row written. An index by expiry would give every such row a second place to be written
// and removed, and rows that expire together (one second's nonces) are scattered over both trees: that was half of the
// pages of a claim's commit.
//   E1. Only rows whose expiry has passed are removed.
//   E2. With `seenPerRow` rows looked at for each expiring row written, at most one in `seenPerRow` of all rows is
//       expired.
//   E3. The position is not stored: after a start the walk begins at an actor derived from the start time, so that no part
//       is left out for ever.

import type { StatementSync } from "node:sqlite";
import { numberOf, textOf } from "./columns.ts";
import type { SqliteDatabase } from "./database.ts";

const seenPerRow = 4;
/** Rows looked at in one step: fewer are not worth a statement, more would delay the commit that carries the step. */
const stepRowsMin = 256;
const stepRowsMax = 2_048;

type Place = readonly [actor: number, rt: number, k: number, k2: string];

/** Must be called, within the transaction that writes them, with the number of expiring rows written. */
export type TakeAlong = (rowsWritten: number, nowMs: number) => void;

/** Creates the walk through table `actor_row`. */
export function walkExpired(database: SqliteDatabase, startedAtMs: number): TakeAlong {
  const sql = prepareStatements(database);
  const start: Place = [0, 0, 0, ""];
  const actors = numberOf(sql.lastActor.get()?.["no"]);
  // The position is only a hint where to look: a transaction that is rolled back need not roll it back.
  let place: Place = [startedAtMs % (actors + 1), 0, 0, ""];
  let due = 0;
  return (rowsWritten, nowMs) => {
    due += rowsWritten * seenPerRow;
    if (due < stepRowsMin) return;
    const seen = Math.min(due, stepRowsMax);
    due = 0;
    const end = sql.endOfStep.get(...place, seen - 1);
    if (end === undefined) {
      sql.forgetRest.run(...place, nowMs);
      place = start;
      return;
    }
    const { actor, rt, k, k2 } = end;
    const next: Place = [numberOf(actor), numberOf(rt), numberOf(k), textOf(k2)];
    sql.forget.run(...place, ...next, nowMs);
    place = next;
  };
}

interface Statements {
  readonly lastActor: StatementSync;
  readonly endOfStep: StatementSync;
  readonly forget: StatementSync;
  readonly forgetRest: StatementSync;
}

function prepareStatements(database: SqliteDatabase): Statements {
  const after = "(actor, rt, k, k2) > (?, ?, ?, ?)";
  return {
    lastActor: database.prepare("SELECT ifnull(max(no), 0) AS no FROM actor_head"),
    endOfStep: database.prepare(
      `SELECT actor, rt, k, k2 FROM actor_row WHERE ${after} ORDER BY actor, rt, k, k2 LIMIT 1 OFFSET ?`,
    ),
    forget: database.prepare(
      `DELETE FROM actor_row WHERE ${after} AND (actor, rt, k, k2) <= (?, ?, ?, ?) AND expires_at < ?`,
    ),
    forgetRest: database.prepare(`DELETE FROM actor_row WHERE ${after} AND expires_at < ?`),
  };
}
