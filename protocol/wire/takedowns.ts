// What a business reads of takedowns. The specification names no such read; it is the service's own.

import { anyText, described, listOf, named, nullable, type Of, object, timestamp } from "../shape.ts";
import { recordId } from "./push.ts";

export const takedownMembers = {
  record_id: described(nullable(recordId), "Null where everything of the business is out of serving."),
  statement_of_reasons: described(anyText, "What the operators state to the business."),
  taken_down_at: timestamp,
  lifted_at: described(nullable(timestamp), "Null while it is in force."),
};

export const takedownsAnswer = named(
  "TakedownsAnswer",
  object({ takedowns: described(listOf(object(takedownMembers)), "Newest first.") }),
);
export type TakedownsAnswer = Of<typeof takedownsAnswer>;
