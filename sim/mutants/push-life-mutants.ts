// Mutants of what happens to a push besides its publication: cancellation, validation, giving up, notices.

import { answers } from "../../actors/business/rows.ts";
import type { ActivityContext } from "../../actors/system/definition.ts";
import { deciding, hidingRows, type Mutant, mutant } from "./mutant.ts";

/** The number of the business actor's table of cancelled pushes. */
const cancelledRows = 40;

export const pushLifeMutants: readonly Mutant[] = [
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
