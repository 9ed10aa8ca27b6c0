// What a mandate covers: what is published, and where the request comes from.

import type { Mandate } from "../protocol/mandate.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import type { AsTable } from "./as-table.ts";
import { addressAllowed } from "./source-address.ts";

/** Null if the mandate covers publishing the collection, which includes taking its records out of serving. */
export function checkType({ scope }: Pick<Mandate, "scope">, collection: string): Refused | null {
  return scope.record_types.includes(collection) && scope.directions.includes("publish")
    ? null
    : refused(problem("out_of_scope", `The mandate does not cover publishing ${collection}.`));
}

/** Null if the mandate's allow-list, where it has one, contains the address. */
export function checkSource(
  { scope }: Pick<Mandate, "scope">,
  sourceIp: string | null,
  asTable: AsTable | null,
): Refused | null {
  const allowList = scope.source_ip_allow_list;
  if (allowList === null) return null;
  return sourceIp !== null && addressAllowed(sourceIp, allowList, asTable)
    ? null
    : refused(
        problem("source_not_allowed", "The request came from outside the mandate's source allow-list."),
      );
}
