// Taking records out of serving, and back, whatever their business publishes: what operators take down, and how serving learns of it.

import type { CollectionName } from "../../protocol/identifiers.ts";
import type { RowChange } from "../../storage/row-index.ts";
import type { RegisterAct, RegisterReply } from "./business.ts";
import type { CommandOf } from "./protocol.ts";
import type { RegionProtocol } from "./region.ts";

/** What operators took out of serving: one record, or everything of a business. Kept after it was undone. */
export interface TakedownFacts {
  readonly business_uuid: string;
  /** Null for the whole business. */
  readonly record_id: string | null;
  /** What the business is told of the reason. */
  readonly statement_of_reasons: string;
  readonly taken_down_at: string;
  /** Null while it is in force. */
  readonly lifted_at: string | null;
}

export interface ServingProtocol {
  /** Takes a record (or with null, the whole business) out of serving; repeated, it changes nothing. */
  "takedown.impose"(command: {
    readonly record_id: string | null;
    readonly statement_of_reasons: string;
    readonly act: RegisterAct;
  }): RegisterReply;
  /** Undoes it: what the business has published since, and what it has withdrawn, counts. */
  "takedown.lift"(command: { readonly record_id: string | null; readonly act: RegisterAct }): RegisterReply;
  /**
   * Has serving told of a page of the business's records, as far as they are to be served otherwise than it knows; told by the
   * actor's own work.
   */
  "serving.restate"(command: { readonly after: string; readonly limit: number }): {
    /** Null after the last page. */
    readonly next: string | null;
  };
}

/** Whether serving has a record, from a change on: the head of its newest version says so in the store, its row in every index. */
export interface ServedState {
  readonly record_id: string;
  readonly collection: CollectionName;
  readonly change: number;
  readonly generation: number;
  readonly hash: string;
  readonly live: boolean;
}

/**
 * What a region's index is told of records. Everybody who tells it of the same change names the same work, so work that is
 * under way is awaited, and not repeated.
 */
export function restatedRows(
  records: readonly ServedState[],
): readonly (CommandOf<RegionProtocol, "rows.apply"> | CommandOf<RegionProtocol, "rows.index">)[] {
  const commands: (CommandOf<RegionProtocol, "rows.apply"> | CommandOf<RegionProtocol, "rows.index">)[] = [];
  const out = records.filter(({ live }) => !live);
  const [first] = out;
  if (first !== undefined)
    commands.push({
      type: "rows.apply",
      work_id: `out/${first.record_id}/${first.change}/${out.length}`,
      changes: out.map(
        ({ record_id, collection, change }): RowChange => ({ kind: "remove", record_id, collection, change }),
      ),
    });
  for (const [collection, back] of Map.groupBy(
    records.filter(({ live }) => live),
    (each) => each.collection,
  )) {
    const [one] = back;
    if (one === undefined) continue;
    commands.push({
      ...{ type: "rows.index", work_id: `back/${one.record_id}/${one.change}/${back.length}`, collection },
      references: back.map(({ record_id, generation, hash, change }) => ({
        ...{ record_id, generation, hash, change },
      })),
    });
  }
  return commands;
}
