// Accepted keys: what of a verified key set judges rows and receipts, as JSON that can be kept.
//   AK1. They have a format of their own, so no key set of the service can pass for them.
//   AK2. They have the keys of rows and receipts alone, which are Ed25519.

import { readPayload } from "../protocol/dsse.ts";
import type { JsonValue } from "../protocol/json/canonical-json.ts";
import type { Verdict } from "../protocol/reason-codes.ts";
import { refuse } from "../protocol/result.ts";
import {
  keyId,
  listOf,
  literal,
  matching,
  nothing,
  nullable,
  type Of,
  object,
  oneOf,
  region,
  timestamp,
} from "../protocol/shape.ts";
import { isObject } from "../std/json-pointer.ts";
import type { Trust } from "./trust.ts";

const format = "svc-accepted-keys/1";

const shape = object({
  format: literal(format),
  environment: oneOf(["production", "sandbox"]),
  /** That of the key set. */
  issued_at: timestamp,
  keys: listOf(
    object({
      key_id: keyId,
      use: oneOf(["projection", "receipt"]),
      region: nullable(region),
      alg: literal("Ed25519"),
      public_key: object({
        kty: literal("OKP"),
        crv: literal("Ed25519"),
        x: matching(/^[A-Za-z0-9_-]{43}$/, "32 bytes in base64url"),
      }),
      pair: nothing,
      valid_from: timestamp,
      valid_until: nullable(timestamp),
      compromised_from: nullable(timestamp),
    }),
  ),
});

/** Nobody has signed them: keep them where only you write. */
export type AcceptedKeys = Of<typeof shape>;

/** Those of a key set that was verified. */
export function acceptedOf({ anchors: { environment }, keySet, keys }: Trust): AcceptedKeys {
  const working = [...keys.values()].filter(({ use }) => use === "projection" || use === "receipt");
  const accepted = (working as AcceptedKeys["keys"]).map(({ public_key: { kty, crv, x }, ...key }) => ({
    ...key,
    // Whatever else the set says of it is not judged here.
    public_key: { kty, crv, x },
  }));
  return { format, environment, issued_at: keySet.issued_at, keys: accepted };
}

/**
 * Reads what {@link acceptedOf} returned, parsed. Anything else, such as a key set of the service, is `trust_chain_broken`, a member of
 * another form `payload_malformed`, and keys of a sandbox, which vouch for nothing real, are `key_unknown` unless they are allowed.
 */
export function parseAcceptedKeys(value: unknown, allowSandbox: boolean): Verdict<AcceptedKeys> {
  if (!isObject(value) || value["format"] !== format) {
    const detail = "These keys were not accepted: give what acceptedKeys of the whole verifier returned.";
    return refuse("trust_chain_broken", detail, "/format");
  }
  const read = readPayload(shape, value as JsonValue);
  if (read.ok && new Set(read.value.keys.map((key) => key.key_id)).size < read.value.keys.length)
    return refuse("payload_malformed", "A key is there twice.", "/keys");
  return read.ok && read.value.environment === "sandbox" && !allowSandbox
    ? refuse(
        "key_unknown",
        "These are keys of a sandbox. Allow them explicitly: allowSandbox.",
        "/environment",
      )
    : read;
}
