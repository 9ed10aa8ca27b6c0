// What operators took out of serving, as far as this region has heard: complete, like blocks, and bounded by the number of takedowns.
// Readers ask it beside what is stored: a large business leaves the indexes over minutes, and is served no more at once.

import type { TakedownFacts } from "../actors/messages/serving.ts";
import type { RegisterEntry } from "../storage/register-store.ts";

export interface TakenDown {
  put(entry: Pick<RegisterEntry, "key" | "change" | "body">): void;
  has(businessUuid: string, recordId: string): boolean;
  /** What keeps the record out of serving; null if nothing does. */
  of(businessUuid: string, recordId: string): TakedownFacts | null;
  /** The businesses of which nothing is served. */
  readonly businesses: readonly string[];
  /** The takedowns in force. */
  all(): readonly TakedownFacts[];
}

export function createTakenDown(): TakenDown {
  const inForce = new Map<string, TakedownFacts>();
  const changes = new Map<string, number>();
  let businesses: readonly string[] = [];
  const of: TakenDown["of"] = (uuid, recordId) => inForce.get(uuid) ?? inForce.get(recordId) ?? null;
  return {
    put: ({ key, change, body }) => {
      if ((changes.get(key) ?? -1) >= change) return;
      changes.set(key, change);
      const facts = JSON.parse(body) as TakedownFacts;
      if (facts.lifted_at === null) inForce.set(key, facts);
      else inForce.delete(key);
      businesses = [...inForce.values()].flatMap((each) =>
        each.record_id === null ? [each.business_uuid] : [],
      );
    },
    of,
    has: (uuid, recordId) => inForce.size > 0 && of(uuid, recordId) !== null,
    get businesses() {
      return businesses;
    },
    all: () => [...inForce.values()],
  };
}
