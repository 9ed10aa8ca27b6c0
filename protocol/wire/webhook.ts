// The body of what is delivered to an endpoint of a business (docs/schemas/webhook-1.json): ids alone.

import type { JsonObject } from "../json/canonical-json.ts";
import {
  described,
  integer,
  keyId,
  listOf,
  literal,
  matching,
  namedObject,
  nullable,
  type Of,
  object,
  oneOf,
  optional,
  text,
  timestamp,
  uuid,
} from "../shape.ts";
import { pushId, recordId } from "./push.ts";

/** The tag of the signature (RFC 9421). */
export const webhookTag = "svc-webhook";

/** What people and endpoints of a party are told of. */
export const noticeKinds = [
  "push.ended",
  "push.held",
  "mandate.ends",
  "certificate.ends",
  "key.network",
  "takedown",
  "sealer.added",
  "role.changed",
  "webhook.off",
] as const;

const seconds = integer({ min: 0, max: Number.MAX_SAFE_INTEGER });
export const endpointId = matching(/^whk_[0-9a-f]{16}$/, "an endpoint id");

export const webhookBody = object({
  v: literal(1),
  id: described(
    matching(/^whd_[0-9a-f]{32}$/, "a delivery id"),
    "The same in every attempt: what came before under it is ignored.",
  ),
  kind: described(
    oneOf([...noticeKinds, "test"]),
    "Further kinds may come: ignore those that you do not know.",
  ),
  business_uuid: uuid,
  push_id: optional(pushId),
  mandate_id: optional(text(128)),
  key_id: optional(keyId),
  record_id: optional(described(nullable(recordId), "Null for everything that the business publishes.")),
  endpoint_id: optional(endpointId),
  at: described(timestamp, "When it became true."),
});
export type WebhookBody = Of<typeof webhookBody>;

/** A key that signs what is delivered, as a JWK (RFC 7517). */
const webhookKey = object({
  kty: literal("OKP"),
  crv: literal("Ed25519"),
  x: text(64),
  kid: described(keyId, "Its RFC 7638 thumbprint, the `keyid` of what it signed."),
  use: literal("sig"),
  nbf: described(seconds, "From when it signs, in Unix seconds."),
  exp: described(seconds, "Until when it signs."),
});
export type WebhookKey = Of<typeof webhookKey>;

export const webhookKeysMediaType = "application/http-message-signatures-directory+json";
export const webhookKeysAnswer = namedObject("WebhookKeysAnswer", { keys: listOf(webhookKey) });

/** @internal for tests: the JSON Schema of the body, as docs/schemas has it. */
export function webhookSchema(): JsonObject {
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    $id: "urn:svc:webhook:1",
    title: "Body of a webhook",
    ...webhookBody.schema,
  };
}
