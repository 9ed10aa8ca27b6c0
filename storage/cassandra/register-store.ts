// The public register in Cassandra: the port's obligations G1–G6, at LOCAL_QUORUM in the region's data centre.
//   E1. An entry is written first, then a reference to it into the feed, so in its own region a reference leads to an
//       existing entry. Other regions receive the rows one by one, in any order and possibly late: see register-feed.ts.
//   E2. `put` waits until every region has the entry at quorum. Where a region cannot be reached and `EACH_QUORUM` has
//       failed, it settles for its own region, reports that, and does not try again for a while: a region that is cut off
//       must not stop the others.
//   E3. This determines how long a revocation takes. The actor that owns the entry refuses at once, whatever the register says. A
//       node of a region refuses at most `freshMs` (service/register.ts, 5 s) after the region's data centre has the
//       entry; and if `put` returned without reporting a region as behind, all of them have it. A region that is behind
//       gets the entry when its link or its replicas are back and the other regions' hints have been replayed, or else
//       after a repair; until then it cannot know, and continues with what it has. From then on it takes the feed's far
//       round (half a minute) if the reference arrived as well, and otherwise its pass; for a key, party or list that the
//       node is using it takes `keptMs` (60 s) at most, whatever arrived.
//   E4. An entry of another party is left unchanged: `put` reads first (G6). Two concurrent puts are not told apart, which
//       is why a key is claimed beforehand (key-owners.ts).

import { Semaphore } from "../../std/semaphore.ts";
import {
  type RegisterEntry,
  type RegisterFeed,
  type RegisterStore,
  registerTables,
} from "../register-store.ts";
import { claimKey } from "./key-owners.ts";
import { createRegisterFeed, slotOf } from "./register-feed.ts";
import { entryColumns, entryOf, readEntry } from "./register-rows.ts";
import { type CassandraSession, executeAll, type Statement } from "./session.ts";
import { stampOfChange } from "./write-timestamps.ts";

/** Maximum statements of this store under way at once. */
const writeLanes = 64;
/** How long after a failure, or after an attempt that followed one, `put` does not wait for other regions (E2). */
const behindForMs = 10_000;

const cql = {
  entry: `INSERT INTO register_entry (${entryColumns}) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  ofParty: `INSERT INTO register_of_party (${entryColumns}) VALUES (?, ?, ?, ?, ?) USING TIMESTAMP ?`,
  reference: "INSERT INTO register_feed (slot, at, tbl, key, change, party) VALUES (?, ?, ?, ?, ?, ?)",
  list: `SELECT ${entryColumns} FROM register_of_party WHERE tbl = ? AND party = ?`,
} as const;

const plain = { idempotent: true } as const;

export interface CassandraRegisterOptions {
  /** Returns Unix milliseconds; the platform's clock by default. */
  readonly now?: () => number;
  /** Called whenever entries were put that another region may lack for now (E2). */
  readonly onBehind?: (entries: number, reason: unknown) => void;
}

/** The tables of record-tables.ts must exist. */
export function openCassandraRegisterStore(
  session: CassandraSession,
  options: CassandraRegisterOptions = {},
): RegisterStore {
  const now = options.now ?? Date.now;
  const lanes = new Semaphore(writeLanes);
  const everywhere = everywhereWriter(session, now);
  return {
    claimKey: (keyId, partyUuid) => claimKey(session, keyId, partyUuid),
    put: async (given) => {
      const entries = await ownEntries(session, lanes, given);
      const writes = entries.flatMap(entryWrites);
      const written = await lanes.all(writes.map((each) => () => everywhere(each)));
      const at = now();
      const references = entries.map((entry) => referenceWrite(entry, at));
      const told = await lanes.all(references.map((each) => () => everywhere(each)));
      const behind = [...written, ...told].find((each) => each !== null);
      if (behind) options.onBehind?.(entries.length, behind.reason);
    },
    get: (table, key) => readEntry(session, table, key),
    list: async (table, partition) =>
      (await executeAll(session, cql.list, [table, partition], plain)).map(entryOf),
    follow: (): RegisterFeed => createRegisterFeed(session, now),
  };
}

/** The entries whose key no other party has (E4). */
async function ownEntries(
  session: CassandraSession,
  lanes: Semaphore,
  given: readonly RegisterEntry[],
): Promise<readonly RegisterEntry[]> {
  const known = await lanes.all(
    given.map(
      ({ table, key }) =>
        () =>
          readEntry(session, table, key),
    ),
  );
  return given.filter(({ partition }, index) => (known[index]?.partition ?? partition) === partition);
}

function entryWrites({ table, key, partition, change, body }: RegisterEntry): readonly Statement[] {
  if (!registerTables.includes(table)) throw new RangeError("a register entry is of no known table");
  const params = [table, key, partition, change, body, stampOfChange(change)];
  return [
    { cql: cql.entry, params },
    { cql: cql.ofParty, params },
  ];
}

function referenceWrite({ table, key, partition, change }: RegisterEntry, atMs: number): Statement {
  return { cql: cql.reference, params: [slotOf(atMs), atMs, table, key, change, partition] };
}

interface Behind {
  readonly reason: unknown;
}

/** See E2; resolves to null once all regions have the write. Throws what the own region throws. */
function everywhereWriter(
  session: CassandraSession,
  now: () => number,
): (statement: Statement) => Promise<Behind | null> {
  let failed: Behind | null = null;
  let triedAgainAtMs = 0;
  return async ({ cql: text, params }) => {
    const isTried = failed === null || now() >= triedAgainAtMs;
    if (isTried) {
      // Concurrent callers do not wait for this attempt's answer if the last attempt failed.
      triedAgainAtMs = now() + behindForMs;
      try {
        await session.execute(text, params, { ...plain, consistency: "EACH_QUORUM" });
        failed = null;
        return null;
      } catch (reason) {
        failed = { reason };
        triedAgainAtMs = now() + behindForMs;
      }
    }
    const behind = failed;
    await session.execute(text, params, plain);
    return behind;
  };
}
