// Links by which an owner does on a page of the portal what a system asks for.

import { collectionNames } from "../protocol/identifiers.ts";
import { mandateDaysMax } from "../protocol/limits.ts";
import { type Asked, askedIn, linkTo } from "../protocol/portal-link.ts";

export type { Asked };
export { collectionNames as mandateTypes, mandateDaysMax };

/** The link to the portal at this origin; null where its page would not show what is asked. */
export function portalLink(origin: string, asked: Asked): string | null {
  const link = linkTo(origin, asked);
  return askedIn(link.slice(link.indexOf("#") + 1)) === null ? null : link;
}
