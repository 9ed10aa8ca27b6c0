// Checked against the http-message-signatures package: it signs what this code reads, and reads what this code signs.

import { generateKeyPairSync, sign, verify } from "node:crypto";
import fc from "fast-check";
import { httpbis } from "http-message-signatures";
import { describe, expect, it } from "vitest";
import { utf8 } from "./bytes.ts";
import {
  contentDigest,
  coveredComponents,
  coversExactly,
  parseSignatureHeaders,
  type SignedRequestParts,
  serializeParams,
  signatureBase,
  signatureHeaders,
} from "./http-signature.ts";
import { parsePublicJwk } from "./keys/jwk.ts";
import { verifySignature } from "./keys/signatures.ts";

const { publicKey, privateKey } = generateKeyPairSync("ed25519");
const parsedJwk = parsePublicJwk(publicKey.export({ format: "jwk" }));
if (!parsedJwk.ok) throw new Error(parsedJwk.detail);
const jwk = parsedJwk.value;

const segment = fc.string({ unit: fc.constantFrom(..."abz09-._~%2F:@!$&'()*+,;=é "), maxLength: 8 });
const anyRequest = fc.record({
  method: fc.constantFrom("GET", "POST", "DELETE"),
  host: fc.constantFrom("api.example.com", "API.example.com:443", "localhost:8080", "[::1]:1234"),
  path: fc
    .array(segment, { maxLength: 3 })
    .map((segments) => segments.map((each) => `/${encodeURI(each)}`).join("")),
  query: fc.option(fc.string({ unit: fc.constantFrom(..."ab=&%20+/?"), minLength: 1, maxLength: 12 })),
  body: fc.option(fc.uint8Array()),
  nonce: fc.string({ unit: fc.constantFrom(..."!#aZ09-_~"), minLength: 16, maxLength: 128 }),
  created: fc.integer({ min: 1, max: 4_000_000_000 }),
});

type RequestDrawn = typeof anyRequest extends fc.Arbitrary<infer T> ? T : never;

/** The request as its sender has it, and the parts of it that are signed. */
function addressed({ method, host, path, query, body }: RequestDrawn) {
  const url = new URL(`https://${host}${path}${query === null ? "" : `?${query}`}`);
  const digest = body === null ? null : contentDigest(body);
  const headers: Record<string, string> = digest === null ? {} : { "content-digest": digest };
  const parts: SignedRequestParts = {
    method,
    authority: url.host,
    path: url.pathname,
    query: url.search === "" ? null : url.search,
    contentDigest: digest,
  };
  return {
    message: { method, url, headers },
    parts,
    fields: coveredComponents(parts).map((name) => `"${name}"`),
  };
}

describe("http-message-signatures", () => {
  it("builds the same signature base, and verifies over it", async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const { message, parts, fields } = addressed(request);
        const { created, nonce } = request;
        const params = { created, expires: created + 60, nonce, keyid: "key", tag: "svc-push" };
        const paramsText = serializeParams(coveredComponents(parts), params);
        const base = signatureBase(parts, paramsText);

        const lines = httpbis.createSignatureBase({ fields }, message);
        lines.push(['"@signature-params"', [paramsText]]);
        expect(httpbis.formatSignatureBase(lines)).toBe(base);

        const signed = signatureHeaders(paramsText, sign(null, utf8(base), privateKey));
        const keyLookup = async () => ({
          verify: async (data: Buffer, signature: Buffer) => verify(null, data, publicKey, signature),
        });
        // The times are random here and not under test.
        const config = { keyLookup, notAfter: new Date(8.64e15), tolerance: 8e9 };
        const headers = { ...message.headers, ...signed };
        expect(await httpbis.verifyMessage(config, { ...message, headers })).toBe(true);
        const changed = { ...message, headers, method: "PUT" };
        expect(await httpbis.verifyMessage(config, changed)).toBe(false);
      }),
      { numRuns: 150 },
    );
  });

  it("signs what is read, covered and verified here", async () => {
    await fc.assert(
      fc.asyncProperty(anyRequest, async (request) => {
        const { message, parts, fields } = addressed(request);
        const { created, nonce } = request;
        const params = { created, expires: created + 60, nonce, keyid: "key", tag: "svc-push" };
        const config = {
          key: { id: "key", alg: "ed25519", sign: async (data: Buffer) => sign(null, data, privateKey) },
          name: "sig1",
          fields,
          params: ["created", "expires", "nonce", "keyid", "tag"],
          paramValues: {
            ...params,
            created: new Date(created * 1000),
            expires: new Date(params.expires * 1000),
          },
        };
        const { headers } = await httpbis.signMessage(config, message);
        const received = parseSignatureHeaders({
          signatureInput: headers["Signature-Input"] ?? null,
          signature: headers["Signature"] ?? null,
          acceptedTags: ["svc-push"],
        });
        if (!received.ok) throw new Error(received.detail);
        expect(received.value.params).toEqual(params);
        expect(coversExactly(received.value, parts)).toBe(true);
        const base = utf8(signatureBase(parts, received.value.paramsText));
        expect(verifySignature(jwk, base, received.value.signature)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
