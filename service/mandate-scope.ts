// What a mandate covers: what is published, and where the request comes from.

import type { Mandate } from "../protocol/mandate.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import type { AsTable } from "./as-table.ts";
import { addressAllowed } from "./source-address.ts";

/** Null if the mandate covers publishing the collection from this address. */
export function checkScope(
  { scope }: Pick<Mandate, "scope">,
  request: { readonly collection: string; readonly sourceIp: string | null },
  asTable: AsTable | null,
): Refused | null {
  if (!scope.record_types.includes(request.collection) || !scope.directions.includes("publish")) {
    return refused(problem("out_of_scope", `The mandate does not cover publishing ${request.collection}.`));
  }
  const allowList = scope.source_ip_allow_list;
  if (allowList === null) return null;
  return request.sourceIp !== null && addressAllowed(request.sourceIp, allowList, asTable)
    ? null
    : refused(
        problem("source_not_allowed", "The request came from outside the mandate's source allow-list."),
      );
}
