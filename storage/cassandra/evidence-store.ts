// Evidence in Cassandra: the port's obligations EV1–EV4.
//   EC1. A row names each file of an application, before anything else of it is written and until all of that is gone: so `forget`
//        finds what a process that died left. It says how many bytes there are; a file whose bytes are fewer is still on its way here.
//   EC2. What an owner's files take up is the sum of one partition, read before a file is written.
//   EC3. All rows expire on their own (EV4).

import { concatBytes } from "../../protocol/bytes.ts";
import { Semaphore } from "../../std/semaphore.ts";
import {
  assertEvidence,
  countedBytes,
  countedFor,
  type EvidenceName,
  type EvidenceStore,
  type EvidenceStoreOptions,
  evidenceKeptMs,
  StoreError,
} from "../evidence-store.ts";
import { bytesOf, numberOf, textOf } from "./columns.ts";
import { type CassandraSession, executeAll, type StatementOptions } from "./session.ts";

const options = "gc_grace_seconds = 10800 AND compaction = {'class': 'UnifiedCompactionStrategy'}";

export const evidenceTables: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS evidence (
     application text, file text, size int, owners list<text>, PRIMARY KEY ((application), file)) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS evidence_room (
     owner text, application text, file text, counted bigint, PRIMARY KEY ((owner), application, file)) WITH ${options}`,
  `CREATE TABLE IF NOT EXISTS evidence_bytes (
     application text, file text, part int, bytes blob, PRIMARY KEY ((application, file), part)) WITH ${options}`,
];

const ttl = `USING TTL ${Math.ceil(evidenceKeptMs / 1_000)}`;
const cql = {
  sum: "SELECT sum(counted) AS taken FROM evidence_room WHERE owner = ?",
  put: `INSERT INTO evidence (application, file, size, owners) VALUES (?, ?, ?, ?) ${ttl}`,
  take: `INSERT INTO evidence_room (owner, application, file, counted) VALUES (?, ?, ?, ?) ${ttl}`,
  add: `INSERT INTO evidence_bytes (application, file, part, bytes) VALUES (?, ?, ?, ?) ${ttl}`,
  file: "SELECT size FROM evidence WHERE application = ? AND file = ?",
  parts: "SELECT bytes FROM evidence_bytes WHERE application = ? AND file = ?",
  files: "SELECT file, owners FROM evidence WHERE application = ?",
  dropBytes: "DELETE FROM evidence_bytes WHERE application = ? AND file = ?",
  free: "DELETE FROM evidence_room WHERE owner = ? AND application = ? AND file = ?",
  drop: "DELETE FROM evidence WHERE application = ? AND file = ?",
} as const;

/** Bytes of one row: far below the engine's limits. */
const bytesPerRow = 256 * 1024;
const rowsPerPage = 8;
const lanesMax = 4;
const plain = { idempotent: true } as const;

export interface CassandraEvidenceStoreOptions extends EvidenceStoreOptions {
  /** Acknowledges a write only once other regions have it. */
  readonly replicateBeforeAck?: boolean;
}

export function openCassandraEvidenceStore(
  session: CassandraSession,
  { bounds, replicateBeforeAck = false }: CassandraEvidenceStoreOptions,
): EvidenceStore {
  const write: StatementOptions = replicateBeforeAck ? { ...plain, consistency: "EACH_QUORUM" } : plain;
  const lanes = new Semaphore(lanesMax);
  return {
    put: async (file) => {
      assertEvidence(file);
      const { application, file: id, bytes } = file;
      const [owners, counted] = [countedFor(file, bounds), countedBytes(bytes)];
      for (const [owner, max] of owners) {
        const { rows } = await session.execute(cql.sum, [owner], plain);
        if (numberOf(rows[0]?.["taken"] ?? 0) + counted > max) return "full";
      }
      const names = owners.map(([owner]) => owner);
      await session.execute(cql.put, [application, id, bytes.length, names], write);
      for (const owner of names) await session.execute(cql.take, [owner, application, id, counted], write);
      const parts = Array.from({ length: Math.ceil(bytes.length / bytesPerRow) }, (_, part) => part);
      const partOf = (part: number) => bytes.slice(part * bytesPerRow, (part + 1) * bytesPerRow);
      await lanes.all(
        parts.map((part) => () => session.execute(cql.add, [application, id, part, partOf(part)], write)),
      );
      return "stored";
    },
    read: (name) => read(session, name),
    forget: async ({ application, file }) => {
      for (const row of await executeAll(session, cql.files, [application], plain)) {
        const id = textOf(row["file"]);
        if (file !== null && id !== file) continue;
        await session.execute(cql.dropBytes, [application, id], write);
        for (const owner of ownersIn(row["owners"]))
          await session.execute(cql.free, [owner, application, id], write);
        await session.execute(cql.drop, [application, id], write);
      }
    },
  };
}

function ownersIn(column: unknown): readonly string[] {
  return Array.isArray(column) ? column.map(textOf) : [];
}

async function read(
  session: CassandraSession,
  { application, file }: EvidenceName,
): Promise<Uint8Array | null> {
  const { rows } = await session.execute(cql.file, [application, file], plain);
  const [row] = rows;
  if (row === undefined) return null;
  const found = await executeAll(session, cql.parts, [application, file], {
    ...plain,
    fetchSize: rowsPerPage,
  });
  const bytes = concatBytes(...found.map((each) => bytesOf(each["bytes"])));
  // See EC1.
  if (bytes.length !== numberOf(row["size"]))
    throw new StoreError("not_applied", "the bytes of a file of evidence are not readable here yet");
  return bytes;
}
