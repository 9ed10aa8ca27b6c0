// Which businesses have blocked which groups of AI companies; complete for all businesses.

import type { PartyFacts } from "../actors/messages/business.ts";

/** A company meets the blocks of its own group and of every group that it was in. */
export type GroupMember = Pick<PartyFacts, "group" | "former_groups">;

const nobody: readonly string[] = Object.freeze([]);

export interface BlockList {
  /** Replaces what a business blocks, unless a higher change was already seen. */
  put(businessUuid: string, groups: readonly string[], change: number): void;
  /** Every business that blocked a group of the company, once. */
  blockedBusinesses(company: GroupMember): readonly string[];
  hasBlocked(businessUuid: string, company: GroupMember): boolean;
}

export function createBlockList(): BlockList {
  const ofBusiness = new Map<string, { readonly groups: readonly string[]; readonly change: number }>();
  const ofGroup = new Map<string, readonly string[]>();
  const update = (group: string, change: (businesses: readonly string[]) => readonly string[]): void => {
    const businesses = change(ofGroup.get(group) ?? nobody);
    if (businesses.length === 0) ofGroup.delete(group);
    else ofGroup.set(group, businesses);
  };
  return {
    put: (uuid, groups, change) => {
      const known = ofBusiness.get(uuid);
      if (known !== undefined && known.change > change) return;
      for (const group of known?.groups ?? nobody) {
        if (!groups.includes(group))
          update(group, (businesses) => businesses.filter((each) => each !== uuid));
      }
      for (const group of groups) {
        if (known?.groups.includes(group) !== true) update(group, (businesses) => [...businesses, uuid]);
      }
      if (known !== undefined || groups.length > 0) ofBusiness.set(uuid, { groups, change });
    },
    blockedBusinesses: ({ group, former_groups: former = nobody }) => {
      const own = ofGroup.get(group) ?? nobody;
      if (former.length === 0) return own;
      return [...new Set([...own, ...former.flatMap((each) => ofGroup.get(each) ?? nobody)])];
    },
    hasBlocked: (uuid, { group, former_groups: former = nobody }) => {
      const blocked = ofBusiness.get(uuid)?.groups;
      return blocked !== undefined && [group, ...former].some((each) => blocked.includes(each));
    },
  };
}
