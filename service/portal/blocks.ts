// The groups of AI companies, as switches of the people of a business: whom it blocks, and whom it could.
//   BK1. Shown are companies that asked for records of the business or that the public directory lists, and the groups that it blocks: of
//        a company that keeps to itself nobody learns here.
//   BK2. Only what is shown is offered to be confirmed, so nothing else is blocked; what is blocked can always be unblocked.
//   BK3. The business's actor decides, and keeps who asked for it; an AI company is told nothing (service/register/blocks.ts).

import { bindingRoles } from "../../actors/messages/members.ts";
import type { Platform } from "../../crypto/port.ts";
import { ok, type Result } from "../../protocol/result.ts";
import type { InsightStore } from "../../storage/insight-store.ts";
import type { GroupCompany } from "../register/company-groups.ts";
import type { Registered } from "../register/parties.ts";
import { analyticsDaysMax } from "../retrieval/analytics.ts";
import { dayOf } from "../retrieval/insight.ts";
import { accepted, actOf, type Owner, type OwnerRefusal } from "./owner.ts";
import type { SignedIn } from "./people.ts";

export interface BlockDeps extends Registered, Pick<Platform, "clock"> {
  readonly owner: Pick<Owner, "may">;
  readonly insightStore: Pick<InsightStore, "readShown">;
}

/** A group, with those of its companies that may be shown. */
export interface ShownGroup {
  readonly group: string;
  readonly blocked: boolean;
  readonly companies: readonly GroupCompany[];
}

export interface OwnBlocks {
  /** Those that are blocked first. For somebody who has a role in the business. */
  groups(uuid: string): Promise<readonly ShownGroup[]>;
  /** What was confirmed as it was shown. */
  choose(
    who: SignedIn,
    asked: { readonly uuid: string; readonly group: string; readonly blocked: boolean },
  ): Promise<Result<void, OwnerRefusal>>;
}

/** Companies of the directory that are shown beside those that asked. */
const listedMax = 500;
const dayMs = 86_400_000;

/** The blocks of a business, read by everybody with a role and chosen by those who bind it. Its methods throw {@link StoreError}. */
export function createOwnBlocks(deps: BlockDeps): OwnBlocks {
  return {
    groups: (uuid) => groupsOf(deps, uuid),
    choose: async (who, { uuid, group, blocked }) => {
      const allowed = await deps.owner.may(who, uuid, bindingRoles);
      if (!allowed.ok) return allowed;
      const act = actOf(who, `${blocked ? "Blocked" : "Unblocked"} at the portal: the group ${group}.`);
      return accepted(async () => {
        await deps.parties.setBlocked({ uuid, group, blocked, act });
        return ok(undefined);
      });
    },
  };
}

async function groupsOf(
  { register, parties, insightStore, clock }: BlockDeps,
  uuid: string,
): Promise<readonly ShownGroup[]> {
  const now = clock.now();
  const [from, to] = [dayOf(now - analyticsDaysMax * dayMs), dayOf(now)];
  const asked = (await insightStore.readShown(uuid, from, to)).map(({ company }) => company);
  // The actor's own state may be ahead of every register.
  const blocked = (await parties.party(uuid))?.blocked_groups ?? [];
  const visible = new Set([...asked, ...register.listedCompanies.all().slice(0, listedMax)]);
  const groups = new Set(blocked);
  for (const company of visible) {
    const party = await register.party(company);
    if (party?.kind === "ai_company") groups.add(party.group);
  }
  return [...groups].map((group) => ({
    group,
    blocked: blocked.includes(group),
    companies: register.companyGroups.membersOf(group).filter((each) => visible.has(each.uuid)),
  }));
}
