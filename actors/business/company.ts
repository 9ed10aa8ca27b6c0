// What an AI company decides for itself: its group, whether it is listed, and the terms that it agrees to.

import type { BusinessContext } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { CompanyProtocol } from "../messages/company.ts";
import type { CommandOf } from "../messages/protocol.ts";
import { type Answer, done, refusal } from "./register-answer.ts";
import type { BusinessView } from "./view.ts";

/** Maximum number of former groups of one AI company, because they are part of its context, which is bounded; none is dropped, since its blocks follow the company. */
export const formerGroupsMax = 100;
/** Maximum number of agreements in the context of an AI company, for the same reason; the acts keep the older ones as well. */
export const agreementsMax = 100;

/** Whatever blocks the group that a company leaves blocks the company as well: a block cannot be shed by a change. */
export function joinGroup(group: string, { uuid, party, blockedGroups }: BusinessContext): Answer {
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "Only an AI company belongs to a group.");
  if (party.group === group) return done;
  const left = (party.former_groups ?? []).filter((each) => each !== group);
  const former_groups = [...left, party.group];
  if (former_groups.length > formerGroupsMax)
    return refusal("too_many_groups", `An AI company may have at most ${formerGroupsMax} former groups.`);
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, group, former_groups },
    events: [{ type: "group.joined", group, former_groups }],
  };
}

export function chooseListing(listed: boolean, { uuid, party, blockedGroups }: BusinessContext): Answer {
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "The key directory lists AI companies only.");
  if ((party.listed ?? false) === listed) return done;
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, listed },
    events: [{ type: "directory.chosen", listed }],
  };
}

/** The whole text is agreed to: another text under the same number is another agreement, which takes its place. */
export function agreeToTerms(
  { version, sha256 }: CommandOf<CompanyProtocol, "terms.agree">,
  view: BusinessView,
): Answer {
  const { uuid, party, blockedGroups } = view.snapshot.context;
  if (party?.kind !== "ai_company")
    return refusal("role_not_allowed", "Only an AI company agrees to these terms.");
  const known = party.agreements ?? [];
  if (known.some((each) => each.version === version && each.sha256 === sha256)) return done;
  const agreement = { version, sha256, agreed_at: formatTimestamp(view.nowMs) };
  const agreements = [...known.filter((each) => each.version !== version), agreement]
    .sort((a, b) => a.version - b.version)
    .slice(-agreementsMax);
  return {
    key: `party/${uuid}`,
    body: { ...party, blocked_groups: blockedGroups, agreements },
    events: [{ type: "terms.agreed", agreements }],
  };
}
