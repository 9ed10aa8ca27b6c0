// The brands of a business: what its files declare, and what operators confirm.

import type { RegisterAct, RegisterReply } from "./business.ts";

/** The brands of a business, each name once. */
export interface BrandFacts {
  /** Those that its served business files name in `brands_owned`. */
  readonly owned: readonly string[];
  /** Those that its served business files name in `brands_sold`. */
  readonly sold: readonly string[];
  /** Those that an operator confirmed as its own, whether a file names them or not. */
  readonly confirmed: readonly string[];
}

export interface BrandsProtocol {
  /** Confirms a brand as this business's own, or takes the confirmation back. */
  "brand.confirm"(command: {
    readonly name: string;
    readonly confirmed: boolean;
    readonly act?: RegisterAct;
  }): RegisterReply;
}
