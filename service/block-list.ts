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

interface Blockers {
  readonly businesses: Set<string>;
  /** The same as a list, until one more blocks the group or one fewer. */
  listed: readonly string[] | null;
}

export function createBlockList(): BlockList {
  const ofBusiness = new Map<string, { readonly groups: readonly string[]; readonly change: number }>();
  const ofGroup = new Map<string, Blockers>();
  const blockersOf = (group: string): readonly string[] => {
    const found = ofGroup.get(group);
    if (found === undefined) return nobody;
    found.listed ??= [...found.businesses];
    return found.listed;
  };
  const add = (group: string, uuid: string): void => {
    const found = ofGroup.get(group) ?? { businesses: new Set(), listed: null };
    found.businesses.add(uuid);
    found.listed = null;
    ofGroup.set(group, found);
  };
  const remove = (group: string, uuid: string): void => {
    const found = ofGroup.get(group);
    if (found === undefined) return;
    found.businesses.delete(uuid);
    found.listed = null;
    if (found.businesses.size === 0) ofGroup.delete(group);
  };
  return {
    put: (uuid, groups, change) => {
      const known = ofBusiness.get(uuid);
      if (known !== undefined && known.change > change) return;
      for (const group of known?.groups ?? nobody) if (!groups.includes(group)) remove(group, uuid);
      for (const group of groups) add(group, uuid);
      ofBusiness.set(uuid, { groups, change });
    },
    blockedBusinesses: ({ group, former_groups: former = nobody }) => {
      const own = blockersOf(group);
      if (former.length === 0) return own;
      return [...new Set([...own, ...former.flatMap(blockersOf)])];
    },
    hasBlocked: (uuid, { group, former_groups: former = nobody }) => {
      const blocked = ofBusiness.get(uuid)?.groups;
      return blocked !== undefined && [group, ...former].some((each) => blocked.includes(each));
    },
  };
}
