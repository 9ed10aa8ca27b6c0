// Which groups of AI companies there are, and which companies are or were in each; complete for all companies.

import type { PartyFacts } from "../../actors/messages/business.ts";

/** A company of a group; `former` for one that left it, whom its blocks still follow. */
export interface GroupCompany {
  readonly uuid: string;
  readonly legal_name: string;
  readonly former: boolean;
}

export interface CompanyGroups {
  /** Replaces the groups of a company, unless a higher change was already seen; a business has none. */
  put(party: PartyFacts, change: number): void;
  /** In the order of their uuids; empty for a group that does not exist. */
  membersOf(group: string): readonly GroupCompany[];
}

/** The groups of AI companies, from the entries of the register in whatever order they come. */
export function createCompanyGroups(): CompanyGroups {
  const companies = new Map<string, { readonly party: PartyFacts; readonly change: number }>();
  const members = new Map<string, Set<string>>();
  const groupsOf = ({ group, former_groups: former = [] }: PartyFacts) => [group, ...former];
  return {
    put: (party, change) => {
      const known = companies.get(party.uuid);
      if (party.kind !== "ai_company" || (known !== undefined && known.change > change)) return;
      companies.set(party.uuid, { party, change });
      // A company keeps every group that it was in, so it is never taken out of one.
      for (const group of groupsOf(party)) {
        const known = members.get(group) ?? new Set();
        members.set(group, known.add(party.uuid));
      }
    },
    membersOf: (group) =>
      [...(members.get(group) ?? [])].sort().flatMap((uuid) => {
        const party = companies.get(uuid)?.party;
        if (party === undefined) return [];
        return [{ uuid, legal_name: party.legal_name, former: party.group !== group }];
      }),
  };
}
