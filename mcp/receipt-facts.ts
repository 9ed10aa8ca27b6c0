// What a receipt says, unverified: enough to name an answer. Whether it is genuine, and a receipt at all, is for `verify`.

import { isTimestamp } from "../protocol/identifiers.ts";
import { isObject } from "../std/is-object.ts";

export interface ReceiptFacts {
  readonly retrievalId: string;
  readonly servedAt: string;
}

/** Null for what names no retrieval. */
export function receiptFacts(envelope: unknown): ReceiptFacts | null {
  if (!isObject(envelope) || typeof envelope["payload"] !== "string") return null;
  const payload = parsedJson(Buffer.from(envelope["payload"], "base64").toString("utf8"));
  if (!isObject(payload)) return null;
  const { retrieval_id: retrievalId, served_at: servedAt } = payload;
  if (typeof retrievalId !== "string" || !/^[\x21-\x7e]{1,128}$/.test(retrievalId)) return null;
  return typeof servedAt === "string" && isTimestamp(servedAt) ? { retrievalId, servedAt } : null;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
