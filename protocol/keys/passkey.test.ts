import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { concatBytes, sha256, toBase64, utf8 } from "../bytes.ts";
import { coseKeyOf, type PublicJwk, parseCoseKey, parsePublicJwk } from "./jwk.ts";
import { passkeyChallenge, verifyPasskey, verifySignature } from "./signatures.ts";

const message = utf8("DSSEv1 what is sealed");
const origins = { rp_ids: ["portal.test", "other.test"], origins: ["https://portal.test"] };

function keyPair(kind: "ec" | "ed25519") {
  const pair =
    kind === "ec" ? generateKeyPairSync("ec", { namedCurve: "P-256" }) : generateKeyPairSync("ed25519");
  const jwk = parsePublicJwk(pair.publicKey.export({ format: "jwk" }));
  if (!jwk.ok) throw new Error(jwk.detail);
  return { privateKey: pair.privateKey, jwk: jwk.value };
}

const p256 = keyPair("ec");
const ed25519 = keyPair("ed25519");

/** Judges an assertion over client data and authenticator data exactly as given. */
function judge(
  clientData: string,
  authenticatorData: Uint8Array,
  key = p256,
  encoding: "der" | "ieee-p1363" = "der",
): string {
  const signed = concatBytes(
    authenticatorData,
    new Uint8Array(createHash("sha256").update(clientData).digest()),
  );
  const algorithm = key === p256 ? "sha256" : null;
  const sig = toBase64(
    new Uint8Array(sign(algorithm, signed, { key: key.privateKey, dsaEncoding: encoding })),
  );
  const signature = {
    keyid: "k",
    sig,
    authenticatorData: toBase64(authenticatorData),
    clientDataJSON: toBase64(utf8(clientData)),
  };
  const verdict = verifyPasskey({
    jwk: key.jwk,
    message,
    signature,
    origins,
    verify: verifySignature,
    sha256,
  });
  return verdict.ok ? "ok" : `${verdict.code}: ${verdict.detail}`;
}

const client = (members: object = {}) =>
  JSON.stringify({
    type: "webauthn.get",
    challenge: passkeyChallenge(message, sha256),
    origin: "https://portal.test",
    ...members,
  });

function authenticator(flags = 0x05, rpId = "portal.test", extra = 0): Uint8Array {
  const bytes = new Uint8Array(37 + extra);
  bytes.set(sha256(utf8(rpId)));
  bytes[32] = flags;
  return bytes;
}

describe("a passkey assertion", () => {
  it("seals what its challenge is the hash of, by P-256 in DER or Ed25519 raw", () => {
    expect(judge(client(), authenticator())).toBe("ok");
    expect(judge(client(), authenticator(), ed25519)).toBe("ok");
    expect(judge(client(), authenticator(), p256, "ieee-p1363")).toContain("signature_invalid");
  });

  it("may carry members that clients add, backup flags and extension data", () => {
    expect(judge(client({ crossOrigin: false, other_keys: "ignored" }), authenticator(0x1d))).toBe("ok");
    expect(judge(client(), authenticator(0x85, "other.test", 9))).toBe("ok");
  });

  it.each([
    ["without user presence", client(), authenticator(0x04), "user presence"],
    ["without user verification", client(), authenticator(0x01), "user verification"],
    ["backed up yet not eligible", client(), authenticator(0x15), "backup"],
    ["of another relying party", client(), authenticator(0x05, "evil.test"), "relying party"],
    ["longer than its flags say", client(), authenticator(0x05, "portal.test", 1), "length"],
    ["shorter than its flags say", client(), authenticator(0x85), "length"],
    ["cut short", client(), authenticator().slice(0, 36), "too short"],
    ["of another ceremony", client({ type: "webauthn.create" }), authenticator(), "ceremony"],
    [
      "with another challenge",
      client({ challenge: passkeyChallenge(utf8("sign in"), sha256) }),
      authenticator(),
      "another challenge",
    ],
    ["at another origin", client({ origin: "https://portal.test.evil" }), authenticator(), "origin"],
    ["in a frame of another origin", client({ crossOrigin: true }), authenticator(), "cross-origin"],
    [
      "in a frame, by the origin at its top",
      client({ topOrigin: "https://portal.test" }),
      authenticator(),
      "cross-origin",
    ],
    [
      "with a member twice",
      client().replace("{", '{"origin":"https://portal.test",'),
      authenticator(),
      "JSON",
    ],
    ["with client data that is no object", "[]", authenticator(), "JSON"],
  ])("%s is signature_invalid", (_what, clientData, authenticatorData, detail) => {
    const outcome = judge(clientData, authenticatorData);
    expect(outcome).toContain("signature_invalid");
    expect(outcome).toContain(detail);
  });

  it("without its parts is signature_invalid", () => {
    const verdict = verifyPasskey({
      jwk: p256.jwk,
      message,
      signature: { keyid: "k", sig: "AAAA" },
      origins,
      verify: verifySignature,
      sha256,
    });
    expect(verdict).toMatchObject({ code: "signature_invalid" });
  });
});

describe("a COSE key", () => {
  it("is the canonical encoding of the same key", () => {
    // The example key `meriadoc.brandybuck@buckland.example` from RFC 9052, appendix C.7.1, without its key id.
    const x = "65eda5a12577c2bae829437fe338701a10aaa375e1bb5b5de108de439c08551d";
    const y = "1e52ed75701163f7f9e40ddf9f341b3dc9ba860af7e0ca7ca7e9eecd0084d19c";
    const url = (hex: string) =>
      Uint8Array.fromHex(hex).toBase64({ alphabet: "base64url", omitPadding: true });
    const jwk: PublicJwk = { kty: "EC", crv: "P-256", x: url(x), y: url(y) };
    expect(coseKeyOf(jwk)?.toHex()).toBe(`a5010203262001215820${x}225820${y}`);
    expect(coseKeyOf(ed25519.jwk)?.toHex().slice(0, 20)).toBe("a4010103272006215820");
    expect(coseKeyOf({ kty: "AKP", alg: "ML-DSA-65", pub: "AA" })).toBeNull();
  });

  it("has a COSE_Key that is read again in that form alone", () => {
    for (const { jwk } of [p256, ed25519]) {
      const cose = coseKeyOf(jwk) ?? new Uint8Array();
      expect(parseCoseKey(cose)).toEqual(jwk);
      expect(parseCoseKey(concatBytes(cose, new Uint8Array(1)))).toBeNull();
      expect(parseCoseKey(cose.subarray(1))).toBeNull();
      expect(parseCoseKey(cose.with(4, 0x38))).toBeNull();
    }
    expect(parseCoseKey(new Uint8Array())).toBeNull();
  });
});
