// GET /v1/receipts: an AI company's own receipts, by window and key, or one of them, checked (specification, «Retrieval API»,
// other retrieval reads).
//   R1. A company reads the receipts of its own keys. One of another company and one that never existed have the same answer.
//   R2. Pages are in the order of serving. Who goes on from `next_cursor` until it is null has read every receipt of a window
//       that was over when reading began, and none twice.
//   R3. A receipt is checked with the pure verifier, against the key to which it says that it was given.
//   R4. Reading is not a retrieval: it has no receipt, and nothing is billed.

import type { Clock } from "../../crypto/port.ts";
import { hashOf, type Sha256, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp, isKeyId, isTimestamp } from "../../protocol/identifiers.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { receiptFacts } from "../../protocol/receipt.ts";
import { firstFault } from "../../protocol/shape.ts";
import { isDay } from "../../protocol/wire/analytics.ts";
import {
  type InclusionAnswer,
  type OwnReceipt,
  receiptsPageMax,
  receiptsPageUsual,
  type UsageAnswer,
  type UsageGroup,
  type UsageLine,
  usageGrouping,
  usageGroups,
  usageLinesMax,
} from "../../protocol/wire/receipts.ts";
import type { ReceiptRow, ReceiptStore, UsageCount } from "../../storage/receipt-store.ts";
import { verifyReceipt } from "../../verifier/receipt.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  type Answer,
  answerJson,
  bodyText,
  type CallersParty,
  type Given,
  type Outcome,
  type Refused,
  refusedWith,
  wrongParameter,
} from "../answer.ts";
import type { LogReads } from "../log/log-reads.ts";
import { isWrong, parseWindow } from "./analytics.ts";

export interface OwnReceiptsDeps {
  readonly store: ReceiptStore;
  readonly region: string;
  /** Trust in the keys of the key set that is in force. */
  readonly trust: () => Trust;
  readonly sha256: Sha256;
  readonly inclusion: LogReads["inclusion"];
}

export interface OwnReceiptsRequest {
  readonly caller: CallersParty;
  readonly query: Given<"from" | "to" | "key_id" | "cursor" | "limit" | "retrieval_id">;
}

export type ReadOwnReceipts = (request: OwnReceiptsRequest) => Promise<Outcome>;

const headers = Object.freeze({ "content-type": "application/json", "cache-control": "no-store" });
/** The last instant of which a retrieval id can tell. */
const lastMs = 0xffff_ffff_ffff;

/** GET /v1/receipts. Throws {@link StoreError}. */
export async function readOwnReceipts(
  deps: OwnReceiptsDeps,
  { caller, query }: OwnReceiptsRequest,
): Promise<Outcome> {
  if (query.retrieval_id !== null) return readOne(deps, caller, query);
  const window = parseQuery(query);
  if (isWrong(window)) return window;
  const { region, store } = deps;
  const page = await store.listReceipts({ ...window, region, company: caller.party.uuid });
  const receipts = page.receipts.map(receiptText).join(",");
  return answerText(
    `{"region":"${region}","receipts":[${receipts}],"next_cursor":${JSON.stringify(page.next)}}`,
  );
}

async function readOne(
  deps: OwnReceiptsDeps,
  caller: CallersParty,
  query: OwnReceiptsRequest["query"],
): Promise<Outcome> {
  const { retrieval_id: id, ...others } = query;
  const other = Object.entries(others).find(([, value]) => value !== null);
  if (other !== undefined)
    return wrongParameter(other[0], `${other[0]} is of a list, and retrieval_id names one receipt.`);
  if (id === null || !/^ret_[0-9a-f]{32}$/.test(id))
    return wrongParameter("retrieval_id", "retrieval_id is one of a search, a fetch or a pool of ads.");
  const row = await deps.store.readReceipt(deps.region, id);
  if (row === null || row.company !== caller.party.uuid)
    return refusedWith(
      "not_found",
      "There is no receipt of this retrieval in this region, or it is not yours.",
    );
  const checked = JSON.stringify(await checkedOf(deps, row));
  const receipt = receiptText(row);
  return answerText(
    `{"region":"${row.region}","receipts":[${receipt}],"next_cursor":null,"checked":${checked}}`,
  );
}

/** See R3. */
async function checkedOf({ trust, sha256, inclusion }: OwnReceiptsDeps, row: ReceiptRow) {
  const verdict = verifyReceipt(trust(), JSON.parse(row.envelope) as JsonValue, {
    callerKeyId: row.key_id,
    retrievalId: row.retrieval_id,
  });
  const leaf = hashOf(utf8(row.envelope), sha256);
  const found = await inclusion({ leaf, region: row.region, name: row.batch });
  return {
    valid: verdict.ok,
    reason: verdict.ok ? null : verdict.code,
    log: found.kind === "answer" ? (JSON.parse(bodyText(found.body)) as InclusionAnswer) : null,
  };
}

/** The envelope is the text that was given to the caller: it is spliced in, because its bytes are what the log contains. */
function receiptText(row: ReceiptRow): string {
  const { kind, collection, country, rows } = receiptFacts(row);
  const { retrieval_id, served_at_ms, key_id, region, billable } = row;
  const members: Omit<OwnReceipt, "receipt"> = {
    retrieval_id,
    served_at: formatTimestamp(served_at_ms),
    key_id,
    region,
    kind,
    collection: collection as OwnReceipt["collection"],
    country,
    rows,
    billable,
  };
  return `${JSON.stringify(members).slice(0, -1)},"receipt":${row.envelope}}`;
}

function answerText(body: string): Answer {
  return { kind: "answer", status: 200, headers, body };
}

interface Window {
  readonly fromMs: number;
  readonly toMs: number;
  readonly keyId: string | null;
  readonly after: string | null;
  readonly limit: number;
}

function parseQuery(query: OwnReceiptsRequest["query"]): Window | Refused {
  const fromMs = query.from === null ? 0 : instantOf(query.from);
  if (fromMs === null) return wrongParameter("from", instantWanted("from"));
  const toMs = query.to === null ? lastMs : instantOf(query.to);
  if (toMs === null) return wrongParameter("to", instantWanted("to"));
  if (toMs <= fromMs)
    return wrongParameter("to", "to must be later than from: it is not part of the window.");
  if (query.key_id !== null && !isKeyId(query.key_id))
    return wrongParameter("key_id", "key_id must be the id of a key.");
  const isCursor = query.cursor === null || /^ret_[0-9a-f]{12,32}$/.test(query.cursor);
  if (!isCursor) return wrongParameter("cursor", "cursor must be the next_cursor of an earlier answer.");
  const limit = query.limit === null ? receiptsPageUsual : parseLimit(query.limit);
  if (limit === null)
    return wrongParameter("limit", `limit must be an integer from 1 to ${receiptsPageMax}.`);
  return { fromMs, toMs, keyId: query.key_id, after: query.cursor, limit };
}

function instantOf(text: string): number | null {
  if (!isTimestamp(text) && !isDay(text)) return null;
  const ms = Date.parse(text);
  return ms < 0 ? 0 : ms;
}

function instantWanted(name: string): string {
  return `${name} must be a UTC timestamp, such as 2026-03-04T00:00:00.000Z, or a day, such as 2026-03-04.`;
}

function parseLimit(text: string): number | null {
  const limit = /^[1-9][0-9]{0,2}$/.test(text) ? Number(text) : Number.NaN;
  return limit <= receiptsPageMax ? limit : null;
}

// GET /v1/usage: what an AI company used in this region, counted from its receipts (specification, «Retrieval API», other
// retrieval reads).
//   U1. The counts are those of the receipts that the same region lists, to the last one (T7 of storage/receipt-store.ts).
//   U2. A company reads its own usage, of all of its keys; reading it is not billed and has no receipt.

export interface UsageDeps {
  readonly store: ReceiptStore;
  readonly region: string;
  readonly clock: Clock;
}

export interface UsageRequest {
  readonly caller: CallersParty;
  readonly query: Given<"from" | "to" | "group_by">;
}

export type ReadUsage = (request: UsageRequest) => Promise<Outcome>;

/** Days in one answer. */
export const usageDaysMax = 92;

const notStored = Object.freeze({ "cache-control": "no-store" });

/** GET /v1/usage. Throws {@link StoreError}. */
export async function readUsage(
  { store, region, clock }: UsageDeps,
  { caller, query }: UsageRequest,
): Promise<Outcome> {
  const window = parseWindow(query, clock.now(), usageDaysMax);
  if (isWrong(window)) return window;
  const groups = query.group_by === null ? usageGroups : parseGroups(query.group_by);
  if (groups === null)
    return wrongParameter(
      "group_by",
      `group_by must be one or more of ${usageGroups.join(", ")}, with commas, each once.`,
    );
  const { from, to, last } = window;
  const counts = await store.readUsage({ region, company: caller.party.uuid, fromDay: from, toDay: last });
  const usage = grouped(counts, groups);
  if (usage.length > usageLinesMax)
    return wrongParameter(
      "group_by",
      `These are more than ${usageLinesMax} lines: ask for fewer days, or group by less.`,
    );
  const [total = nothing] = grouped(counts, []);
  const answer: UsageAnswer = { from, to, region, usage, total };
  return answerJson(200, answer, notStored);
}

const nothing = { requests: 0, billable: 0, rows: 0 };

function parseGroups(text: string): readonly UsageGroup[] | null {
  if (firstFault(usageGrouping, text) !== null) return null;
  return usageGroups.filter((each) => text.split(",").includes(each));
}

/** Adds up what the groups do not tell apart, in ascending order of what they do. */
function grouped(counts: readonly UsageCount[], groups: readonly UsageGroup[]): readonly UsageLine[] {
  const lines = new Map<string, UsageLine>();
  for (const each of counts) {
    const of = Object.fromEntries(groups.map((group) => [memberOf[group], each[memberOf[group]]]));
    const name = groups.map((group) => each[memberOf[group]] ?? "").join(" ");
    const { requests, billable, rows } = lines.get(name) ?? nothing;
    lines.set(name, {
      ...(of as Partial<UsageLine>),
      requests: requests + each.requests,
      billable: billable + each.billable,
      rows: rows + each.rows,
    });
  }
  return [...lines].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, line]) => line);
}

const memberOf = {
  day: "day",
  key: "key_id",
  kind: "kind",
  collection: "collection",
  country: "country",
} as const satisfies Record<UsageGroup, keyof UsageCount>;
