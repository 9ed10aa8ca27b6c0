// The audit log, as operators read it: what they did or were refused on every node, newest first.

import type { JsonObject } from "../protocol/canonical-json.ts";
import {
  anyObject,
  anyText,
  described,
  listOf,
  nullable,
  type Of,
  object,
  type Shape,
  timestamp,
} from "../protocol/shape.ts";

import { missing } from "./inspection-shapes.ts";

export interface AuditQuery {
  /** Only entries before this moment; null for the newest. */
  readonly before: string | null;
  readonly limit: number;
}

export interface AuditEntry {
  readonly at: string;
  /** `ops.asked` before an act is done, `ops.acted` or `ops.refused` after it; others are about keys and homes. */
  readonly event: string;
  readonly region: string;
  readonly detail: JsonObject;
}

/** What one node has. */
export interface OwnAudit {
  /** False where its log goes to standard output. */
  readonly readable: boolean;
  readonly entries: readonly AuditEntry[];
}

export const auditPage = object({
  entries: described(
    listOf(
      object({
        at: timestamp,
        event: described(
          anyText,
          "`ops.asked` before an act is done; `ops.acted` or `ops.refused` after it. Others are about keys and homes.",
        ),
        region: anyText,
        node: anyText,
        detail: described(
          anyObject as Shape<JsonObject>,
          "Of an act: `by`, `reason`, `act` (its address), `params`, `asked`, `status`, `outcome`, `from` and `request_id`.",
        ),
      }),
    ),
    "Newest first.",
  ),
  next_before: described(nullable(timestamp), "For the next page; null on the last."),
  unreadable: described(
    listOf(anyText),
    "Nodes whose audit log goes to standard output: it is read where that is collected.",
  ),
  missing,
});
export type AuditPage = Of<typeof auditPage>;

export const auditPageMax = 50;

/** One page from the newest pages of all nodes, cut between two moments (AR1 in node/audit-reads.ts). */
export function mergeAudit(
  pages: readonly { readonly node: string; readonly page: OwnAudit }[],
  limit: number,
): Pick<AuditPage, "entries" | "next_before" | "unreadable"> {
  const all = pages
    .flatMap(({ node, page }) => page.entries.map((entry) => ({ ...entry, node })))
    .sort((a, b) => (a.at === b.at ? 0 : a.at < b.at ? 1 : -1));
  const last = all[limit - 1]?.at;
  const entries = last === undefined ? all : all.filter(({ at }) => at >= last);
  const isFull = pages.some(({ page }) => page.entries.length >= limit);
  const next = entries.length < all.length || isFull ? (entries.at(-1)?.at ?? null) : null;
  return {
    entries,
    next_before: next,
    unreadable: pages.flatMap(({ node, page }) => (page.readable ? [] : [node])),
  };
}
