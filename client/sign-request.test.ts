import { createPublicKey, verify as verifyNative } from "node:crypto";
import { httpbis } from "http-message-signatures";
import { beforeAll, describe, expect, it } from "vitest";
import { type RequestToSign, signRequest } from "./sign-request.ts";
import { generatePrivateJwk, parseSigningKey, type SigningKey } from "./signing-key.ts";

/** Key from RFC 9421, appendix B.1.4. */
const rfcKey = {
  kty: "OKP",
  crv: "Ed25519",
  kid: "test-key-ed25519",
  d: "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU",
  x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs",
};

async function keyOf(jwk: unknown): Promise<SigningKey> {
  const key = await parseSigningKey(jwk);
  if (!key.ok) throw new Error(key.detail);
  return key.value;
}

describe("a signing key", () => {
  it("makes the signature of RFC 9421, appendix B.2.6", async () => {
    const base = [
      '"date": Tue, 20 Apr 2021 02:07:55 GMT',
      '"@method": POST',
      '"@path": /foo',
      '"@authority": example.com',
      '"content-type": application/json',
      '"content-length": 18',
      '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"',
    ].join("\n");
    const signature = await (await keyOf(rfcKey)).sign(new TextEncoder().encode(base));
    expect(signature.toBase64()).toBe(
      "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
    );
  });

  it("is refused without its private half, with another's, or of another kind", async () => {
    const other = await generatePrivateJwk("Ed25519");
    const { d: _none, ...publicHalf } = rfcKey;
    for (const jwk of [
      null,
      publicHalf,
      { ...rfcKey, d: other["d"] },
      { ...rfcKey, d: "" },
      { ...rfcKey, crv: "X25519" },
    ]) {
      expect(await parseSigningKey(jwk)).toMatchObject({ ok: false, code: "jwk_malformed" });
    }
  });
});

describe.each(["Ed25519", "ES256"] as const)("a request signed by %s", (alg) => {
  let key: SigningKey;
  beforeAll(async () => {
    key = await keyOf(await generatePrivateJwk(alg));
  });

  const body = new TextEncoder().encode('{"hello": "world"}');
  const sign = (changes: Partial<RequestToSign>) =>
    signRequest({
      method: "POST",
      url: new URL("https://API.Example:443/v1/search?a=1&b=%20"),
      body,
      key,
      tag: "svc-retrieval",
      created: Math.floor(Date.now() / 1000),
      nonce: "n".repeat(43),
      ...changes,
    });

  /** Verifies the request with an independent implementation. */
  async function verifiedElsewhere(request: {
    method: string;
    url: string;
    headers: Readonly<Record<string, string>>;
  }) {
    return await httpbis.verifyMessage(
      {
        requiredFields: ["@method", "@authority", "@path"],
        requiredParams: ["created", "expires", "nonce", "keyid", "tag"],
        keyLookup: async (params) => ({
          id: params.keyid ?? "",
          verify: async (data, signature) => {
            const publicKey = createPublicKey({ key: { ...key.publicJwk }, format: "jwk" });
            if (alg === "Ed25519") return verifyNative(null, data, publicKey, signature);
            return verifyNative("sha256", data, { key: publicKey, dsaEncoding: "ieee-p1363" }, signature);
          },
        }),
      },
      { ...request, headers: { ...request.headers } },
    );
  }

  it("verifies with an independent implementation, and not once a covered part changed", async () => {
    const { headers } = await sign({});
    const request = { method: "POST", url: "https://api.example/v1/search?a=1&b=%20", headers };
    expect(await verifiedElsewhere(request)).toBe(true);
    for (const changed of [
      { ...request, method: "PUT" },
      { ...request, url: "https://sandbox.example/v1/search?a=1&b=%20" },
      { ...request, url: "https://api.example/v1/records?a=1&b=%20" },
      { ...request, url: "https://api.example/v1/search?a=2&b=%20" },
      { ...request, headers: { ...headers, "content-digest": "sha-256=:AAAA:" } },
    ]) {
      expect(await verifiedElsewhere(changed)).toBe(false);
    }
  });

  it("covers exactly what the specification names, in its order", async () => {
    const created = 1_700_000_000;
    const { headers } = await sign({ created, lifetimeSeconds: 300 });
    // Value from RFC 9530, appendix D.1.
    expect(headers["content-digest"]).toBe("sha-256=:X48E9qOokqqrvdts8nOJRJN3OWDUoyWxBf7kbu9DBPE=:");
    expect(headers["signature-input"]).toBe(
      'sig1=("@method" "@authority" "@path" "@query" "content-digest")' +
        `;created=${created};expires=${created + 300};nonce="${"n".repeat(43)}";keyid="${key.keyId}";tag="svc-retrieval"`,
    );
  });

  it("covers neither query nor digest where there is none", async () => {
    const { headers } = await sign({ method: "GET", url: new URL("http://localhost:7300"), body: null });
    expect(headers["signature-input"]).toMatch(/^sig1=\("@method" "@authority" "@path"\);/);
    expect(headers).not.toHaveProperty("content-digest");
    expect(await verifiedElsewhere({ method: "GET", url: "http://localhost:7300/", headers })).toBe(true);
  });
});
