import { describe, expect, it } from "vitest";
import { thumbprint } from "../protocol/keys/jwk.ts";
import { verifySignature } from "../protocol/keys/signatures.ts";
import { packMessages } from "../protocol/signed-version.ts";
import { nativeCrypto } from "./native.ts";
import { createSigner, generatePrivateJwk, parsePrivateJwk, publicHalfOf } from "./private-jwk.ts";

const algorithms = ["Ed25519", "ES256", "ML-DSA-65"] as const;

describe.each(algorithms)("a signer with %s", (algorithm) => {
  const jwk = generatePrivateJwk(algorithm);
  const signer = createSigner(jwk);

  it("names its key by the thumbprint and shows its public half alone", () => {
    expect(signer.publicJwk).toEqual(publicHalfOf(jwk));
    expect(signer.keyId).toBe(thumbprint(signer.publicJwk));
    expect(JSON.stringify(signer)).not.toContain("kty" in jwk && "d" in jwk ? jwk.d : jwk.priv);
  });

  it("signs what both verifiers accept, over those bytes only", async () => {
    const message = nativeCrypto.randomBytes(600);
    const signature = await signer.sign(message);
    expect(verifySignature(signer.publicJwk, message, signature)).toBe(true);
    expect(nativeCrypto.verify(signer.publicJwk, message, signature)).toBe(true);
    message[17] = (message[17] ?? 0) ^ 1;
    expect(verifySignature(signer.publicJwk, message, signature)).toBe(false);
    expect(nativeCrypto.verify(signer.publicJwk, message, signature)).toBe(false);
  });

  it("signs many in the order given, also more than the pool takes at once", async () => {
    expect(await signer.signMany(packMessages([]))).toEqual([]);
    const messages = Array.from({ length: 300 }, (_, index) => new Uint8Array(index).fill(index));
    const signatures = await signer.signMany(packMessages(messages));
    expect(signatures).toHaveLength(300);
    const valid = messages.filter((message, index) =>
      nativeCrypto.verify(signer.publicJwk, message, signatures[index] ?? new Uint8Array()),
    );
    expect(valid).toHaveLength(300);
  });

  it("is made again from the stored key", async () => {
    const parsed = parsePrivateJwk(JSON.parse(JSON.stringify(jwk)));
    if (!parsed.ok) throw new Error(parsed.detail);
    const again = createSigner(parsed.value);
    expect(again.keyId).toBe(signer.keyId);
    expect(
      nativeCrypto.verify(signer.publicJwk, new Uint8Array(3), await again.sign(new Uint8Array(3))),
    ).toBe(true);
  });
});

describe("a private key as JWK", () => {
  it.each(algorithms)("is refused with a member missing, spoiled or too many (%s)", (algorithm) => {
    const jwk = generatePrivateJwk(algorithm);
    const secret = "d" in jwk ? "d" : "priv";
    const other = "d" in jwk ? "priv" : "d";
    const bad = [
      { ...jwk, [secret]: undefined },
      { ...jwk, [secret]: "AA" },
      { ...jwk, [secret]: 5 },
      { ...jwk, [other]: "AA" },
      { ...jwk, kty: "RSA" },
      { ...generatePrivateJwk(algorithm), [secret]: (jwk as unknown as Record<string, string>)[secret] },
      null,
      "text",
    ];
    for (const value of bad)
      expect(parsePrivateJwk(value)).toMatchObject({ ok: false, code: "jwk_malformed" });
    expect(parsePrivateJwk({ ...jwk, kid: "a", use: "sig" })).toEqual({ ok: true, value: jwk });
  });
});
