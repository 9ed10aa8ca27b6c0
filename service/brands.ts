// What operators confirm of brands: that a name is a business's own, so that no other business's records may use it.
//   Q1. A confirmed brand is protected while a served business file of the business names it in `brands_owned` and its certificate is
//       active (service/certified-names.ts); the business itself may use it from its confirmation on.
//   Q2. The party's actor decides and keeps who asked for it and why; it is in force in every region within `freshMs` of its register.

import type { BrandFacts } from "../actors/messages/brands.ts";
import type { RegisterAct } from "../actors/messages/business.ts";
import { isUuidV4 } from "../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../protocol/result.ts";
import type { Parties } from "./parties.ts";
import type { Register } from "./register.ts";

export interface BrandsDeps {
  readonly parties: Pick<Parties, "party" | "confirmBrand">;
  readonly register: Pick<Register, "party">;
}

export interface BrandState extends BrandFacts {
  readonly business_uuid: string;
  readonly legal_name: string;
}

type Found<T> = Promise<Result<T, "unknown">>;

export interface Brands {
  ofBusiness(uuid: string): Found<BrandState>;
  /** `changed` is false if it was already so. Refusals are thrown as `RegisterRefused`. */
  confirm(request: {
    readonly business_uuid: string;
    readonly name: string;
    readonly confirmed: boolean;
    readonly act: RegisterAct;
  }): Found<{ readonly changed: boolean; readonly subject: BrandState }>;
}

export function createBrands({ parties, register }: BrandsDeps): Brands {
  const ofBusiness: Brands["ofBusiness"] = async (uuid) => {
    if (!isUuidV4(uuid) || (await register.party(uuid))?.kind !== "business") return noBusiness;
    const party = await parties.party(uuid);
    if (party === null) return noBusiness;
    const { owned = [], sold = [], confirmed = [] } = party.brands ?? {};
    return ok({ business_uuid: uuid, legal_name: party.legal_name, owned, sold, confirmed });
  };
  return {
    ofBusiness,
    confirm: async ({ business_uuid: uuid, ...asked }) => {
      const before = await ofBusiness(uuid);
      if (!before.ok) return before;
      const changed = await parties.confirmBrand({ uuid, ...asked });
      const after = await ofBusiness(uuid);
      return after.ok ? ok({ changed, subject: after.value }) : after;
    },
  };
}

const noBusiness = refuse("unknown", "No business with this uuid is registered here.");
