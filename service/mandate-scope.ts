// What the mandates of a key cover: what is published, where the request comes from, and when it was sealed. Each check passes on the
// mandates that allow it, of which the next needs one as well (F1 in find-mandate.ts).

import type { PushMandate } from "../actors/messages/push.ts";
import type { MandateCaps } from "../protocol/mandate.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import type { AsTable } from "./as-table.ts";
import type { Mandates, StandingMandate } from "./find-mandate.ts";
import { addressAllowed } from "./source-address.ts";

/** Those that cover publishing the collection, which includes taking its records out of serving. */
export function ofType(mandates: Mandates, collection: string): Mandates | Refused {
  const covering = those(
    mandates,
    ({ record_types, directions }) => record_types.includes(collection) && directions.includes("publish"),
  );
  return covering ?? refused(problem("out_of_scope", `No mandate in force covers publishing ${collection}.`));
}

/** Those whose allow-list, where they have one, contains the address. */
export function fromSource(
  mandates: Mandates,
  sourceIp: string | null,
  asTable: AsTable | null,
): Mandates | Refused {
  const covering = those(
    mandates,
    ({ source_ip_allow_list: list }) =>
      list === null || (sourceIp !== null && addressAllowed(sourceIp, list, asTable)),
  );
  const detail = "The request came from outside the mandate's source allow-list.";
  return covering ?? refused(problem("source_not_allowed", detail));
}

/** Those that were valid when the seal was made; if none was, all of them, and the seal is refused for that (publish-standing.ts). */
export function sealedUnder(mandates: Mandates, { sealed_at }: { readonly sealed_at: string }): Mandates {
  const wasValid = ({ sealed }: StandingMandate): boolean =>
    sealed.valid_from <= sealed_at && sealed_at < sealed.valid_until;
  return those(mandates, (_scope, mandate) => wasValid(mandate)) ?? mandates;
}

/** The largest of each cap: mandates side by side do not add up. */
export function capsOf(mandates: Mandates): MandateCaps {
  const caps = mandates.map(({ sealed }) => sealed.scope.caps);
  return {
    records_per_hour: Math.max(...caps.map((each) => each.records_per_hour)),
    bytes_per_day: Math.max(...caps.map((each) => each.bytes_per_day)),
  };
}

/** What a push keeps of its mandates: one whose countries a newer one has all of changes nothing. */
export function keptOf(mandates: Mandates): readonly PushMandate[] {
  const kept: PushMandate[] = [];
  for (const { listed, sealed } of mandates) {
    const { countries } = sealed.scope;
    const isContained = kept.some((each) => countries.every((country) => each.countries.includes(country)));
    if (!isContained) kept.push({ mandate_id: listed.mandate_id, sealed_by: listed.sealed_by, countries });
  }
  return kept;
}

function those(
  mandates: Mandates,
  covers: (scope: StandingMandate["sealed"]["scope"], mandate: StandingMandate) => boolean,
): Mandates | null {
  const [newest, ...others] = mandates.filter((each) => covers(each.sealed.scope, each));
  return newest === undefined ? null : [newest, ...others];
}
