// The fence ledger in Cassandra: the port's obligations L1–L4.
//   N1. A region's ledger is one partition, agreed on in that region's data centre, and written by conditional writes
//       only.
//   N2. An incarnation is removed and added to the earlier ones in one batch, on the condition that neither has changed.

import {
  earlier,
  type FenceLedger,
  type FenceRefusals,
  leastRecent,
  StoreError,
  withEarlier,
} from "../fence-ledger.ts";
import { type CassandraSession, type CqlRow, executeAll, type Statement } from "./session.ts";

/** Losing an attempt means that another node of the region noted something. */
const attemptsMax = 32;

const cql = {
  put: "UPDATE fence_refusal SET refusals = ?, last_at = ? WHERE region = ? AND incarnation = ? IF refusals = ?",
  remove: "DELETE FROM fence_refusal WHERE region = ? AND incarnation = ? IF refusals = ?",
  read: "SELECT region, incarnation, refusals, last_at FROM fence_refusal WHERE region = ?",
} as const;

export const fenceTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS fence_refusal (
     region text, incarnation text, refusals bigint, last_at bigint, PRIMARY KEY (region, incarnation))
   WITH compaction = {'class': 'UnifiedCompactionStrategy'}`,
];

/** `regions` are all regions that are read. The session's data centre is the region that notes. */
export function openCassandraFenceLedger(session: CassandraSession, regions: readonly string[]): FenceLedger {
  const read = async (region: string, consistency: "LOCAL_SERIAL" | "LOCAL_QUORUM") =>
    (await executeAll(session, cql.read, [region], { consistency, idempotent: true })).map(refusalsOf);
  return {
    note: async (refusals) => {
      const { region } = refusals;
      if (region !== session.localDc) throw new Error(`${session.localDc} may not write data of ${region}`);
      for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
        if (await advance(session, await read(region, "LOCAL_SERIAL"), refusals)) return;
      }
      throw new StoreError("unknown", `the refusals of ${region} changed under every attempt`);
    },
    read: async () => (await Promise.all(regions.map((region) => read(region, "LOCAL_QUORUM")))).flat(),
  };
}

/** One step from the stored state; true when `refusals` is noted, false when the state must be read again. */
async function advance(
  session: CassandraSession,
  kept: readonly FenceRefusals[],
  refusals: FenceRefusals,
): Promise<boolean> {
  const find = (name: string) => kept.find(({ incarnation }) => incarnation === name);
  const known = find(refusals.incarnation);
  if (known !== undefined && known.refusals >= refusals.refusals) return true;
  const folded = known === undefined ? leastRecent(kept) : null;
  if (folded === null) return conditionally(session, [put(refusals, known)]);
  const { region, incarnation } = folded;
  const sum = put(withEarlier(find(earlier), folded), find(earlier));
  await conditionally(session, [sum, { cql: cql.remove, params: [region, incarnation, folded.refusals] }]);
  return false;
}

function put(next: FenceRefusals, known: FenceRefusals | undefined): Statement {
  const { region, incarnation, refusals, last_at_ms } = next;
  return { cql: cql.put, params: [refusals, last_at_ms, region, incarnation, known?.refusals ?? null] };
}

/** Whether the batch was applied; an unknown outcome counts as not applied, because the next step reads again (L1). */
async function conditionally(session: CassandraSession, batch: readonly Statement[]): Promise<boolean> {
  try {
    return (await session.batch(batch, { idempotent: false })).applied;
  } catch (error) {
    if (error instanceof StoreError && error.effect === "unknown") return false;
    throw error;
  }
}

function refusalsOf(row: CqlRow): FenceRefusals {
  return {
    region: String(row["region"]),
    incarnation: String(row["incarnation"]),
    refusals: Number(row["refusals"]),
    last_at_ms: Number(row["last_at"]),
  };
}
