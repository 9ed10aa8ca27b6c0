import { bakery } from "./bakery.ts";
import { bookshop } from "./bookshop.ts";
import { diamondMerchant } from "./diamond-merchant.ts";
import { recruiter } from "./recruiter.ts";
import type { SampleBusiness } from "./sample.ts";

/** The sample businesses, in the order of `sandbox.json`; the first one's system pushes the catalogue. */
export const sampleBusinesses: readonly SampleBusiness[] = [diamondMerchant, bakery, recruiter, bookshop];
