// GET /v1/push-attempts: what became of every record and every refused batch of a business, in the order of their time
// (specification, «B. Business machine API»).
//   P1. An attempt is one record of one push, or a refused batch. A listing contains each once, whatever the page's size.
//   P2. A page asks a bounded number of pushes. It may be shorter than the limit, or empty, while more follow.
//   P3. What a push says of its records is taken from the push itself, and their own ids from the business.

import type {
  AdmittedPush,
  AttemptCategory,
  AttemptEntry,
  AttemptPlace,
  RefusedBatch,
} from "../../actors/messages/admission.ts";
import type { PushReport, RecordOutcome, ResultDetails } from "../../actors/messages/push.ts";
import { businessRef, pushRef } from "../../actors/messages/refs.ts";
import { formatTimestamp, parseDateTime } from "../../protocol/identifiers.ts";
import { attemptsKeptDays, attemptsPageMax } from "../../protocol/limits.ts";
import type { AttemptsPage, PushAttempt } from "../../protocol/wire/catalogue.ts";
import { type PublishOutcome, type RecordFault, recordOutcomes } from "../../protocol/wire/push.ts";
import {
  answerJson,
  type Caller,
  type Given,
  isRefused,
  type Outcome,
  type Refused,
  wrongParameter,
} from "../answer.ts";
import { cursorForeign, type OwnListServices, readCursor, writeCursor } from "./catalogue.ts";

export interface PushAttemptsRequest extends Given<"from" | "to" | "status" | "cursor"> {
  readonly caller: { readonly party: Pick<Caller["party"], "uuid"> };
}

/** Maximum number of entries of the business, and of pushes, that one page looks at (P2). */
const entriesPerPage = 200;
const pushesPerPage = 25;
const pushesAtOnce = 8;

interface Place extends AttemptPlace {
  /** Where to begin among the leaves of the push at this place; null for what is behind it. */
  readonly leaf: number | null;
}

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
  readonly status: RecordOutcome | null;
}

/** GET /v1/push-attempts. Throws {@link StoreError}. */
export async function readPushAttempts(
  deps: OwnListServices,
  request: PushAttemptsRequest,
): Promise<Outcome> {
  const { uuid } = request.caller.party;
  const window = windowOf(request, deps.clock.now());
  if (isRefused(window)) return window;
  const scope = ["attempts", uuid, request.from ?? "", request.to ?? "", request.status ?? ""];
  const place = placeOf(deps, scope, request.cursor, window);
  if (isRefused(place)) return place;
  const { attempts, next } = await readPage(deps, uuid, window, place);
  const body: AttemptsPage = {
    attempts,
    next_cursor: next === null ? null : writeCursor(deps, scope, [next.at_ms, next.id, next.leaf]),
  };
  return answerJson(200, body);
}

function windowOf({ from, to, status }: PushAttemptsRequest, nowMs: number): Window | Refused {
  const keptFromMs = nowMs - attemptsKeptDays * 86_400_000;
  const [fromMs, toMs] = [instantOf(from, keptFromMs), instantOf(to, Number.MAX_SAFE_INTEGER)];
  if (fromMs === null) return instantMalformed("from");
  if (toMs === null) return instantMalformed("to");
  if (status !== null && !isOutcome(status)) return statusUnknown;
  return { fromMs: Math.max(fromMs, keptFromMs), toMs, status };
}

/** An instant in UTC (RFC 3339 §5.6), or a date, which means its first instant in UTC. */
function instantOf(text: string | null, absent: number): number | null {
  if (text === null) return absent;
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return parseDateTime(`${text}T00:00:00Z`);
  return text.endsWith("Z") ? parseDateTime(text) : null;
}

function instantMalformed(name: "from" | "to"): Refused {
  const detail = `${name} is an instant in UTC (RFC 3339, ending in Z), or a date (YYYY-MM-DD).`;
  return wrongParameter(name, detail);
}

function isOutcome(text: string): text is RecordOutcome {
  return (recordOutcomes as readonly string[]).includes(text);
}

const statusUnknown = wrongParameter("status", `status is one of ${recordOutcomes.join(", ")}.`);

function placeOf(
  deps: OwnListServices,
  scope: readonly string[],
  cursor: string | null,
  { fromMs }: Window,
): Place | Refused {
  // In front of everything at that instant: ids are never empty.
  if (cursor === null) return { at_ms: fromMs, id: "", leaf: null };
  const place = readCursor(deps, scope, cursor);
  if (place === null) return cursorForeign;
  const [at_ms, id, leaf] = place as [number, string, number | null];
  return { at_ms, id, leaf };
}

interface Page {
  readonly attempts: readonly PushAttempt[];
  /** Where the next page begins; null on the last. */
  readonly next: Place | null;
}

async function readPage(deps: OwnListServices, uuid: string, window: Window, place: Place): Promise<Page> {
  // A page that ended within a push begins with the push again.
  const after = place.leaf === null ? place : justBefore(place);
  const question = { after: { at_ms: after.at_ms, id: after.id }, to_ms: window.toMs, limit: entriesPerPage };
  const { entries, more } = await deps.actors.ask(businessRef(uuid), { type: "attempts.read", ...question });
  const wanted = entries.filter((entry) => isWanted(entry, window.status));
  const pushes = readAhead(deps, uuid, wanted, { status: window.status, place });
  const attempts: (PushAttempt | FoundRecord)[] = [];
  let last: AttemptPlace = after;
  let asked = 0;
  for (const entry of wanted) {
    const room = (deps.pageMax ?? attemptsPageMax) - attempts.length;
    if (room === 0 || asked === pushesPerPage) return pageOf(deps, uuid, attempts, { ...last, leaf: null });
    const { at_ms, id } = placeOfEntry(entry);
    if (entry.kind === "refused") attempts.push(refusedAttempt(entry.refused));
    else {
      asked += 1;
      const { found, nextLeaf } = await pushes.next(entry.push);
      attempts.push(...found.slice(0, room));
      const leaf = found[room]?.result.leaf_index ?? nextLeaf;
      if (leaf !== null) return pageOf(deps, uuid, attempts, { at_ms, id, leaf });
    }
    last = { at_ms, id };
  }
  const end = entries.at(-1);
  return pageOf(
    deps,
    uuid,
    attempts,
    more && end !== undefined ? { ...placeOfEntry(end), leaf: null } : null,
  );
}

async function pageOf(
  deps: OwnListServices,
  uuid: string,
  attempts: readonly (PushAttempt | FoundRecord)[],
  next: Place | null,
): Promise<Page> {
  const found = attempts.filter((each) => "result" in each);
  const ownIds = await readOwnIds(
    deps,
    uuid,
    found.flatMap((each) => namedBy(each) ?? []),
  );
  return { attempts: attempts.map((each) => ("result" in each ? attemptOf(each, ownIds) : each)), next };
}

/** A place behind which the push at `place` is the first one. */
function justBefore({ at_ms, id }: Place): AttemptPlace {
  return { at_ms, id: id.slice(0, -1) };
}

function placeOfEntry(entry: AttemptEntry): AttemptPlace {
  return entry.kind === "push" ? entry.push : entry.refused;
}

/** Whether the entry may have an attempt of this status, as far as the business knows. */
function isWanted(entry: AttemptEntry, status: RecordOutcome | null): boolean {
  if (status === null) return true;
  if (entry.kind === "refused") return status === "rejected";
  const { counts } = entry.push;
  if (counts === null) return true;
  return status === "held" || status === "pending" ? false : counts[status] > 0;
}

/** One record of a push. */
interface FoundRecord {
  readonly report: PushReport;
  readonly result: PublishOutcome;
  readonly details: ResultDetails | undefined;
}

interface FoundRecords {
  readonly found: readonly FoundRecord[];
  /** Where the push has more; null if it has none. */
  readonly nextLeaf: number | null;
}

interface Wanted {
  readonly status: RecordOutcome | null;
  readonly place: Place;
}

/** The records of the pushes among the entries, asked for in their order while the first of them are still awaited. */
function readAhead(
  deps: OwnListServices,
  uuid: string,
  entries: readonly AttemptEntry[],
  wanted: Wanted,
): { next(push: AdmittedPush): Promise<FoundRecords> } {
  const waiting = entries.flatMap((entry) => (entry.kind === "push" ? [entry.push] : []));
  // By entry: a push that was numbered twice has two.
  const underWay = new Map<AdmittedPush, Promise<FoundRecords>>();
  const begin = (): void => {
    const push = waiting.shift();
    if (push === undefined) return;
    const reading = readRecords(deps, uuid, push, wanted);
    // A failure counts once the push is needed.
    reading.catch(() => {});
    underWay.set(push, reading);
  };
  return {
    next: (push) => {
      while (waiting.length > 0 && underWay.size < pushesAtOnce) begin();
      const reading = underWay.get(push);
      if (reading === undefined) throw new Error("Pushes are read in the order of their entries.");
      underWay.delete(push);
      return reading;
    },
  };
}

async function readRecords(
  { actors }: OwnListServices,
  uuid: string,
  push: AdmittedPush,
  { status, place }: Wanted,
): Promise<FoundRecords> {
  const isBegun = push.id === place.id && push.at_ms === place.at_ms;
  const from_leaf = isBegun && place.leaf !== null ? place.leaf : 0;
  const page = { outcome: status, from_leaf, limit: attemptsPageMax, details: true } as const;
  const report = await actors.ask(pushRef(uuid, push.id), { type: "push.status", ...page });
  // A push that was numbered and never accepted, or that was numbered again when it was over, is no attempt of its own.
  if (report === null || report.facts.number !== push.number) return { found: [], nextLeaf: null };
  const found = report.results.map((result, index) => ({ report, result, details: report.details?.[index] }));
  return { found, nextLeaf: report.next_leaf };
}

type OwnIds = ReadonlyMap<string, string>;

/** The business's own ids of at most 200 of its records; those that it does not know are absent. */
export async function readOwnIds(
  { actors }: Pick<OwnListServices, "actors">,
  uuid: string,
  ids: readonly string[],
): Promise<OwnIds> {
  const record_ids = [...new Set(ids)];
  if (record_ids.length === 0) return new Map();
  const { own_ids } = await actors.ask(businessRef(uuid), { type: "own_ids.read", record_ids });
  return new Map(
    record_ids.flatMap((id, index) => {
      const ownId = own_ids[index] ?? null;
      return ownId === null ? [] : [[id, ownId] as const];
    }),
  );
}

/** The record that an attempt is about, also if it was rejected. */
function namedBy({ result, details }: Pick<FoundRecord, "result" | "details">): string | null {
  return result.record_id ?? details?.names ?? null;
}

function attemptOf({ report: { facts }, result, details }: FoundRecord, ownIds: OwnIds): PushAttempt {
  const { leaf_index, outcome, record_id, version, errors } = result;
  const named = namedBy({ result, details });
  const settledAtMs = details?.settled_at_ms ?? null;
  return {
    attempt_id: `${facts.push_id}-${leaf_index}`,
    push_id: facts.push_id,
    leaf_index,
    status: outcome,
    category: outcome === "rejected" ? categoryOf(errors) : null,
    record_id,
    business_product_id: named === null ? null : (ownIds.get(named) ?? null),
    version,
    errors,
    type: facts.collection,
    seq: facts.seq,
    source: facts.source === "bulk" ? "bulk" : "api",
    key_id: facts.key_id,
    received_at: facts.received_at,
    settled_at: settledAtMs === null ? null : formatTimestamp(settledAtMs),
  };
}

function refusedAttempt(batch: RefusedBatch): PushAttempt {
  const at = formatTimestamp(batch.at_ms);
  const { code, reason, detail } = batch;
  return {
    attempt_id: batch.id,
    push_id: batch.push_id,
    leaf_index: null,
    status: "rejected",
    category: batch.category,
    record_id: null,
    business_product_id: null,
    version: null,
    errors: [{ code, reason, detail }],
    records: batch.records,
    type: batch.type as PushAttempt["type"],
    seq: batch.seq,
    source: batch.source,
    key_id: batch.key_id,
    received_at: at,
    settled_at: at,
  };
}

// Why a record was rejected, by the codes of its errors.

/**
 * The codes that end a push or a record for another reason than what the record says. Null: nobody who publishes is at
 * fault, or it was decided so.
 */
const others: ReadonlyMap<string, AttemptCategory | null> = new Map<string, AttemptCategory | null>([
  ["seal_invalid", "seal"],
  ["certificate_not_in_force", "seal"],
  ["ai_policy_version_mismatch", "seal"],
  ["out_of_scope", "authority"],
  ["key_revoked", "authority"],
  ["mandate_revoked", "authority"],
  ["business_not_verified", "authority"],
  ["cancelled", null],
  ["hold_rejected", null],
  ["hold_expired", null],
  ["processing_failed", null],
  ["superseded", null],
]);

/** Of several, what the record says counts first: that is what its sender can mend. */
function categoryOf(errors: readonly Pick<RecordFault, "code">[]): AttemptCategory | null {
  const found = errors.map(({ code }) => (others.has(code) ? (others.get(code) ?? null) : "validation"));
  return found.includes("validation") ? "validation" : (found[0] ?? null);
}
