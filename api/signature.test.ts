import { createPublicKey, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { createSigner, httpbis } from "http-message-signatures";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { contentDigest } from "../protocol/http-signature.ts";
import { parsePublicJwk, thumbprint } from "../protocol/keys/jwk.ts";
import { issueGrant } from "../service/register/sandbox-grant.ts";
import { contractFetch } from "./contract.fixture.ts";
import { rawHead, sendRaw } from "./raw-request.fixture.ts";
import {
  bytesOf,
  freshNonce,
  newCaller,
  openSurfaces,
  productSearch,
  send,
  signed,
  type TestCaller,
  type TestSurfaces,
} from "./surfaces.fixture.ts";

let surfaces: TestSurfaces;
let company: TestCaller;

beforeAll(async () => {
  surfaces = await openSurfaces();
  company = await newCaller(
    surfaces.services.keys.grant,
    "retrieval",
    "10000000-0000-4000-8000-000000000001",
  );
  await send(surfaces.retrievalUrl, company, { path: "/v1/search", body: "{}" });
});
afterAll(() => surfaces[Symbol.asyncDispose]());

const path = "/v1/products/search";
const body = JSON.stringify(productSearch);

describe("a request signed by an independent implementation of RFC 9421", () => {
  const makeKey = {
    ed25519: () => generateKeyPairSync("ed25519"),
    "ecdsa-p256-sha256": () => generateKeyPairSync("ec", { namedCurve: "P-256" }),
  };

  async function grantFor(
    privateKey: KeyObject,
  ): Promise<{ readonly keyId: string; readonly grant: string }> {
    const jwk = parsePublicJwk(createPublicKey(privateKey).export({ format: "jwk" }));
    const grantKey = surfaces.services.keys.grant;
    if (!jwk.ok || grantKey === null) throw new Error("no key");
    const party = {
      uuid: "10000000-0000-4000-8000-000000000009",
      kind: "ai_company",
      legal_name: "Other",
      country: "GB",
    } as const;
    const grant = {
      v: 1,
      environment: "sandbox",
      party,
      role: "retrieval",
      public_key: jwk.value,
      mandate_id: null,
    } as const;
    return { keyId: thumbprint(jwk.value), grant: await issueGrant(grant, grantKey) };
  }

  it.each(["ed25519", "ecdsa-p256-sha256"] as const)("with %s is accepted", async (algorithm) => {
    const { privateKey } = makeKey[algorithm]();
    const { keyId, grant } = await grantFor(privateKey);
    const created = new Date();
    const message = await httpbis.signMessage(
      {
        key: createSigner(privateKey, algorithm, keyId),
        name: "sig1",
        fields: ["@method", "@authority", "@path", "content-digest"],
        params: ["created", "expires", "nonce", "keyid", "tag"],
        paramValues: {
          created,
          expires: new Date(created.getTime() + 60_000),
          nonce: randomBytes(32).toString("base64url"),
          keyid: keyId,
          tag: "svc-retrieval",
        },
      },
      {
        method: "POST",
        url: new URL(path, surfaces.retrievalUrl).href,
        headers: { "content-digest": contentDigest(bytesOf(body) ?? new Uint8Array()) },
      },
    );
    const headers = {
      ...(message.headers as Record<string, string>),
      "svc-sandbox-key": grant,
      "content-type": "application/json",
    };
    const answer = await contractFetch(new URL(path, surfaces.retrievalUrl), {
      method: "POST",
      headers,
      body,
    });
    expect(answer.status, await answer.text()).toBe(200);
  });
});

describe("over HTTP", () => {
  it.each<readonly [string, string, () => Promise<Parameters<typeof send>[2]>]>([
    ["no signature", "signature_missing", async () => ({ path, body, headers: { signature: null } })],
    [
      "a sandbox's request at another host",
      "signature_invalid",
      async () => ({ path, body, signedHost: "api.svc.example" }),
    ],
    [
      "a signature for the business surface",
      "signature_invalid",
      async () => ({ path, body, tag: "svc-business-read" }),
    ],
    [
      "a signature from the future",
      "signature_expired",
      async () => ({ path, body, created: Math.floor(Date.now() / 1_000) + 60 }),
    ],
    ["a signature that is over", "signature_expired", async () => ({ path, body, created: 1_700_000_000 })],
    [
      "another body than the signed one",
      "digest_mismatch",
      async () => ({
        path,
        body: "{}",
        headers: (await signed(surfaces.retrievalUrl, company, { path, body })).headers,
      }),
    ],
    [
      "a signature over another path",
      "signature_invalid",
      async () => ({
        path,
        body,
        headers: (await signed(surfaces.retrievalUrl, company, { path: "/v1/search", body })).headers,
      }),
    ],
  ])("%s is %s, 401, with a challenge", async (_name, code, make) => {
    const answer = await send(surfaces.retrievalUrl, company, await make());
    expect(answer).toMatchObject({
      status: 401,
      json: { code, status: 401, type: `/docs/problems/${code}` },
    });
    expect(answer.headers.get("www-authenticate")).toBe("Signature");
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  it("of many requests at once, whose signatures are judged in lists, each is answered as it is alone", async () => {
    const signedFor = async (other: { readonly path?: string; readonly body?: string }) => ({
      path,
      body,
      headers: (await signed(surfaces.retrievalUrl, company, { path, body, ...other })).headers,
    });
    const kinds = [
      [undefined, () => ({ path, body })],
      ["digest_mismatch", () => signedFor({ body: "{}" })],
      ["signature_invalid", () => signedFor({ path: "/v1/search" })],
    ] as const;
    const rush = Array.from({ length: 42 }, (_, index) => kinds[index % kinds.length] ?? kinds[0]);
    // Before the thread has started, and in it.
    for (let times = 0; times < 3; times += 1) {
      const requests = await Promise.all(rush.map(([, make]) => make()));
      const answers = await Promise.all(
        requests.map((request) => send(surfaces.retrievalUrl, company, request)),
      );
      expect(answers.map(({ json }) => json["code"])).toEqual(rush.map(([code]) => code));
    }
  });

  it.each<readonly [string, (host: string) => Parameters<typeof rawHead>, number]>([
    [
      "addressed in the absolute form, whose host counts (RFC 9112 §3.2.2)",
      (host) => [`POST http://${host}${path}`, { host: "other.test" }],
      200,
    ],
    [
      "addressed to another host in the absolute form",
      (host) => [`POST http://other.test${path}`, { host }],
      401,
    ],
    ["whose absolute form has no path", (host) => [`POST http://${host}?a${path}`, { host }], 404],
  ])("a request %s", async (_name, line, status) => {
    const { headers } = await signed(surfaces.retrievalUrl, company, { path, body });
    const [start, hosts] = line(new URL(surfaces.retrievalUrl).host);
    const length = { "content-length": String(body.length), "content-type": "application/json" };
    const head = rawHead(start, { ...hosts, ...headers, ...length });
    expect((await sendRaw(surfaces.retrievalUrl, head + body)).status).toBe(status);
  });

  it("an unknown key without a grant is key_unknown, and says what to send", async () => {
    const stranger = await newCaller(
      surfaces.services.keys.grant,
      "retrieval",
      "10000000-0000-4000-8000-000000000003",
    );
    const request = { path, body, headers: { "svc-sandbox-key": null } };
    expect(await send(surfaces.retrievalUrl, stranger, request)).toMatchObject({
      status: 401,
      json: { code: "key_unknown", pointer: "/headers/svc-sandbox-key" },
    });
    expect((await send(surfaces.retrievalUrl, stranger, { path, body })).status).toBe(200);
    expect((await send(surfaces.retrievalUrl, stranger, request)).status).toBe(200);
  });

  it("the bearer token comes once, on the answer to the registration, whatever that answer is", async () => {
    const newcomer = await newCaller(
      surfaces.services.keys.grant,
      "retrieval",
      "10000000-0000-4000-8000-000000000004",
    );
    const refused = await send(surfaces.retrievalUrl, newcomer, { path, body: "{}" });
    const token = refused.headers.get("svc-sandbox-bearer");
    expect([refused.status, token?.startsWith("svc_sbxb1.")]).toEqual([400, true]);
    expect(
      (await send(surfaces.retrievalUrl, newcomer, { path, body })).headers.get("svc-sandbox-bearer"),
    ).toBeNull();
    const answer = await send(surfaces.retrievalUrl, null, {
      path,
      body,
      headers: { authorization: `Bearer ${token}` },
    });
    expect(answer.status).toBe(200);
    const elsewhere = await send(surfaces.businessUrl, null, {
      path: "/v1/seal-context",
      headers: { authorization: `Bearer ${token}` },
    });
    expect(elsewhere).toMatchObject({ status: 401, json: { code: "signature_missing" } });
  });

  it("of requests with one nonce sent at once only one is answered", async () => {
    const nonce = freshNonce();
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => send(surfaces.retrievalUrl, company, { path, body, nonce })),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([
      200,
      ...Array.from({ length: 7 }, () => 401),
    ]);
  });
});
