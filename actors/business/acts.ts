// Changes of the register that somebody answers for with a name and a reason: operators, as a rule. An event of the journal
// says so too, but events are pruned by snapshots; these rows stay.

import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { PartitionRow, RowSelection } from "../../storage/actor-store.ts";
import type { BusinessCommand, KeptAct, RegisterAct } from "../messages/business.ts";
import type { ActorView } from "../system/definition.ts";
import { rt } from "./rows.ts";

type ActsCommand = Extract<BusinessCommand, { type: "acts.read" }>;

/** Acts that are read at once. */
const actsMax = 100;

export function actRow(
  { by, reason }: RegisterAct,
  done: Pick<KeptAct, "act" | "entry" | "change">,
  nowMs: number,
): PartitionRow {
  const kept: KeptAct = { ...done, at: formatTimestamp(nowMs), by, reason };
  return { rt: rt.act, k: done.change, k2: done.entry, body: JSON.stringify(kept) };
}

export function selectActs({ after, limit }: ActsCommand): readonly RowSelection[] {
  return [{ rt: rt.act, after: { k: after, k2: "\uffff" }, limit: Math.min(limit, actsMax) }];
}

/** Oldest first. */
export function actsAfter({ after, limit }: ActsCommand, view: ActorView): readonly KeptAct[] {
  const rows = view.rowsOf(rt.act).filter(({ k }) => k > after);
  return rows.slice(0, Math.min(limit, actsMax)).map(({ body }) => JSON.parse(body) as KeptAct);
}
