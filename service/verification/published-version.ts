// Finds which published version of a record is meant by someone who knows its bytes and, possibly, when they were
// served. The same bytes may have been published many times, each time as another version.

import { openStored } from "../../protocol/dsse.ts";
import { openSidecar } from "../../protocol/signed-version.ts";
import {
  parseRemains,
  type RecordHead,
  type RecordStore,
  type VersionDate,
  type VersionRemains,
} from "../../storage/record-store.ts";

export interface PublishedVersion extends VersionDate {
  /** The record's head when the version was looked for. */
  readonly head: RecordHead;
  /** What its sidecar says of it, or what remains of that after a purge. */
  readonly sidecar: VersionRemains;
  /** Whether its bytes were purged after a deletion. */
  readonly isPurged: boolean;
  /** When it stopped being served: null while it is served, and where that is unknown. */
  readonly endedAtMs: number | null;
  /** Whether it is the version being served now. */
  readonly isServed: boolean;
}

export interface VersionQuestion {
  readonly recordId: string;
  readonly hash: string;
  /** Unix milliseconds; null if the time of serving is not given. */
  readonly servedAtMs: number | null;
}

/** Number of generations that may lack a version: the search for the next version goes that far. */
const gapMax = 200;

/**
 * The version with these bytes that was the newest at that time; if none was, or no time is given, the newest with these
 * bytes. Null when there is none. It takes only a few reads of the store, however many versions there are.
 */
export async function findPublished(
  records: RecordStore,
  question: VersionQuestion,
): Promise<PublishedVersion | null> {
  const { recordId, hash, servedAtMs } = question;
  const head = await records.readHead(recordId);
  if (head === null) return null;
  // A version is stored before the head moves to it.
  const newest = await records.newestWith(recordId, hash, head.generation + 1);
  if (newest === null) return null;
  const isNewestOfAll = newest.generation === head.generation;
  const served =
    servedAtMs === null || (isNewestOfAll && newest.published_at_ms <= servedAtMs)
      ? newest
      : await newestAt(records, head, servedAtMs);
  const version = served?.hash === hash ? served : newest;
  const next = await after(records, head, version);
  const { sidecar, isPurged } = await readSidecar(records, recordId, version);
  const isServed = next === null && head.live;
  const endedAtMs =
    next !== null && isReplacedBy(sidecar, (await readSidecar(records, recordId, next)).sidecar)
      ? next.published_at_ms
      : null;
  return { ...version, head, sidecar, isPurged, endedAtMs, isServed };
}

/** The newest version at that time; null when there was none. Versions were published in the order of their generations. */
async function newestAt(
  records: RecordStore,
  { record_id: recordId, generation }: RecordHead,
  atMs: number,
): Promise<VersionDate | null> {
  let newest: VersionDate | null = null;
  let [published, unpublished] = [0, generation + 1];
  while (unpublished - published > 1) {
    const middle = Math.floor((published + unpublished) / 2);
    const [version] = await records.listVersions(recordId, middle + 1, 1);
    if (version !== undefined && version.published_at_ms > atMs) unpublished = version.generation;
    else {
      newest = version ?? newest;
      published = middle;
    }
  }
  return newest;
}

/** The next version; null for the newest. */
async function after(
  records: RecordStore,
  { record_id: recordId, generation }: RecordHead,
  version: VersionDate,
): Promise<VersionDate | null> {
  if (version.generation >= generation) return null;
  for (const ahead of [1, gapMax]) {
    const below = Math.min(version.generation + ahead, generation) + 1;
    const next = (await records.listVersions(recordId, below, ahead)).findLast(
      (each) => each.generation > version.generation,
    );
    if (next !== undefined) return next;
  }
  return null;
}

async function readSidecar(
  records: RecordStore,
  recordId: string,
  { generation, hash }: VersionDate,
): Promise<Pick<PublishedVersion, "sidecar" | "isPurged">> {
  const stored = await records.readPublished({ record_id: recordId, generation, hash });
  const remains = parseRemains(stored?.sidecar ?? "null");
  if (remains !== null) return { sidecar: remains, isPurged: true };
  const sidecar = openStored(stored?.sidecar ?? "null", openSidecar);
  if (!sidecar.ok) throw new Error(`Version ${generation} of ${recordId} has no sidecar.`);
  return { sidecar: sidecar.value, isPurged: false };
}

/** Whether nothing happened to the record between two versions: a withdrawal would have taken a change number of its own. */
function isReplacedBy(earlier: VersionRemains, later: VersionRemains): boolean {
  return later.change === earlier.change + 1;
}
