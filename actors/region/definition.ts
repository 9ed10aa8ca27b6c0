// The region actor: the only writer of its region's index. No journal: who asked asks again (R1, R2 of the machine).

import { type RegionContext, regionMachine } from "../../machines/region.ts";
import type { RegionCommand, RowsReply } from "../messages/region.ts";
import type { ActorDefinition, ActorView, Decision, Effect, Message } from "../system/definition.ts";

/** Pieces of work under way at once; above it the asker waits. */
export const workMax = 64;

type Reply = RowsReply | { readonly status: "done" };

export const regionActor: ActorDefinition<RegionCommand, Reply> = {
  kind: "region",
  schemaVersion: 1,
  machine: regionMachine,
  durability: "memory",
  input: (id) => ({ region: id }),
  decide,
  effects: {
    closeReceipts: (_params: unknown, view: ActorView): readonly Effect[] => [
      { kind: "activity", name: "closeReceipts", params: { region: view.id } },
    ],
    forgetReceipts: (_params: unknown, view: ActorView): readonly Effect[] => [
      { kind: "activity", name: "forgetReceipts", params: { region: view.id } },
    ],
  },
};

function decide(command: RegionCommand, view: ActorView): Decision<Reply> {
  switch (command.type) {
    case "region.open":
      return { reply: { status: "done" } };
    case "rows.apply":
      return work(command.work_id, view, {
        name: "applyRows",
        params: { work_id: command.work_id, changes: command.changes },
      });
    case "rows.index":
      return work(command.work_id, view, {
        name: "indexRows",
        params: {
          work_id: command.work_id,
          collection: command.collection,
          references: command.references,
          asked_at_ms: view.nowMs,
        },
      });
    case "rows.applied":
      return { reply: { status: "done" }, events: [command] };
    case "rows.failed":
      return { reply: { status: "done" }, events: [command] };
    case "receipts.closed":
    case "receipts.forgotten":
      return { reply: { status: "done" }, events: [command] };
  }
}

/** Begins a piece of work, or answers what became of it. */
function work(
  workId: string,
  view: ActorView,
  activity: { readonly name: string; readonly params: unknown },
): Decision<Reply> {
  const { work: known } = view.snapshot.context as RegionContext;
  const result = known[workId];
  if (result) {
    const answered: Message = { type: "rows.answered", work_id: workId } as Message;
    return result.status === "applied"
      ? { reply: { status: "applied", stale: result.stale }, events: [answered] }
      : { reply: { status: "unavailable", retry_after_seconds: 1 }, events: [answered] };
  }
  if (result === null) return { wait: true };
  if (Object.values(known).filter((each) => each === null).length >= workMax)
    return { reply: { status: "unavailable", retry_after_seconds: 1 } };
  return {
    wait: true,
    events: [{ type: "rows.queued", work_id: workId } as Message],
    effects: [{ kind: "activity", ...activity }],
  };
}
