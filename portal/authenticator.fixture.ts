// An authenticator in software, as far as a portal sees one: it makes passkeys and assertions for one origin. For tests.

import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from "node:crypto";
import { concatBytes, utf8 } from "../protocol/bytes.ts";
import { coseKeyOf, parsePublicJwk } from "../protocol/keys/jwk.ts";

/** What an authenticator may do otherwise than it should. */
export interface Oddity {
  readonly origin?: string;
  readonly rpId?: string;
  readonly challenge?: string;
  /** What the client says of frames; `crossOrigin` is false unless given. */
  readonly client?: { readonly crossOrigin?: boolean; readonly topOrigin?: string };
  /** The flags of the authenticator data; present and verified unless given. */
  readonly flags?: number;
  readonly counter?: number;
  /** Whether the new passkey attests itself. */
  readonly isAttested?: true;
  /** The key of the new passkey; authenticators make one. */
  readonly privateKey?: KeyObject;
}

export interface Passkey {
  readonly id: string;
  readonly userHandle: string;
  readonly privateKey: KeyObject;
}

export interface CreationOptions {
  readonly challenge: string;
  readonly rp: { readonly id: string };
  readonly user: { readonly id: string };
}

export interface RequestOptions {
  readonly challenge: string;
  readonly rpId: string;
  readonly allowCredentials: readonly { readonly id: string }[];
}

const [present, verified, attested] = [0x01, 0x04, 0x40];

export class TestAuthenticator {
  readonly #origin: string;
  readonly passkeys: Passkey[] = [];

  constructor(origin: string) {
    this.#origin = origin;
  }

  /** A new passkey, as `navigator.credentials.create` answers with it, in JSON. */
  create(options: CreationOptions, odd: Oddity = {}): object {
    const { privateKey = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey } = odd;
    const jwk = parsePublicJwk(createPublicKey(privateKey).export({ format: "jwk" }));
    const cose = jwk.ok ? coseKeyOf(jwk.value) : null;
    if (cose === null) throw new Error("A P-256 key has a COSE_Key.");
    const rawId = randomBytes(32);
    const id = rawId.toString("base64url");
    this.passkeys.push({ id, userHandle: options.user.id, privateKey });
    const credential = concatBytes(new Uint8Array(16), Uint8Array.of(0, rawId.length), rawId, cose);
    const flags = odd.flags ?? present | verified;
    const authData = concatBytes(
      dataOf(odd.rpId ?? options.rp.id, flags | attested, odd.counter),
      credential,
    );
    const clientDataJSON = this.#clientData("webauthn.create", options.challenge, odd);
    const attestationObject = odd.isAttested
      ? attestationOf("packed", authData, selfAttested(privateKey, authData, clientDataJSON))
      : attestationOf("none", authData, Uint8Array.of(0xa0));
    const response = { clientDataJSON, attestationObject, transports: [] };
    return { id, rawId: id, type: "public-key", response, clientExtensionResults: {} };
  }

  /** An assertion by the newest passkey that is allowed, or by the one that is given. */
  get(options: RequestOptions, odd: Oddity & { readonly passkey?: Passkey } = {}): object {
    const allowed = this.passkeys.filter(
      ({ id }) =>
        options.allowCredentials.length === 0 || options.allowCredentials.some((each) => each.id === id),
    );
    const passkey = odd.passkey ?? allowed.at(-1);
    if (passkey === undefined) throw new Error("The authenticator has no passkey for this.");
    const { id, userHandle, privateKey } = passkey;
    const clientDataJSON = this.#clientData("webauthn.get", options.challenge, odd);
    const authData = dataOf(odd.rpId ?? options.rpId, odd.flags ?? present | verified, odd.counter);
    const hashed = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
    const signature = sign("sha256", concatBytes(authData, hashed), privateKey).toString("base64url");
    const response = { clientDataJSON, authenticatorData: base64url(authData), signature, userHandle };
    return { id, rawId: id, type: "public-key", response, clientExtensionResults: {} };
  }

  #clientData(type: string, challenge: string, odd: Oddity): string {
    const said = {
      type,
      challenge: odd.challenge ?? challenge,
      origin: odd.origin ?? this.#origin,
      crossOrigin: false,
      ...odd.client,
    };
    return base64url(utf8(JSON.stringify(said)));
  }
}

function dataOf(rpId: string, flags: number, counter = 0): Uint8Array {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(counter);
  return concatBytes(createHash("sha256").update(rpId).digest(), Uint8Array.of(flags), count);
}

/** A CBOR map (RFC 8949) of the format, a statement and the data. */
function attestationOf(fmt: string, authData: Uint8Array, statement: Uint8Array): string {
  const length = Uint8Array.of(0x59, authData.length >> 8, authData.length & 0xff);
  const members = [cbor("fmt"), cbor(fmt), cbor("attStmt"), statement, cbor("authData"), length, authData];
  return base64url(concatBytes(Uint8Array.of(0xa3), ...members));
}

/** The statement of a «packed» self attestation: ES256 over the data and the hash of the client data (§8.2). */
function selfAttested(privateKey: KeyObject, authData: Uint8Array, clientDataJSON: string): Uint8Array {
  const hashed = createHash("sha256").update(Buffer.from(clientDataJSON, "base64url")).digest();
  const sig = sign("sha256", concatBytes(authData, hashed), privateKey);
  const bytes = concatBytes(Uint8Array.of(0x58, sig.length), sig);
  return concatBytes(Uint8Array.of(0xa2), cbor("alg"), Uint8Array.of(0x26), cbor("sig"), bytes);
}

/** A short text. */
function cbor(said: string): Uint8Array {
  return concatBytes(Uint8Array.of(0x60 + said.length), utf8(said));
}

function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
