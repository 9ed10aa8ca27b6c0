// What a terminal asks an owner for, as a link to the portal. It is after the #, so no server and no referrer is told of it. It proves
// nothing: the page shows what is asked and judges it as it judges a form.

import { parseBase64Url, toBase64Url, utf8 } from "./bytes.ts";
import { mandateDaysMax } from "./limits.ts";
import { mandateScope } from "./mandate.ts";
import {
  anyObject,
  either,
  integer,
  keyId,
  literal,
  type Of,
  object,
  parseShaped,
  publicJwk,
  uuid,
} from "./shape.ts";

const asked = either(
  /** What `svc prove-key` prints. */
  object({
    ask: literal("key.register"),
    proven: object({ party_uuid: uuid, public_key: publicJwk, proof: anyObject }),
  }),
  object({
    ask: literal("mandate"),
    uuid,
    key_id: keyId,
    scope: mandateScope,
    days: integer({ min: 1, max: mandateDaysMax }),
  }),
);
export type Asked = Of<typeof asked>;

/** A browser takes longer addresses than any mandate needs. */
export const linkCodeLengthMax = 32_000;

/** The link to the portal at this origin. */
export function linkTo(origin: string, asking: Asked): string {
  return `${origin}/asked#${toBase64Url(utf8(JSON.stringify(asking)))}`;
}

/** What the code of a link asks for; null for any other text. */
export function askedIn(code: string): Asked | null {
  const bytes = code.length <= linkCodeLengthMax ? parseBase64Url(code) : null;
  return bytes && parseShaped(asked, bytes);
}
