// Which published version of a record somebody asks about who knows its bytes and, perhaps, when they were served. The
// same bytes may have been published many times, each time as another version.

import type { JsonValue } from "../protocol/canonical-json.ts";
import { parseEnvelope } from "../protocol/dsse.ts";
import { openSidecar, type Sidecar } from "../protocol/sidecar.ts";
import type { RecordHead, RecordStore, VersionDate } from "../storage/record-store.ts";

export interface PublishedVersion extends VersionDate {
  /** The record's head when the version was looked for. */
  readonly head: RecordHead;
  readonly sidecar: Sidecar;
  /** From when on it was not served any more: null while it is, and where that is not known. */
  readonly endedAtMs: number | null;
  /** Whether it is the one that is served now. */
  readonly isServed: boolean;
}

export interface VersionQuestion {
  readonly recordId: string;
  readonly hash: string;
  /** Unix milliseconds; null where nobody says when it was served. */
  readonly servedAtMs: number | null;
}

type Records = Pick<RecordStore, "readHead" | "listVersions" | "readPublished">;

/** Versions that are looked at together. */
const perRead = 200;

/**
 * The version with these bytes that was the newest at that time; where none was then, or no time is given, the newest with
 * these bytes. Null when there is none.
 */
export async function findPublished(
  records: Records,
  question: VersionQuestion,
): Promise<PublishedVersion | null> {
  const head = await records.readHead(question.recordId);
  if (head === null) return null;
  // A version is stored before the head moves to it.
  const found = await findDated(records, question, head.generation + 1);
  if (found === null) return null;
  const { version, next } = found;
  const sidecar = await readSidecar(records, question.recordId, version);
  const isServed = next === null && head.live;
  const endedAtMs =
    next !== null && isReplacedBy(sidecar, await readSidecar(records, question.recordId, next))
      ? next.published_at_ms
      : null;
  return { ...version, head, sidecar, endedAtMs, isServed };
}

interface Found {
  readonly version: VersionDate;
  /** The version after it; null for the newest. */
  readonly next: VersionDate | null;
}

async function findDated(
  records: Records,
  { recordId, hash, servedAtMs }: VersionQuestion,
  belowGeneration: number,
): Promise<Found | null> {
  let newest: Found | null = null;
  let next: VersionDate | null = null;
  for (let below = belowGeneration; ; ) {
    const page: readonly VersionDate[] = await records.listVersions(recordId, below, perRead);
    for (const version of page) {
      const wasPublished = servedAtMs === null || version.published_at_ms <= servedAtMs;
      if (version.hash === hash) {
        if (wasPublished && (next === null || servedAtMs === null || servedAtMs < next.published_at_ms))
          return { version, next };
        newest ??= { version, next };
      }
      // Whatever is older had ended by then.
      if (wasPublished && newest !== null) return newest;
      next = version;
    }
    if (page.length < perRead || next === null) return newest;
    below = next.generation;
  }
}

async function readSidecar(
  records: Records,
  recordId: string,
  { generation, hash }: VersionDate,
): Promise<Sidecar> {
  const stored = await records.readPublished({ record_id: recordId, generation, hash });
  const envelope = parseEnvelope(JSON.parse(stored?.sidecar ?? "null") as JsonValue);
  const sidecar = envelope.ok ? openSidecar(envelope.value) : envelope;
  if (!sidecar.ok) throw new Error(`Version ${generation} of ${recordId} has no sidecar.`);
  return sidecar.value;
}

/** Whether nothing happened to the record between two versions: had it been withdrawn, a change number would be its own. */
function isReplacedBy(earlier: Sidecar, later: Sidecar): boolean {
  return later.change === earlier.change + 1;
}
