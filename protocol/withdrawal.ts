// Withdrawal and deletion: the compact JSON document that takes a record out of serving, sealed with seal format 2 over its
// exact bytes (specification, «Seals»).

import { malformed, parseObject, readPayload } from "./payload.ts";
import type { Verdict } from "./result.ts";
import { closed, oneOf, timestamp } from "./shape.ts";
import { recordId } from "./wire/push.ts";

export interface Withdrawal {
  readonly record_id: string;
  readonly action: "withdraw" | "delete";
  readonly at: string;
}

export const withdrawalShape = closed<Withdrawal>({
  record_id: recordId,
  action: oneOf(["withdraw", "delete"]),
  at: timestamp,
});

/** Reads a withdrawal document: strict, closed and compact (no white space; members in any order). */
export function parseWithdrawal(bytes: Uint8Array): Verdict<Withdrawal> {
  const parsed = parseObject(bytes);
  if (!parsed.ok) return parsed;
  const read = readPayload(withdrawalShape, parsed.value);
  if (read.ok && JSON.stringify(parsed.value).length !== bytes.length)
    return malformed("The document is not compact JSON.", "");
  return read;
}
