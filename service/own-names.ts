// Names of its own that a business may say: decided once for a push, before it is admitted, and kept with its facts, so that
// all who judge it judge alike. Where no name is protected nothing is asked for and nothing is read.

import type { BusinessCommand, PublishingFacts } from "../actors/messages/business.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import type { ContentLists } from "../protocol/records/content-rules.ts";
import { ownNames } from "../protocol/records/own-names.ts";
import { isObject } from "../protocol/records/record-validator.ts";
import { parseStrictJson } from "../protocol/strict-json.ts";
import type { RecordStore } from "../storage/record-store.ts";

export interface OwnNamesDeps {
  readonly records: Pick<RecordStore, "readServed">;
  readonly lists: ContentLists;
}

/** What publishing asks the business first; {@link decideOwnNames} needs its answer. */
export function factsQuestion({ lists }: Pick<OwnNamesDeps, "lists">, keyId: string): BusinessCommand {
  const question = { type: "publishing.facts", key_id: keyId } as const;
  return lists.protectedNames.length === 0 ? question : { ...question, with_business_files: true };
}

/** Null where no name is protected: all are its own. */
export async function decideOwnNames(
  { records, lists }: OwnNamesDeps,
  facts: PublishingFacts,
): Promise<readonly string[] | null> {
  if (lists.protectedNames.length === 0) return null;
  const served = await Promise.all((facts.business_files ?? []).map((id) => records.readServed(id)));
  const files = served.flatMap((each) => (each === null ? [] : fileOf(each.version.bytes)));
  return ownNames(facts.party?.legal_name ?? "", files);
}

/** The member of a push's facts. */
export function ownNamesFact(names: readonly string[] | null): { readonly own_names?: readonly string[] } {
  return names === null ? {} : { own_names: names };
}

function fileOf(bytes: Uint8Array): readonly JsonObject[] {
  const parsed = parseStrictJson(bytes);
  return parsed.ok && isObject(parsed.value) ? [parsed.value] : [];
}
