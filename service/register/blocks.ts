// What operators change for businesses and AI companies: the groups of AI companies that a business blocks, as its people do at the
// portal (service/portal/blocks.ts), and the group that a company is in.
// Also the brands that operators confirm.
//   K1. Only a group that exists can be blocked: one that an AI company is or was in, as far as this region has heard. A group
//       that is blocked can always be unblocked.
//   K2. Everything is decided by the party's actor, which keeps who asked for it and why, and is in force in every region
//       within `freshMs` of its register once its store has it.
//   K3. An act names the change of the party that was seen: one that arrives late, after its opposite, changes nothing.
//   K4. Nothing here is shown to an AI company: whether a business blocks it is never answered.

import type { PartyFacts } from "../../actors/messages/business.ts";
import type { BrandFacts } from "../../actors/messages/domains.ts";
import type { RegisterAct, Seen } from "../../actors/messages/protocol.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { GroupCompany } from "./company-groups.ts";
import type { Registered } from "./parties.ts";
import { RegisterRefused } from "./parties.ts";

export interface BlockedGroup {
  readonly group: string;
  /** Whom the block meets, at most {@link companiesShownMax} of them. */
  readonly companies: readonly GroupCompany[];
}

export interface BlockState {
  readonly business_uuid: string;
  readonly legal_name: string;
  /** In the order in which they were blocked. */
  readonly blocked: readonly BlockedGroup[];
  /** The number of the party's last change. */
  readonly change: number;
}

export interface GroupState {
  readonly company_uuid: string;
  readonly legal_name: string;
  readonly group: string;
  readonly former_groups: readonly string[];
  readonly change: number;
}

type Found<T> = Promise<Result<T, "unknown">>;
/** The result of a request; `changed` is false if it was already so. */
type Outcome<T> = Found<{ readonly changed: boolean; readonly subject: T }>;

export interface Blocks {
  ofBusiness(uuid: string): Found<BlockState>;
  /** A refusal by the business's actor, and a group that does not exist, are thrown as {@link RegisterRefused}. */
  setBlocked(
    request: {
      readonly business_uuid: string;
      readonly group: string;
      readonly blocked: boolean;
      readonly act: RegisterAct;
    } & Seen,
  ): Outcome<BlockState>;
  ofCompany(uuid: string): Found<GroupState>;
  /** The group need not exist: the company is then its first. Refusals are thrown as {@link RegisterRefused}. */
  joinGroup(
    request: {
      readonly company_uuid: string;
      readonly group: string;
      readonly act: RegisterAct;
    } & Seen,
  ): Outcome<GroupState>;
}

/** Maximum number of companies that are shown for each blocked group. */
export const companiesShownMax = 10;

/** For operators: which groups of AI companies a business has blocked, and changes of that. */
export function createBlocks(deps: Registered): Blocks {
  const ofBusiness: Blocks["ofBusiness"] = async (uuid) => {
    const found = await partyOf(deps, uuid, "business");
    return found === null ? noBusiness : ok(blockState(deps, found));
  };
  const ofCompany: Blocks["ofCompany"] = async (uuid) => {
    const found = await partyOf(deps, uuid, "ai_company");
    return found === null ? noCompany : ok(groupState(found));
  };
  return {
    ofBusiness,
    setBlocked: async ({ business_uuid: uuid, ...asked }) => {
      const { group, blocked } = asked;
      const before = await ofBusiness(uuid);
      if (!before.ok) return before;
      const isKnown = before.value.blocked.some((each) => each.group === group);
      if (blocked && !isKnown && deps.register.companyGroups.membersOf(group).length === 0)
        throw new RegisterRefused("group_unknown", "No AI company is or was in a group of this name.");
      const changed = await deps.parties.setBlocked({ uuid, ...asked });
      const after = await ofBusiness(uuid);
      return after.ok ? ok({ changed, subject: after.value }) : after;
    },
    ofCompany,
    joinGroup: async ({ company_uuid: uuid, ...asked }) => {
      const before = await ofCompany(uuid);
      if (!before.ok) return before;
      const changed = await deps.parties.joinGroup({ uuid, ...asked });
      const after = await ofCompany(uuid);
      return after.ok ? ok({ changed, subject: after.value }) : after;
    },
  };
}

const noBusiness = refuse("unknown", "No business with this uuid is registered here.");
const noCompany = refuse("unknown", "No AI company with this uuid is registered here.");

/** The party as its actor has it, which may be ahead of every register. */
async function partyOf(
  { parties, register }: Registered,
  uuid: string,
  kind: PartyFacts["kind"],
): Promise<Numbered | null> {
  if (!isUuidV4(uuid) || (await register.party(uuid))?.kind !== kind) return null;
  const { facts: party, change } = await parties.entry(uuid);
  return party && { party, change };
}

interface Numbered {
  readonly party: PartyFacts;
  readonly change: number;
}

function blockState({ register }: Registered, { party, change }: Numbered): BlockState {
  const blocked = party.blocked_groups.map((group) => ({
    group,
    companies: register.companyGroups.membersOf(group).slice(0, companiesShownMax),
  }));
  return { business_uuid: party.uuid, legal_name: party.legal_name, blocked, change };
}

function groupState({ party, change }: Numbered): GroupState {
  const { uuid, legal_name, group, former_groups = [] } = party;
  return { company_uuid: uuid, legal_name, group, former_groups, change };
}

// What operators confirm of brands: that a name is a business's own, so that no other business's records may use it.
//   Q1. A confirmed brand is protected while a served business file of the business names it in `brands_owned` and its certificate is
//       active (service/register/register.ts); the business itself may use it from its confirmation on.
//   Q2. The party's actor decides and keeps who asked for it and why; it is in force in every region within `freshMs` of its register.

export interface BrandState extends BrandFacts {
  readonly business_uuid: string;
  readonly legal_name: string;
  readonly change: number;
}

export interface Brands {
  ofBusiness(uuid: string): Found<BrandState>;
  /** `changed` is false if it was already so. Refusals are thrown as `RegisterRefused`. */
  confirm(
    request: {
      readonly business_uuid: string;
      readonly name: string;
      readonly confirmed: boolean;
      readonly act: RegisterAct;
    } & Seen,
  ): Found<{ readonly changed: boolean; readonly subject: BrandState }>;
}

/** For operators: which brands of a business are confirmed, and the confirmation of one. */
export function createBrands(deps: Registered): Brands {
  const ofBusiness: Brands["ofBusiness"] = async (uuid) => {
    const found = await partyOf(deps, uuid, "business");
    if (found === null) return noBusiness;
    const { party, change } = found;
    const { owned = [], sold = [], confirmed = [] } = party.brands ?? {};
    return ok({ business_uuid: uuid, legal_name: party.legal_name, owned, sold, confirmed, change });
  };
  return {
    ofBusiness,
    confirm: async ({ business_uuid: uuid, ...asked }) => {
      const before = await ofBusiness(uuid);
      if (!before.ok) return before;
      const changed = await deps.parties.confirmBrand({ uuid, ...asked });
      const after = await ofBusiness(uuid);
      return after.ok ? ok({ changed, subject: after.value }) : after;
    },
  };
}
