// Keys that the service holds for businesses, made from one secret: a sandbox's nodes share that of record ids, and in production only
// the issuance process has one (docs/keys.md).
//   B1. A key follows from the secret, the environment, the business and the generation, so all who have the secret make the same key, and
//       none is lost with a machine.
//   B2. Nothing but a seal leaves (HS1, HS2 in service/register/hosted-seal.ts); no caller gets the private half or has bytes signed.

import { hkdfSync } from "node:crypto";
import type { Clock, HostedKeyName, HostedKeys } from "../../crypto/port.ts";
import { createSigner, ed25519OfSeed, type PrivateJwk } from "../../crypto/private-jwk.ts";
import { parseBase64Url } from "../../protocol/bytes.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { ok } from "../../protocol/result.ts";
import { judgeHostedSeal } from "../../service/register/hosted-seal.ts";
import { type Environment, signEnvelope } from "../../service/register/service-keys.ts";

const seedBytes = 32;

/** What hosted keys are made from. */
export interface HostedSecret {
  /** 32 secret bytes. */
  readonly secret: Uint8Array;
  readonly environment: Environment;
}

/** The secret in the file of a private Ed25519 key. */
export function secretIn(jwk: PrivateJwk): Uint8Array | null {
  return "d" in jwk ? parseBase64Url(jwk.d) : null;
}

/** See B1; HKDF (RFC 5869), so that no key says anything about another or about the secret. */
export function hostedSigner(
  { secret, environment }: HostedSecret,
  { business_uuid, generation }: HostedKeyName,
) {
  const info = `svc hosted key\n${environment}\n${business_uuid}\n${generation}`;
  return createSigner(ed25519OfSeed(new Uint8Array(hkdfSync("sha256", secret, "", info, seedBytes))));
}

export function createHostedKeys(from: HostedSecret & { readonly clock: Clock }): HostedKeys {
  return {
    publicKey: async (of) => hostedSigner(from, of).publicJwk,
    seal: async (of, { payload }) => {
      const signer = hostedSigner(from, of);
      const judged = judgeHostedSeal(payload, { keyId: signer.keyId, nowMs: from.clock.now() });
      return judged.ok ? ok(await signEnvelope(payloadTypes["seal.v2"], payload, [signer])) : judged;
    },
  };
}
