// Register changes for which somebody is accountable with a name and a reason, usually an operator. An event in the journal
// records this as well, but snapshots prune events; these rows stay.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessCommand, KeptAct, RegisterAct } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { acts } from "./rows.ts";

type ActsCommand = Extract<BusinessCommand, { type: "acts.read" }>;

/** Maximum number of acts read at once. */
const actsMax = 100;

export function actRow(
  { by, reason }: RegisterAct,
  done: Pick<KeptAct, "act" | "entry" | "change">,
  nowMs: number,
): PartitionRow {
  const kept: KeptAct = { ...done, at: formatTimestamp(nowMs), by, reason };
  return acts.write(done.entry, kept, { k: done.change });
}

export function selectActs({ after, limit }: ActsCommand): readonly RowSelection[] {
  return [acts.selectPage(Math.min(limit, actsMax), { k: after, k2: "\uffff" })];
}

/** Returns the oldest first. */
export function actsAfter({ after, limit }: ActsCommand, view: ActorView): readonly KeptAct[] {
  const kept = acts.readAll(view).filter(({ k }) => k > after);
  return kept.slice(0, Math.min(limit, actsMax)).map(({ value }) => value);
}
