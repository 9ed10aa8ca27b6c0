// GET /v1/records/{record_id}: one record, exactly as it was sealed (specification, «Retrieval API»).
//   F1. A record that never existed, one that is withdrawn or deleted, and one of a business that blocked the caller's
//       group answer the same 404, with the same body, no sooner than 20 ms after the request arrived.
//   F2. What is kept between fetches is immutable: it is of one change of the record under one AI policy version.

import type { Clock } from "../crypto/port.ts";
import { isRecordId } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { formatSourceLine } from "../protocol/source-line.ts";
import type { RecordHead, RecordStore } from "../storage/record-store.ts";
import type { Answer, Outcome } from "./answer.ts";
import { refused } from "./answer.ts";
import type { Authenticated } from "./authenticate.ts";
import { closeFetchedRecord, type FetchedRecord, openFetchedRecord } from "./fetched-record.ts";
import { type Receipts, receiptRow } from "./receipts.ts";
import { createRecentMap } from "./recent-map.ts";
import type { Register } from "./register.ts";

/** Specification, «Limits»; one more, because a clock of whole milliseconds may run up to one ahead of the arrival. */
const notFoundAfterMs = 21;
/** Bound of the kept openings, in bytes and in records. */
const keptBytesMaxDefault = 64 * 1024 * 1024;
const keptRecordsMax = 20_000;
/** What a kept entry costs besides its bytes, roughly. */
const entryOverheadBytes = 512;

export interface FetchDeps {
  readonly records: RecordStore;
  readonly register: Register;
  readonly receipts: Receipts;
  readonly clock: Clock;
  /** Public base of the verification surface, without trailing slash. */
  readonly verifyUrl: string;
  /** Resolves once the clock shows at least `atMs`. */
  readonly delayUntil: (atMs: number) => Promise<void>;
  readonly keptBytesMax?: number;
}

export interface FetchRequest {
  readonly authenticated: Authenticated;
  readonly recordId: string;
  /** Unix milliseconds. */
  readonly arrivedAtMs: number;
}

export type FetchRecord = (request: FetchRequest) => Promise<Outcome>;

interface Kept {
  readonly change: number;
  readonly policyVersion: number;
  readonly record: FetchedRecord;
}

export function createFetch(deps: FetchDeps): FetchRecord {
  const kept = createOpenings(deps.keptBytesMax ?? keptBytesMaxDefault);
  return async (request) => {
    const { caller, nonceClaimed } = request.authenticated;
    if (!isRecordId(request.recordId)) {
      return (
        (await nonceClaimed) ??
        refused(problem("request_invalid", "This is no record id.", { pointer: "/path/record_id" }))
      );
    }
    const [reused, record] = await Promise.all([nonceClaimed, readRecord(deps, kept, request)]);
    if (reused !== null) return reused;
    if (record === null) {
      await deps.delayUntil(request.arrivedAtMs + notFoundAfterMs);
      return recordNotFound;
    }
    const retrieval = deps.receipts.begin();
    const receipt = await deps.receipts.issue({
      retrieval,
      caller,
      kind: "fetch",
      collection: null,
      country: null,
      rows: [receiptRow(request.recordId, record.row)],
    });
    const sourceLine = formatSourceLine({
      record_id: request.recordId,
      origin: record.row.origin,
      cert_id: record.certId,
      served_at: retrieval.servedAt,
      verify_url: deps.verifyUrl,
    });
    return answer(closeFetchedRecord(record, { sourceLine, receipt }));
  };
}

/** One document for every reason, so that none can be told from another (F1). */
const recordNotFound: Outcome = refused(problem("not_found", "No record with this id is served to you."));

const headers = Object.freeze({ "content-type": "application/json", "cache-control": "no-store" });

function answer(body: Uint8Array): Answer {
  return { kind: "answer", status: 200, headers, body };
}

async function readRecord(
  deps: FetchDeps,
  kept: Openings,
  request: FetchRequest,
): Promise<FetchedRecord | null> {
  const head = await deps.records.readHead(request.recordId);
  if (!head?.live) return null;
  if (deps.register.hasBlocked(head.business_uuid, request.authenticated.caller.party.group)) return null;
  const policyVersion = deps.register.policyInForce(head.business_uuid).version;
  const known = kept.get(head.record_id);
  if (known?.change === head.change && known.policyVersion === policyVersion) return known.record;
  return openRecord(deps, kept, head, policyVersion);
}

async function openRecord(
  deps: FetchDeps,
  kept: Openings,
  head: RecordHead,
  policyVersion: number,
): Promise<FetchedRecord | null> {
  const [served, policy] = await Promise.all([
    deps.records.readServed(head.record_id),
    policyVersion === 0 ? null : deps.register.policy(head.business_uuid, policyVersion),
  ]);
  if (served === null) return null;
  if (policyVersion !== 0 && policy === null)
    throw new Error(`AI policy ${policyVersion} of ${head.business_uuid} is in force but not stored.`);
  const record = openFetchedRecord(served, policy, deps.verifyUrl);
  kept.put(head.record_id, { change: served.head.change, policyVersion, record });
  return record;
}

interface Openings {
  get(recordId: string): Kept | undefined;
  put(recordId: string, entry: Kept): void;
}

/** Bounded by bytes: when they are used up, all are forgotten and gathered again. */
function createOpenings(bytesMax: number): Openings {
  let entries = createRecentMap<string, Kept>(keptRecordsMax);
  let bytes = 0;
  return {
    get: (recordId) => entries.get(recordId),
    put: (recordId, entry) => {
      const size = entry.record.opening.length + entryOverheadBytes;
      if (size > bytesMax) return;
      if (bytes + size > bytesMax) {
        entries = createRecentMap(keptRecordsMax);
        bytes = 0;
      }
      bytes += size;
      entries.set(recordId, entry);
    },
  };
}
