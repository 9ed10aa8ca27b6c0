// GET /v1/receipts: an AI company's own receipts, by window and key, or one of them, checked (specification, «Retrieval API»,
// other retrieval reads).
//   R1. A company reads the receipts of its own keys. One of another company and one that never existed have the same answer.
//   R2. Pages are in the order of serving. Who goes on from `next_cursor` until it is null has read every receipt of a window
//       that was over when reading began, and none twice.
//   R3. A receipt is checked with the pure verifier, against the key to which it says that it was given.
//   R4. Reading is not a retrieval: it has no receipt, and nothing is billed.

import { utf8 } from "../protocol/bytes.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import { hashOf, type Sha256 } from "../protocol/hash.ts";
import { formatTimestamp, isKeyId, isTimestamp } from "../protocol/identifiers.ts";
import { problem } from "../protocol/problem.ts";
import { receiptFacts } from "../protocol/receipt-event.ts";
import { isDay } from "../protocol/wire/analytics.ts";
import type { InclusionAnswer } from "../protocol/wire/log.ts";
import { type OwnReceipt, receiptsPageMax, receiptsPageUsual } from "../protocol/wire/receipts.ts";
import type { ReceiptRow, ReceiptStore } from "../storage/receipt-store.ts";
import { verifyReceipt } from "../verifier/receipt.ts";
import type { Trust } from "../verifier/trust.ts";
import { isWrong, wrong } from "./analytics-window.ts";
import { type Answer, bodyText, type Outcome, type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { LogReads } from "./log-reads.ts";

export interface OwnReceiptsDeps {
  readonly store: Pick<ReceiptStore, "listReceipts" | "readReceipt">;
  readonly region: string;
  /** Trust in the keys of the key set that is in force. */
  readonly trust: () => Trust;
  readonly sha256: Sha256;
  readonly inclusion: LogReads["inclusion"];
}

/** The query parameters; null for one that is absent. */
export interface OwnReceiptsQuery {
  readonly from: string | null;
  readonly to: string | null;
  readonly key_id: string | null;
  readonly cursor: string | null;
  readonly limit: string | null;
  readonly retrieval_id: string | null;
}

export interface OwnReceiptsRequest {
  readonly caller: Caller;
  readonly query: OwnReceiptsQuery;
}

export type ReadOwnReceipts = (request: OwnReceiptsRequest) => Promise<Outcome>;

const headers = Object.freeze({ "content-type": "application/json", "cache-control": "no-store" });
/** The last instant of which a retrieval id can tell. */
const lastMs = 0xffff_ffff_ffff;

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

async function readOne(deps: OwnReceiptsDeps, caller: Caller, query: OwnReceiptsQuery): Promise<Outcome> {
  const { retrieval_id: id, ...others } = query;
  const other = Object.entries(others).find(([, value]) => value !== null);
  if (other !== undefined)
    return wrong(other[0], `${other[0]} is of a list, and retrieval_id names one receipt.`);
  if (id === null || !/^ret_[0-9a-f]{32}$/.test(id))
    return wrong("retrieval_id", "retrieval_id is one of a search, a fetch or a pool of ads.");
  const row = await deps.store.readReceipt(deps.region, id);
  if (row === null || row.company !== caller.party.uuid)
    return refused(
      problem("not_found", "There is no receipt of this retrieval in this region, or it is not yours."),
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
    ...{ retrieval_id, served_at: formatTimestamp(served_at_ms), key_id, region },
    ...{ kind, collection: collection as OwnReceipt["collection"], country, rows, billable },
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

function parseQuery(query: OwnReceiptsQuery): Window | Refused {
  const fromMs = query.from === null ? 0 : instantOf(query.from);
  if (fromMs === null) return wrong("from", instantWanted("from"));
  const toMs = query.to === null ? lastMs : instantOf(query.to);
  if (toMs === null) return wrong("to", instantWanted("to"));
  if (toMs <= fromMs) return wrong("to", "to must be later than from: it is not part of the window.");
  if (query.key_id !== null && !isKeyId(query.key_id))
    return wrong("key_id", "key_id must be the id of a key.");
  const isCursor = query.cursor === null || /^ret_[0-9a-f]{12,32}$/.test(query.cursor);
  if (!isCursor) return wrong("cursor", "cursor must be the next_cursor of an earlier answer.");
  const limit = query.limit === null ? receiptsPageUsual : parseLimit(query.limit);
  if (limit === null) return wrong("limit", `limit must be an integer from 1 to ${receiptsPageMax}.`);
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
