// What an AI company decides of itself, as a change of its register entry: its group, whether the key directory lists it, and the terms that
// it agrees to.

import type { BusinessContext } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RegisterReply } from "../messages/business.ts";
import type { CompanyProtocol } from "../messages/company.ts";
import type { CommandOf } from "../messages/protocol.ts";
import type { Change } from "./register.ts";
import type { BusinessView } from "./view.ts";

/** Maximum number of former groups of one AI company: they are part of its context; none is dropped, since its blocks follow the company. */
export const formerGroupsMax = 100;
/** Maximum number of agreements in the context of an AI company, for the same reason; the acts keep the older ones as well. */
export const agreementsMax = 100;

type Answer = Change | RegisterReply;

const done: RegisterReply = { status: "done" };

function refusal(code: string, detail: string): RegisterReply {
  return { status: "refused", code, detail };
}

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
