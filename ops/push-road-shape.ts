// The shape of a push's road.

import {
  anyText,
  described,
  integer,
  listOf,
  named,
  nullable,
  type Of,
  object,
  timestamp,
} from "../protocol/shape.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });

export const pushRoad = named(
  "PushRoad",
  object({
    business_uuid: anyText,
    push_id: anyText,
    steps: described(
      listOf(
        object({
          at: timestamp,
          what: described(
            anyText,
            "A code: received, charged, numbered, accepted, held, stored, indexed and others.",
          ),
          words: anyText,
          actor: described(anyText, "`kind/id` of the actor whose journal says so."),
          region: nullable(anyText),
          node: described(
            nullable(anyText),
            "The node that committed it; null where it is not known any more.",
          ),
          chunk: described(nullable(count), "From 0; null for a step of the whole push."),
        }),
      ),
      "By time.",
    ),
    pruned: described(
      listOf(anyText),
      "Actors of which earlier events are only in the snapshot, so that steps may be missing.",
    ),
  }),
);
export type PushRoad = Of<typeof pushRoad>;
