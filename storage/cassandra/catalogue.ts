// The heads of all records, by business and bucket: the source from which an index is built. It is a projection of the
// heads in `record`, written along with each of them; if a write fails in between, its caller repeats it.
//   K1. A cursor names the last head of its page: `<business_uuid> <bucket> <record_id>`. It therefore survives the
//       process.
//   K2. All heads come in the order of the partitions' tokens. Two partitions with the same token (64 bits of a hash of a
//       random uuid) are not distinguished.

import { type CollectionName, recordIdPrefix } from "../../protocol/identifiers.ts";
import type { HeadPage, RecordHead } from "../record-store.ts";
import { bucketOf } from "./buckets.ts";
import { numberOf, textOf } from "./columns.ts";
import { headOf, headText } from "./heads.ts";
import { type CassandraSession, type CqlRow, executeAll, type Statement } from "./session.ts";
import { stampOfChange } from "./write-timestamps.ts";

/**
 * Partitions per business: with a million records, each has about 60,000 rows, 15 MB. Changing the number loses what is
 * listed.
 */
const buckets = 16;
/** Number of heads in one write. */
const headsPerWrite = 100;

const columns = "SELECT business_uuid, bucket, record_id, head FROM record_catalogue";
const cql = {
  put: "INSERT INTO record_catalogue (business_uuid, bucket, record_id, head) VALUES (?, ?, ?, ?) USING TIMESTAMP ?",
  first: `${columns} LIMIT ?`,
  rest: `${columns} WHERE business_uuid = ? AND bucket = ? AND record_id > ? LIMIT ?`,
  ofType: `${columns} WHERE business_uuid = ? AND bucket = ? AND record_id > ? AND record_id < ? LIMIT ?`,
  further: `${columns} WHERE token(business_uuid, bucket) > token(?, ?) LIMIT ?`,
} as const;

const plain = { idempotent: true } as const;

interface Place {
  readonly businessUuid: string;
  readonly bucket: number;
  readonly recordId: string;
}

/** Groups heads into writes of one partition each. */
export function catalogueWrites(heads: readonly RecordHead[]): readonly (readonly Statement[])[] {
  const partitions = new Map<string, Statement[][]>();
  for (const head of heads) {
    const bucket = bucketOf(head.record_id, buckets);
    const params = [head.business_uuid, bucket, head.record_id, headText(head), stampOfChange(head.change)];
    const name = `${head.business_uuid} ${bucket}`;
    const writes = partitions.get(name) ?? [];
    partitions.set(name, writes);
    const last = writes.at(-1);
    if (last === undefined || last.length >= headsPerWrite) writes.push([{ cql: cql.put, params }]);
    else last.push({ cql: cql.put, params });
  }
  return [...partitions.values()].flat();
}

/** Lists all heads, see K2. */
export async function readHeads(
  session: CassandraSession,
  cursor: string | null,
  limit: number,
): Promise<HeadPage> {
  if (cursor === null) return pageOf(await read(session, cql.first, [limit]), limit);
  const { businessUuid, bucket, recordId } = parseCursor(cursor);
  const rows = [...(await read(session, cql.rest, [businessUuid, bucket, recordId, limit]))];
  const missing = limit - rows.length;
  if (missing > 0) rows.push(...(await read(session, cql.further, [businessUuid, bucket, missing])));
  return pageOf(rows, limit);
}

/** Lists the heads of a business, bucket by bucket; those of one type have record ids in one range. */
export async function readCatalogue(
  session: CassandraSession,
  {
    businessUuid,
    cursor,
    limit,
    type,
  }: {
    readonly businessUuid: string;
    readonly cursor: string | null;
    readonly limit: number;
    readonly type: CollectionName | null;
  },
): Promise<HeadPage> {
  const first = type === null ? "" : recordIdPrefix(type);
  const place = cursor === null ? { businessUuid, bucket: 0, recordId: first } : parseCursor(cursor);
  if (place.businessUuid !== businessUuid || !place.recordId.startsWith(first))
    throw new RangeError("a cursor of another catalogue");
  const rows: CqlRow[] = [];
  for (let bucket = place.bucket; bucket < buckets && rows.length < limit; bucket += 1) {
    const after = bucket === place.bucket ? place.recordId : first;
    const missing = limit - rows.length;
    // No character of a record id sorts after a tilde.
    const params = type === null ? [missing] : [`${first}~`, missing];
    const text = type === null ? cql.rest : cql.ofType;
    rows.push(...(await read(session, text, [businessUuid, bucket, after, ...params])));
  }
  return pageOf(rows, limit);
}

async function read(
  session: CassandraSession,
  text: string,
  params: readonly (string | number)[],
): Promise<readonly CqlRow[]> {
  return await executeAll(session, text, params, plain);
}

function pageOf(rows: readonly CqlRow[], limit: number): HeadPage {
  const heads = rows.map((row) => headOf(textOf(row["record_id"]), textOf(row["head"])));
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return { heads, cursor: null };
  const place = [textOf(last["business_uuid"]), numberOf(last["bucket"]), textOf(last["record_id"])];
  return { heads, cursor: place.join(" ") };
}

function parseCursor(cursor: string): Place {
  const [, businessUuid, bucket, recordId] = /^(\S+) (\d{1,3}) (\S+)$/.exec(cursor) ?? [];
  if (businessUuid === undefined || recordId === undefined)
    throw new RangeError("not a cursor of this store");
  return { businessUuid, bucket: Number(bucket), recordId };
}
