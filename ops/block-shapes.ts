// The shapes of what operators are shown of blocks, groups and brands.

import { anyText, described, flag, listOf, named, object, type Shape, uuid } from "../protocol/shape.ts";

export const blockState = named(
  "BlockState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    blocked: described(
      listOf(
        object({
          group: anyText,
          companies: described(
            listOf(
              object({
                uuid,
                legal_name: anyText,
                former: described(flag, "It has left the group, and the block follows it."),
              }),
            ),
            "Whom the block meets: 10 at most.",
          ),
        }),
      ),
      "In the order in which they were blocked.",
    ),
  }),
);
const brandNames = listOf(anyText);
export const brandState = named(
  "BrandState",
  object({
    business_uuid: uuid,
    legal_name: anyText,
    owned: described(brandNames, "What its served business files name in `brands_owned`."),
    sold: described(brandNames, "What they name in `brands_sold`."),
    confirmed: described(
      brandNames,
      "What was confirmed as its own. Those among `owned` are protected while its certificate is active.",
    ),
  }),
);
export const groupState = named(
  "GroupState",
  object({
    company_uuid: uuid,
    legal_name: anyText,
    group: anyText,
    former_groups: described(listOf(anyText), "Groups that it left, whose blocks follow it."),
  }),
);

/** The outcome of an action without a moment from which on it is in force. */
export function changed<N extends string>(name: N, subject: Shape<unknown>) {
  return object({ changed: described(flag, "False where it was so before."), [name]: subject });
}
