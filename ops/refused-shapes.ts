// The shapes of refused requests, as pages and scripts read them.

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
import { missing } from "./inspection-shapes.ts";

const count = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
const refusedTimes = { count, first_at: timestamp, last_at: timestamp };
const refusedCode = object({ surface: anyText, code: anyText, ...refusedTimes });
export type RefusedCode = Of<typeof refusedCode>;
const refusedRequest = object({
  surface: anyText,
  code: described(anyText, "The code of its problem."),
  key_id: described(
    nullable(anyText),
    "The known key that it named; null if it named none. Nothing proves that the sender has the key.",
  ),
  from: described(nullable(anyText), "The address that it came from; null if it is not known."),
  ...refusedTimes,
});
export type RefusedRequest = Of<typeof refusedRequest>;
export const refusedRequests = named(
  "RefusedRequests",
  object({
    codes: described(listOf(refusedCode), "By surface and code, since the nodes started, the newest first."),
    requests: described(
      listOf(refusedRequest),
      "By surface, code, key and address, the newest first, 100 at most: what was refused within a day.",
    ),
    forgotten: described(count, "How many of these were forgotten because there were too many."),
    missing,
  }),
);
export type RefusedRequests = Of<typeof refusedRequests>;
