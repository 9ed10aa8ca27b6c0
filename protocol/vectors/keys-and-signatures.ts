// Keys and signatures printed in public specifications. RFC text: IETF Trust, code components under the Revised BSD License;
// the DSSE specification: Apache-2.0.

import type { PublicJwk } from "../keys/jwk.ts";

interface Ed25519Vector {
  readonly publicKey: string;
  readonly message: string;
  readonly signature: string;
}

/** RFC 8032 §7.1, tests 1 to 3; hexadecimal. */
export const rfc8032: readonly Ed25519Vector[] = [
  {
    publicKey: "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    message: "",
    signature:
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  },
  {
    publicKey: "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    message: "72",
    signature:
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  },
  {
    publicKey: "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
    message: "af82",
    signature:
      "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
  },
];

/** RFC 8037 appendix A.2 and A.3: an Ed25519 key and its thumbprint. */
export const rfc8037: { readonly jwk: PublicJwk; readonly thumbprint: string } = {
  jwk: { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
  thumbprint: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
};

/** RFC 7515 appendix A.3: ES256 over a JWS signing input. */
export const rfc7515: { readonly jwk: PublicJwk; readonly message: string; readonly signature: string } = {
  jwk: {
    kty: "EC",
    crv: "P-256",
    x: "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    y: "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
  },
  message:
    "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ",
  signature: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
};

/** DSSE v1 protocol specification, «Test Vectors»: coordinates in decimal, the signature in base64. */
export const dsse = {
  x: 46950820868899156662930047687818585632848591499744589407958293238635476079160n,
  y: 5640078356564379163099075877009565129882514886557779369047442380624545832820n,
  payloadType: "http://example.com/HelloWorld",
  payload: "hello world",
  pae: "DSSEv1 29 http://example.com/HelloWorld 11 hello world",
  signature: "A3JqsQGtVsJ2O2xqrI5IcnXip5GToJ3F+FnZ+O88SjtR6rDAajabZKciJTfUiHqJPcIAriEGAHTVeCUjW2JIZA==",
};

/** RFC 9421 appendix B.1.4 and B.2.6: a request signed with Ed25519. */
export const rfc9421: { readonly jwk: PublicJwk; readonly base: string; readonly signature: string } = {
  jwk: { kty: "OKP", crv: "Ed25519", x: "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs" },
  base: [
    '"date": Tue, 20 Apr 2021 02:07:55 GMT',
    '"@method": POST',
    '"@path": /foo',
    '"@authority": example.com',
    '"content-type": application/json',
    '"content-length": 18',
    '"@signature-params": ("date" "@method" "@path" "@authority" "content-type" "content-length")' +
      ';created=1618884473;keyid="test-key-ed25519"',
  ].join("\n"),
  signature: "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==",
};

/**
 * Encodings of the eight points of small order, and every other encoding of one that a lenient decoder accepts (Chalkias,
 * Garillot, Nikolaenko, «Taming the many EdDSAs», 2020, table of small-order points). Hexadecimal.
 */
export const smallOrderPoints = {
  canonical: [
    `01${"00".repeat(31)}`,
    `ec${"ff".repeat(30)}7f`,
    "00".repeat(32),
    `${"00".repeat(31)}80`,
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
  ],
  nonCanonical: [
    `01${"00".repeat(30)}80`,
    `ec${"ff".repeat(31)}`,
    `ed${"ff".repeat(30)}7f`,
    `ed${"ff".repeat(31)}`,
    `ee${"ff".repeat(30)}7f`,
    `ee${"ff".repeat(31)}`,
  ],
} as const;
