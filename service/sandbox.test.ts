import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SigningKey } from "../client/signing-key.ts";
import { createSigner, generatePrivateJwk } from "../crypto/private-jwk.ts";
import { hashOf, toBase64Url, utf8 } from "../protocol/bytes.ts";
import { part } from "../protocol/rubbish.fixture.ts";
import { rateLimited } from "./answer.ts";
import type { RequestHead } from "./authentication/authenticate.ts";
import type { KeyRate } from "./authentication/regional-limits.ts";
import {
  accepted,
  authenticate,
  authority,
  businessUuid,
  codeOf,
  companyUuid,
  entry,
  keyFacts,
  newKey,
  openRegion,
  signedHead,
  startMs,
  type TestRegion,
} from "./authentication.fixture.ts";
import { issueGrant, type SandboxGrant } from "./register/sandbox-grant.ts";

let region: TestRegion;
let key: SigningKey;

beforeEach(async () => {
  region = await openRegion();
  key = await newKey();
});
afterEach(() => region.close());

function grantFor(signingKey: SigningKey, changes: Partial<SandboxGrant> = {}): SandboxGrant {
  return {
    v: 1,
    environment: "sandbox",
    party: { uuid: companyUuid, kind: "ai_company", legal_name: "Répondeur SA", country: "FR" },
    role: "retrieval",
    public_key: signingKey.publicJwk,
    mandate_id: null,
    ...changes,
  };
}

async function headWith(grant: string | null, signer: SigningKey = key): Promise<RequestHead> {
  return { ...(await signedHead({ key: signer })), sandboxKey: grant };
}

describe("a grant", () => {
  it("registers its key and party with the first request whose signature verifies", async () => {
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    const outcome = await authenticate(region, await headWith(grant));
    expect(outcome).toMatchObject({
      kind: "authenticated",
      caller: { party: { uuid: companyUuid, legal_name: "Répondeur SA" } },
    });
    expect(await codeOf(authenticate(region, await headWith(null)))).toBe("authenticated");
    expect(region.granted).toHaveLength(1);
  });

  it("registers nothing before check 6 has passed", async () => {
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    const head = await headWith(grant);
    expect(await codeOf(authenticate(region, { ...head, signature: `sig1=:${"A".repeat(86)}==:` }))).toBe(
      "signature_invalid",
    );
    expect(region.granted).toEqual([]);
  });

  it("is needed by a key that the sandbox does not know", async () => {
    expect(await codeOf(authenticate(region, await headWith(null)))).toBe("key_unknown");
  });

  it("does not bring a revoked key back", async () => {
    const revoked = keyFacts(key.keyId, key.publicJwk, {
      role: "retrieval",
      party: companyUuid,
      revoked_at: "2026-02-01T00:00:00.000Z",
    });
    await region.register([entry("key", companyUuid, key.keyId, revoked)]);
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    expect(await codeOf(authenticate(region, await headWith(grant)))).toBe("key_unknown");
  });

  it("is ignored by production", async () => {
    const production = await openRegion("production");
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    expect(await codeOf(authenticate(production, await headWith(grant)))).toBe("key_unknown");
    production.close();
  });

  const stranger = createSigner(generatePrivateJwk("Ed25519"));
  const data = (value: object): string => `svc_sbxk1.${toBase64Url(utf8(JSON.stringify(value)))}`;
  const signed = async (text: string): Promise<string> =>
    `${text}.${toBase64Url(await region.grantSigner.sign(utf8(text)))}`;
  it.each<readonly [string, () => Promise<string> | string]>([
    ["signed by another key", () => issueGrant(grantFor(key), stranger)],
    ["for another key", async () => issueGrant(grantFor(await newKey()), region.grantSigner)],
    [
      "of a business for a retrieval key",
      () =>
        issueGrant(
          grantFor(key, { party: { uuid: businessUuid, kind: "business", legal_name: "B", country: "GB" } }),
          region.grantSigner,
        ),
    ],
    ["with a member that grants do not have", () => signed(data({ ...grantFor(key), admin: true }))],
    ["for production", () => signed(data({ ...grantFor(key), environment: "production" }))],
    [
      "that is not canonical",
      () => signed(`svc_sbxk1.${toBase64Url(utf8(JSON.stringify(grantFor(key), null, 1)))}`),
    ],
    [
      "with another prefix",
      async () => (await issueGrant(grantFor(key), region.grantSigner)).replace("svc_sbxk1", "svc_sbxk2"),
    ],
    ["with another part", async () => `${await issueGrant(grantFor(key), region.grantSigner)}.AAAA`],
    ["of one character", () => "x"],
    ["of 8192 characters", () => "x".repeat(8_192)],
  ])("%s is refused", async (_name, make) => {
    expect(await codeOf(authenticate(region, await headWith(await make())))).toBe("key_unknown");
    expect(region.granted).toEqual([]);
  });
});

describe("a bearer token", () => {
  async function registered(): Promise<string> {
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    const outcome = await authenticate(region, await headWith(grant));
    if (outcome.kind === "problem") throw new Error(outcome.problem.detail);
    return outcome.headers["svc-sandbox-bearer"] ?? "";
  }

  async function bearerHead(token: string): Promise<RequestHead> {
    return {
      ...(await signedHead({ key })),
      signature: null,
      signatureInput: null,
      authorization: `Bearer ${token}`,
    };
  }

  it("is returned with the registration even where the answer is that the key sends too much", async () => {
    const take = () => rateLimited("Too much.", { retry_after_seconds: 1 });
    const slow = { ...region, deps: { ...region.deps, requestRate: part<KeyRate>({ take }) } };
    const grant = await issueGrant(grantFor(key), region.grantSigner);
    expect(await authenticate(slow, await headWith(grant))).toMatchObject({
      kind: "problem",
      headers: { "retry-after": "1", "svc-sandbox-bearer": expect.any(String) },
    });
  });

  it("is returned once, with the registration, and stands for the key", async () => {
    const token = await registered();
    const outcome = await authenticate(region, await bearerHead(token));
    expect(outcome).toMatchObject({
      kind: "authenticated",
      caller: { key: { key_id: key.keyId } },
      headers: {},
    });
    const again = await authenticate(
      region,
      await headWith(await issueGrant(grantFor(key), region.grantSigner)),
    );
    expect(again).toMatchObject({ kind: "authenticated", headers: {} });
  });

  it("has for its request hash that of a base without signature parameters", async () => {
    const head = await bearerHead(await registered());
    const outcome = await authenticate(region, head);
    const base = [
      `"@method": ${head.method}`,
      `"@authority": ${authority}`,
      `"@path": ${head.path}`,
      ...(head.contentDigest === null ? [] : [`"content-digest": ${head.contentDigest}`]),
      '"@signature-params": ',
    ];
    expect(outcome).toMatchObject({ caller: { requestHash: hashOf(utf8(base.join("\n"))) } });
  });

  it("is accepted for one hour", async () => {
    const token = await registered();
    region.clock.nowMs = startMs + 3_599_999;
    expect(await codeOf(authenticate(region, await bearerHead(token)))).toBe("authenticated");
    region.clock.nowMs = startMs + 3_600_000;
    expect(await codeOf(authenticate(region, await bearerHead(token)))).toBe("signature_expired");
  });

  it("is refused once its key is revoked", async () => {
    const token = await registered();
    const revoked = keyFacts(key.keyId, key.publicJwk, {
      role: "retrieval",
      party: companyUuid,
      revoked_at: "2026-03-01T12:00:00.000Z",
    });
    await region.register([entry("key", companyUuid, key.keyId, revoked)]);
    expect(await codeOf(authenticate(region, await bearerHead(token)))).toBe("key_unknown");
  });

  it("is accepted nowhere but on the retrieval surface of a sandbox", async () => {
    const head = await bearerHead(await registered());
    const production = await openRegion("production");
    expect(await codeOf(authenticate(production, head))).toBe("signature_missing");
    expect(await codeOf(authenticate(region, head, new Uint8Array(), { ...accepted, bearer: false }))).toBe(
      "signature_missing",
    );
    production.close();
  });

  it("counts only when the sandbox signed it, and not beside a signature", async () => {
    const token = await registered();
    const forged = token.replace(/\.[^.]+$/, `.${"A".repeat(86)}`);
    expect(await codeOf(authenticate(region, await bearerHead(forged)))).toBe("signature_invalid");
    expect(await codeOf(authenticate(region, await bearerHead("hello")))).toBe("signature_invalid");
    const half = { ...(await bearerHead(token)), signature: "sig1=:AAAA:" };
    expect(await codeOf(authenticate(region, half))).toBe("signature_missing");
  });

  it("is issued for no key of a business", async () => {
    const party = { uuid: businessUuid, kind: "business", legal_name: "B", country: "GB" } as const;
    const grant = await issueGrant(grantFor(key, { role: "integration", party }), region.grantSigner);
    const head = { ...(await signedHead({ key, tag: "svc-push" })), sandboxKey: grant };
    const callers = {
      ...accepted,
      tags: ["svc-push" as const],
      roles: ["integration" as const],
      bearer: false,
    };
    expect(await authenticate(region, head, new Uint8Array(), callers)).toMatchObject({
      kind: "authenticated",
      headers: {},
    });
  });
});
