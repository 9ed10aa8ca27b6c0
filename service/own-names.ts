// The names that a business may use as its own: decided once for a push, before it is admitted, and stored with its
// facts, so that all who judge it judge alike.

import type { PublishingFacts } from "../actors/messages/business.ts";
import { assignedNames, type ContentLists } from "../protocol/records/content-lists.ts";
import { ownNames } from "../protocol/records/own-names.ts";

/** The names under which the business was verified, then those that the operator's lists assign to it. */
export function decideOwnNames(
  lists: ContentLists,
  businessUuid: string,
  { party }: Pick<PublishingFacts, "party">,
): readonly string[] {
  const certified = lists.certified.legalNameOf(businessUuid);
  const legalNames = [certified, party?.legal_name].filter((name) => typeof name === "string");
  return ownNames(legalNames, assignedNames(lists, businessUuid));
}
