// POST /v1/key-directory/listing: whether the key directory lists the company that asks.

import { described, flag, type Of, object, uuid } from "../shape.ts";

export const listingBody = object({
  listed: described(flag, "Whether the public key directory lists your company, with all of its keys."),
});
export type ListingBody = Of<typeof listingBody>;

export const listingAnswer = object({ ai_company_uuid: uuid, listed: flag });
export type ListingAnswer = Of<typeof listingAnswer>;
