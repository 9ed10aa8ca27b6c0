// Requests that no legitimate client sends: duplicate headers, targets in another spelling, grants of other callers.

import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawAnswer, rawHead, sendRaw } from "../../api/raw-request.fixture.ts";
import { freshNonce, newCaller, send, signed, type TestCaller } from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { createSigner, generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { startNode } from "../../node/composition/start.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { issueGrant, type SandboxGrant } from "../../service/register/sandbox-grant.ts";
import { product, seal, type TestBusiness } from "../publishing/publishing.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  newSigningKey,
  openAttackNode,
  publishOver,
  readOver,
} from "./attack.fixture.ts";

let node: AttackNode;
let business: TestBusiness;
let caller: TestCaller;
let seq = 0;

beforeAll(async () => {
  node = await openAttackNode();
  business = await newBusiness(node);
  caller = { key: business.signingKey, grant: "" };
});
afterAll(() => node.close());

const businessUrl = (): string => node.running.urls.business_url;

const codeOf = (answer: RawAnswer): unknown =>
  answer.body === "" ? answer.status : ((JSON.parse(answer.body) as { code?: string }).code ?? answer.status);

const nextSeq = (): number => {
  seq += 1;
  return seq;
};

interface RawRequest {
  readonly target?: string;
  readonly signedPath?: string;
  /** Header lines besides those that signing produced. */
  readonly extra?: readonly string[];
  /** Changes the lines that signing produced. */
  readonly change?: (headers: Record<string, string>) => Record<string, string>;
}

/** A handwritten publish request. */
async function publishRaw({ target, signedPath, extra = [], change }: RawRequest): Promise<RawAnswer> {
  const path = "/v1/publish/products";
  const { body } = await batchBody(business, [product("raw")], { seq: nextSeq() });
  const { headers } = await signed(businessUrl(), caller, {
    path: signedPath ?? path,
    body,
    tag: "svc-push",
  });
  const all: Record<string, string> = {
    host: new URL(businessUrl()).host,
    ...headers,
    "idempotency-key": freshNonce(),
    "content-length": String(body.length),
  };
  const head = rawHead(`POST ${target ?? path}`, change ? change(all) : all);
  const lines = extra.map((line) => `${line}\r\n`).join("");
  return sendRaw(businessUrl(), `${head.slice(0, -2)}${lines}\r\n${new TextDecoder().decode(body)}`);
}

describe("a header that is there twice", () => {
  it.each<readonly [string, string, unknown]>([
    ["Signature-Input with the same label", "signature-input: sig1=();created=1", "signature_invalid"],
    ["Signature with the same label", "signature: sig1=:AAAA:", "signature_invalid"],
    ["Content-Digest of something else", "content-digest: sha-256=:AAAA:", "digest_mismatch"],
    ["Idempotency-Key beyond its length", `idempotency-key: ${"k".repeat(255)}`, "request_invalid"],
    ["Content-Length", "content-length: 1", "request_invalid"],
    ["Transfer-Encoding beside Content-Length", "transfer-encoding: chunked", "request_invalid"],
  ])("%s is refused", async (_name, line, code) => {
    expect(codeOf(await publishRaw({ extra: [line] }))).toBe(code);
  });

  it("Host of another deployment is not believed", async () => {
    const answer = await publishRaw({ extra: ["host: api.svc.example"] });
    expect(codeOf(answer)).toBe("signature_invalid");
    const other = await publishRaw({ change: (headers) => ({ ...headers, host: "api.svc.example" }) });
    expect(codeOf(other)).toBe("signature_invalid");
  });

  it("a second signature with another tag does no harm", async () => {
    const answer = await publishRaw({
      change: ({ signature = "", "signature-input": input = "", ...headers }) => ({
        ...headers,
        "signature-input": `${input}, other=("@method");created=1;tag="somebody-elses"`,
        signature: `${signature}, other=:AAAA:`,
      }),
    });
    expect(codeOf(answer)).toBe(200);
  });
});

describe("a target", () => {
  const path = "/v1/publish/products";

  it.each<readonly [string, RawRequest, unknown]>([
    [
      "with an empty query that was not signed",
      { target: `${path}?`, signedPath: path },
      "signature_invalid",
    ],
    ["with a query that was added", { target: `${path}?a=1` }, "signature_invalid"],
    ["whose signed query was cut off", { signedPath: `${path}?a=1` }, "signature_invalid"],
    [
      "written with a percent sign that was not signed",
      { target: "/v1/publish/product%73" },
      "signature_invalid",
    ],
    [
      "with a parameter that does not exist",
      { target: `${path}?dry_run=1`, signedPath: `${path}?dry_run=1` },
      "request_invalid",
    ],
    ["with a slash more", { target: `${path}/`, signedPath: `${path}/` }, "not_found"],
    ["with two slashes", { target: `/${path}`, signedPath: path }, "not_found"],
    ["in upper case", { target: path.toUpperCase(), signedPath: path.toUpperCase() }, "not_found"],
    ["with a broken percent sign", { target: "/v1/publish/%zz", signedPath: path }, "request_invalid"],
    ["in absolute form", { target: `http://api.svc.example${path}` }, "signature_invalid"],
  ])("%s is refused", async (_name, request, code) => {
    expect(codeOf(await publishRaw(request))).toBe(code);
  });

  it("of a push may be percent-encoded when it was signed so", async () => {
    const { body, pushId } = await batchBody(business, [product("pct")], { seq: nextSeq() });
    await publishOver(node, business, body);
    const encoded = pushId.replace("b", "%62");
    expect(await readOver(node, business, `/v1/pushes/${encoded}`)).toMatchObject({ status: 200 });
    for (const other of ["..%2f..%2fv1", `${pushId}%00`, `${pushId}%2f`, "__proto__", pushId.toUpperCase()]) {
      expect((await readOver(node, business, `/v1/pushes/${other}`)).status, other).toBe(404);
    }
  });
});

describe("a body of exactly 32 MiB", () => {
  const limit = 33_554_432;

  it("is a batch like any other; one byte more is refused and leaves the nonce unused", async () => {
    const record = product("padded");
    const { batch_seal } = await seal(business, [record], { seq: nextSeq() });
    const text = new TextDecoder().decode(publishBody(batch_seal, [record]));
    const fits = utf8(`${text}${" ".repeat(limit - text.length)}`);
    const nonce = freshNonce();
    const over = await publishOver(node, business, utf8(`${text}${" ".repeat(limit + 1 - text.length)}`), {
      nonce,
    });
    expect(over).toMatchObject({ status: 413, json: { code: "record_too_large" } });
    expect((await publishOver(node, business, fits, { nonce })).status).toBe(200);
  });
});

describe("a grant", () => {
  const grantFor = async (jwk: SandboxGrant["public_key"], uuid: string): Promise<string> => {
    const grantKey = node.running.services.keys.grant;
    if (grantKey === null) throw new Error("A sandbox has a grant key.");
    const party = { uuid, kind: "business", legal_name: "Mallory", country: "GB" } as const;
    const grant = {
      v: 1,
      environment: "sandbox",
      party,
      role: "integration",
      public_key: jwk,
      mandate_id: null,
    } as const;
    return issueGrant(grant, grantKey);
  };
  const context = (by: TestCaller) =>
    send(businessUrl(), by, { path: "/v1/seal-context", tag: "svc-business-read" });

  it("of another party does not move a key that is registered", async () => {
    const grant = await grantFor(business.signingKey.publicJwk, "00000000-0000-4000-8000-0000000000ff");
    expect((await context({ key: caller.key, grant })).json["business_uuid"]).toBe(business.party.uuid);
  });

  it("of somebody else's key does not register the caller's", async () => {
    const grant = await grantFor((await newSigningKey()).publicJwk, business.party.uuid);
    expect(await context({ key: await newSigningKey(), grant })).toMatchObject({
      status: 401,
      json: { code: "key_unknown" },
    });
  });

  it("of a party of the other kind registers nothing", async () => {
    const { grant: grantKey } = node.running.services.keys;
    const company = await newCaller(grantKey, "retrieval", business.party.uuid);
    const answer = await send(node.running.urls.base_url, company, {
      path: `/v1/records/svc_${"a".repeat(26)}`,
    });
    expect(answer).toMatchObject({ status: 401, json: { code: "key_unknown" } });
  });

  it.each(["AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"])(
    "for the small-order key %s is refused",
    async (x) => {
      const jwk = { kty: "OKP", crv: "Ed25519", x } as const;
      const sign = async (): Promise<Uint8Array> => new Uint8Array([1, ...new Uint8Array(63)]);
      const key = { keyId: thumbprint(jwk), publicJwk: jwk, sign };
      const grant = await grantFor(jwk, business.party.uuid);
      expect(await context({ key, grant })).toMatchObject({ status: 401, json: { code: "key_unknown" } });
    },
  );

  it("that another sandbox signed, or nobody, is refused, and is not needed by a registered key", async () => {
    const key = await newSigningKey();
    const genuine = await grantFor(key.publicJwk, business.party.uuid);
    const [prefix, data = ""] = genuine.split(".");
    const stranger = createSigner(generatePrivateJwk("Ed25519"));
    const signature = toBase64Url(await stranger.sign(utf8(`${prefix}.${data}`)));
    for (const grant of [
      `${prefix}.${data}.${signature}`,
      `${prefix}.${data}.`,
      `${prefix}.${data}`,
      "x".repeat(8_192),
    ]) {
      expect(await context({ key, grant })).toMatchObject({ status: 401, json: { code: "key_unknown" } });
      expect((await context({ key: caller.key, grant })).status).toBe(200);
    }
    expect((await context({ key, grant: genuine })).status).toBe(200);
  });

  it("registers a key once, however many requests come with it at once, and it can publish", async () => {
    const { grant: grantKey } = node.running.services.keys;
    const fresh = await newCaller(grantKey, "integration", "00000000-0000-4000-8000-0000000000aa");
    const answers = await Promise.all(Array.from({ length: 40 }, () => context(fresh)));
    expect(answers.map((answer) => answer.status)).toEqual(Array(40).fill(200));
    await node.running.services.register.refresh();
    expect(
      await node.running.services.register.certificates("00000000-0000-4000-8000-0000000000aa"),
    ).toHaveLength(1);
    expect(new Set(answers.map((answer) => answer.json["cert_id"])).size).toBe(1);
    expect(answers[0]?.json["mandates"]).toMatchObject([{ mandate_id: `mdt_${fresh.key.keyId}` }]);
  });
});

it("a production node does not start on a sandbox's home", async () => {
  const home = await mkdtemp(join(tmpdir(), "svc-sandbox-home-"));
  // The node that runs holds its own.
  await cp(node.running.config.home, home, { recursive: true });
  const options = { home, environment: "production", portBase: 0, logLevel: "silent", logTo: "file" };
  await expect(startNode(options)).rejects.toThrow(/private key of another machine/);
  await rm(home, { recursive: true });
});

it("a revoked key can neither publish nor read, with or without its grant", async () => {
  const revoked = await newBusiness(node);
  const { parties } = node.running.services;
  const at = new Date().toISOString();
  await parties.revokeKey({
    uuid: revoked.party.uuid,
    key_id: revoked.key.key_id,
    revoked_at: at,
    compromised_from: at,
  });
  const { body } = await batchBody(revoked, [product("x")]);
  expect(await publishOver(node, revoked, body)).toMatchObject({
    status: 401,
    json: { code: "key_unknown" },
  });
  await registerInForce(node.running.services);
  expect(await readOver(node, revoked, "/v1/seal-context")).toMatchObject({
    status: 401,
    json: { code: "key_unknown" },
  });
});
