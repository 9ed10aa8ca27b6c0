// What of a business is served, beside what it publishes itself: records that are kept out of serving, and their return.
//   SV1. A record is served if it is live and nothing keeps it out (`isKeptOut`). Serving knows this of every record by its newest
//        change, or will: each commit that decides otherwise raises the record's change and tells every region of it.
//   SV2. A version that is published while its record is kept out is stored, and never becomes findable for longer than it takes to
//        tell the regions of the next change; readers keep it out meanwhile by the register (service/taken-down.ts).
//   SV3. What keeps a record out is no concern of its business's order: numbers, generations and holds go on as if it were served.

import type { BusinessEvent } from "../../machines/business.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessProtocol } from "../messages/business.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { ServedState } from "../messages/serving.ts";
import type { Decision } from "../system/definition.ts";
import { type HeadRow, heads } from "./rows.ts";
import { lastNumber } from "./terms.ts";
import type { BusinessView } from "./view.ts";

/** Maximum number of records of which regions are told at once. */
export const restatedMax = 200;

/** Whether something keeps the record out of serving. */
function isKeptOut(head: HeadRow, snapshot: BusinessView["snapshot"]): boolean {
  return head.taken_down === true || snapshot.matches({ serving: "taken_down" });
}

export interface Restated {
  readonly puts: readonly PartitionRow[];
  readonly events: readonly BusinessEvent[];
}

/** Tells serving of those of these heads, {@link restatedMax} at most, of which it knows otherwise (SV1). */
export function restate(
  known: Iterable<readonly [recordId: string, head: HeadRow]>,
  view: Pick<BusinessView, "epoch" | "snapshot">,
): Restated {
  const puts: PartitionRow[] = [];
  const records: ServedState[] = [];
  for (const [record_id, head] of known) {
    const isOut = isKeptOut(head, view.snapshot);
    if (!head.live || (head.unserved === true) === isOut) continue;
    const { unserved: _before, ...kept } = head;
    const change = lastNumber(view, head.change) + 1;
    const { collection, generation, hash } = head;
    puts.push(heads.write(record_id, { ...kept, change, ...(isOut ? { unserved: true } : {}) }));
    records.push({ record_id, collection, change, generation, hash, live: !isOut });
  }
  return { puts, events: records.length === 0 ? [] : [{ type: "serving.changed", records }] };
}

type RestateCommand = CommandOf<BusinessProtocol, "serving.restate">;

export function selectForRestate({ after, limit }: RestateCommand): readonly RowSelection[] {
  return [heads.selectPage(Math.min(limit, restatedMax), { k: 0, k2: after })];
}

export function restatePage(
  { limit }: RestateCommand,
  view: BusinessView,
): Decision<{ readonly next: string | null }, BusinessEvent> {
  const page = heads.readAll(view);
  const known = page.map(({ k2, value }) => [k2, value] as const);
  const next = page.length < Math.min(limit, restatedMax) ? null : (page.at(-1)?.k2 ?? null);
  return { reply: { next }, ...restate(known, view) };
}
