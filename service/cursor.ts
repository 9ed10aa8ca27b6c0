// Cursors of lists that belong to one business: opaque, and refused unless this service made them for this business and
// this list. They hold what the next page needs and a code over it, so nothing is kept between pages, and any node
// continues what another began.

import type { CryptoPort } from "../crypto/port.ts";
import { parseBase64Url, parseUtf8, toBase64Url, utf8 } from "../protocol/bytes.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";

/** Bytes of the code: guessing one takes 2^64 requests on average. */
const codeBytes = 16;

export interface CursorDeps {
  readonly crypto: Pick<CryptoPort, "hmacSha256">;
  /** Secret bytes that all nodes share. */
  readonly cursorKey: Uint8Array;
}

/** The business and the list, with whatever else a cursor must not be taken to. */
export type CursorScope = readonly string[];

export function writeCursor(deps: CursorDeps, scope: CursorScope, place: readonly unknown[]): string {
  const text = JSON.stringify(place);
  return `${toBase64Url(codeOf(deps, scope, text))}${toBase64Url(utf8(text))}`;
}

/** Returns what {@link writeCursor} was given for the same scope; null for any other text. */
export function readCursor(deps: CursorDeps, scope: CursorScope, cursor: string): readonly unknown[] | null {
  const length = Math.ceil((codeBytes * 4) / 3);
  const code = parseBase64Url(cursor.slice(0, length));
  const bytes = parseBase64Url(cursor.slice(length));
  const text = bytes === null ? null : parseUtf8(bytes);
  if (code === null || text === null) return null;
  const right = codeOf(deps, scope, text);
  if (code.length !== right.length || code.some((byte, index) => byte !== right[index])) return null;
  return JSON.parse(text) as readonly unknown[];
}

export const cursorForeign: Refused = refused(
  problem("request_invalid", "cursor must be the next_cursor of an earlier page of this list.", {
    pointer: "/query/cursor",
  }),
);

function codeOf({ crypto, cursorKey }: CursorDeps, scope: CursorScope, text: string): Uint8Array {
  return crypto.hmacSha256(cursorKey, utf8(JSON.stringify([...scope, text]))).subarray(0, codeBytes);
}
