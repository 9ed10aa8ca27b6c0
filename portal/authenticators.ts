// Verifies what authenticators made for this portal, by @simplewebauthn/server.
//   AU1. User verification is demanded of every passkey and every assertion, at the portal's own origin.
//   AU2. Of a new passkey no attestation is asked for, and any that comes is refused: nobody's certificates are read.
//   AU3. An assertion is verified against some key also where there is none to verify it by.
//   AU4. What was made inside a page of another origin is refused, as it is of a seal (protocol/keys/signatures.ts): the library does not look.

import { generateKeyPairSync } from "node:crypto";
import { parseBase64Url } from "../protocol/bytes.ts";
import { parseStrictJson } from "../protocol/json/strict-json.ts";
import { coseKeyOf, parsePublicJwk } from "../protocol/keys/jwk.ts";
import { isFramed } from "../protocol/keys/signatures.ts";
import type { Authenticators } from "../service/portal/people.ts";
import { isObject } from "../std/json-pointer.ts";

/** Where the passkeys of this portal are used. */
export interface PortalPlace {
  /** For example `https://portal.example`. */
  readonly origin: string;
  readonly rpId: string;
}

/** ES256 and EdDSA (RFC 9053): the algorithms of seals. */
export const passkeyAlgorithms = [-7, -8];

type Library = typeof import("@simplewebauthn/server");
type Registration = Parameters<Library["verifyRegistrationResponse"]>[0]["response"];
type Authentication = Parameters<Library["verifyAuthenticationResponse"]>[0]["response"];

export function createAuthenticators({ origin, rpId }: PortalPlace): Authenticators {
  // Loaded with the first passkey: most nodes never see one.
  const library = () => import("@simplewebauthn/server");
  const expected = (challenge: string) => ({
    expectedChallenge: challenge,
    expectedOrigin: origin,
    expectedRPID: rpId,
    requireUserVerification: true,
  });
  let decoy: Uint8Array<ArrayBuffer> | null = null;
  return {
    registered: async (sent, challenge) => {
      const { verifyRegistrationResponse } = await library();
      if (!isUnframed(sent) || !(await isUnattested(sent))) return null;
      const made = await verifyRegistrationResponse({
        ...expected(challenge),
        response: sent as Registration,
        supportedAlgorithmIDs: [...passkeyAlgorithms],
      }).catch(notVerified);
      if (made?.registrationInfo === undefined) return null;
      const { id, publicKey, counter } = made.registrationInfo.credential;
      return { credential_id: id, public_key: Buffer.from(publicKey).toString("base64url"), counter };
    },
    asserted: async (sent, challenge, passkey) => {
      const { verifyAuthenticationResponse } = await library();
      decoy ??= newCoseKey();
      const id = passkey?.credential_id ?? idIn(sent);
      const publicKey =
        passkey === null ? decoy : Uint8Array.from(Buffer.from(passkey.public_key, "base64url"));
      const judged = await verifyAuthenticationResponse({
        ...expected(challenge),
        response: sent as Authentication,
        // A counter that did not grow would be refused here before the signature is verified, and after less work (PN5 in actors/person).
        credential: { id, publicKey, counter: 0 },
      }).catch(notVerified);
      return judged?.verified === true && isUnframed(sent) ? judged.authenticationInfo.newCounter : null;
    },
  };
}

/** The library throws for whatever is wrong with what was sent. */
function notVerified(): null {
  return null;
}

/** See AU4; false as well for client data that cannot be read. */
function isUnframed(sent: unknown): boolean {
  const { clientDataJSON } = (sent as Partial<Registration> | null)?.response ?? {};
  const bytes = typeof clientDataJSON === "string" ? parseBase64Url(clientDataJSON) : null;
  const said = bytes === null ? null : parseStrictJson(bytes);
  return said?.ok === true && isObject(said.value) && !isFramed(said.value);
}

/** See AU2; false as well for what cannot be read. */
async function isUnattested(sent: unknown): Promise<boolean> {
  const { attestationObject } = (sent as Partial<Registration> | null)?.response ?? {};
  if (typeof attestationObject !== "string") return false;
  const { decodeAttestationObject, isoBase64URL } = await import("@simplewebauthn/server/helpers");
  try {
    return decodeAttestationObject(isoBase64URL.toBuffer(attestationObject)).get("fmt") === "none";
  } catch {
    return false;
  }
}

function idIn(sent: unknown): string {
  const id = (sent as Partial<Authentication> | null)?.id;
  return typeof id === "string" ? id : "";
}

/** A key that nobody has the private half of any more. */
function newCoseKey(): Uint8Array<ArrayBuffer> {
  const { publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = parsePublicJwk(publicKey.export({ format: "jwk" }));
  const cose = jwk.ok ? coseKeyOf(jwk.value) : null;
  if (cose === null) throw new Error("A P-256 key has a COSE_Key.");
  return Uint8Array.from(cose);
}
