// Mutants of what happens to a push besides its publication: cancellation, validation, giving up, notices.

import { answers } from "../../actors/business/rows.ts";
import type { ActivityContext, ActorView } from "../../actors/system/definition.ts";
import { deciding, hidingRows, type Mutant, mutant, viewing } from "./mutant.ts";

/** The number of the business actor's table of cancelled pushes. */
const cancelledRows = 40;

export const pushLifeMutants: readonly Mutant[] = [
  // It is caught because the system fails a turn that decides such an event (T1 of turn.ts); otherwise it would leave no trace.
  mutant(
    "machineIsNotAsked",
    "a push decides what its machine does not take",
    deciding("push", (truly, command, view) => truly(command, withoutRefusals(view))),
    { seedsMax: 1_500 },
  ),
  mutant(
    "cancelledThoughAssigned",
    "a push is cancelled although its records have their generations",
    deciding("business", (truly, command, view) =>
      truly(command, command.type === "push.cancel" ? hidingRows(view, (rt) => rt === answers.rt) : view),
    ),
  ),
  mutant(
    "cancellationIsForgotten",
    "a cancelled push gets generations",
    deciding("business", (truly, command, view) =>
      truly(command, command.type === "chunk.assign" ? hidingRows(view, (rt) => rt === cancelledRows) : view),
    ),
    { seedsMax: 1_500 },
  ),
  mutant(
    "validationAdmits",
    "a batch that is only validated is numbered",
    deciding("business", (truly, command, view) => {
      const decision = truly(command, view);
      const { context } = view.snapshot;
      const { push_id } = command as { readonly push_id?: string };
      if (command.type !== "push.preview" || context.pending.includes(push_id)) return decision;
      const number = context.number + 1;
      return { ...decision, events: [{ type: "push.admitted", push_id, number, held: false }] };
    }),
  ),
  mutant(
    "chunkIsNeverGivenUp",
    "a chunk that keeps failing is tried for ever",
    (changed) => ({
      activities: (given) => {
        const insisting = (name: string) => async (params: unknown, context: ActivityContext) => {
          const command = await given[name]?.(params, context);
          if (command === undefined || command === null || !("failed" in command)) return command ?? null;
          changed();
          throw new Error("tried again");
        };
        const names = ["processChunk", "processInlineChunk"];
        return { ...given, ...Object.fromEntries(names.map((name) => [name, insisting(name)])) };
      },
    }),
    { seedsMax: 1_500 },
  ),
  mutant("noticeIsDropped", "a finished push gives no notice", (changed) => ({
    activities: (given) => ({
      ...given,
      recordNotice: async () => {
        changed();
        return null;
      },
    }),
  })),
];

/** The view of a machine that would take everything. */
function withoutRefusals(view: ActorView): ActorView {
  return {
    ...viewing(view, (row) => row),
    snapshot: Object.create(view.snapshot, { can: { value: () => true } }),
  };
}
