// Maps each key to its party, in Cassandra: obligation G5 of the register's port.
//   O1. A claim is agreed on by a majority of all replicas, so only one party gets a key, whichever regions are asked.
//   O2. A row is never changed or deleted. So a row that is readable anywhere is final, and no other region is asked.
//   O3. When the outcome of a claim is unknown, the row is read together with any write under way; if there is no row, the
//       key is claimed again, which is the same claim.
//   O4. A key that is in the register but has no claim belongs to the party that the register names: its claim was lost
//       with a region. All regions are asked for it while they can be reached.

import { StoreError } from "../actor-store.ts";
import { textOf } from "./columns.ts";
import { readEntry } from "./register-rows.ts";
import type { CassandraSession, Consistency, CqlRow } from "./session.ts";

/** Maximum claims in one call; another follows only when the outcome of the last was unknown. */
const claimsMax = 3;

const cql = {
  owner: "SELECT party FROM key_owner WHERE key_id = ?",
  claim: "INSERT INTO key_owner (key_id, party) VALUES (?, ?) IF NOT EXISTS",
} as const;

/** The table of record-tables.ts must exist. */
export async function claimKey(session: CassandraSession, keyId: string, party: string): Promise<string> {
  const known = await readOwner(session, keyId, "LOCAL_QUORUM");
  if (known !== null) return known;
  const claimant = (await registeredTo(session, keyId)) ?? party;
  for (let claims = 1; ; claims += 1) {
    try {
      const options = { consistency: "LOCAL_QUORUM", serial: "SERIAL", idempotent: false } as const;
      const { applied, rows } = await session.execute(cql.claim, [keyId, claimant], options);
      return applied ? claimant : partyIn(rows[0]);
    } catch (error) {
      const isUnknown = error instanceof StoreError && error.effect === "unknown";
      if (!isUnknown) throw error;
      const settled = await readOwner(session, keyId, "SERIAL");
      if (settled !== null) return settled;
      if (claims === claimsMax) throw error;
    }
  }
}

async function readOwner(
  session: CassandraSession,
  keyId: string,
  consistency: Consistency,
): Promise<string | null> {
  const { rows } = await session.execute(cql.owner, [keyId], { consistency, idempotent: true });
  return rows[0] === undefined ? null : partyIn(rows[0]);
}

async function registeredTo(session: CassandraSession, keyId: string): Promise<string | null> {
  const read = (consistency: Consistency) => readEntry(session, "key", keyId, consistency);
  const entry = await read("EACH_QUORUM").catch(() => read("QUORUM"));
  return entry === null ? null : entry.partition;
}

function partyIn(row: CqlRow | undefined): string {
  return textOf(row?.["party"]);
}
