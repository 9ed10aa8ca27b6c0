// A newcomer asks a running sandbox for a grant for their own key, as a stranger would: over HTTP.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freshNonce, type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { parseSigningKey, type SigningKey } from "../../client/signing-key.ts";
import { generatePrivateJwk } from "../../crypto/private-jwk.ts";
import { type RunningNode, startNode } from "../../node/composition/start.ts";
import { buildSurfaces } from "../../node/composition/surfaces.ts";
import { type Envelope, makeEnvelope, pae, payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { keyPossessionPayload } from "../../protocol/keys/key-directory.ts";
import { product, seal } from "../publishing/publishing.fixture.ts";
import { registerInForce } from "../verification/register-in-force.fixture.ts";

const path = "/v1/sandbox/grants";

let home = "";
let node: RunningNode;
let elapsedMs = 0;

beforeAll(async () => {
  vi.stubEnv("SVC_SAMPLES", "no");
  home = await mkdtemp(join(tmpdir(), "svc-grants-"));
  node = await startNode({ home, portBase: 0, logLevel: "silent" }, { elapsedMs: () => elapsedMs });
});
afterAll(async () => {
  await node[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
  vi.unstubAllEnvs();
});

async function newKey(algorithm: "Ed25519" | "ES256" = "Ed25519"): Promise<SigningKey> {
  const parsed = await parseSigningKey(generatePrivateJwk(algorithm));
  if (!parsed.ok) throw new Error(parsed.detail);
  return parsed.value;
}

interface Question {
  readonly signer?: SigningKey | null;
  readonly body?: object | string;
  readonly surface?: "base_url" | "business_url";
  readonly request?: Partial<SentRequest>;
}

/** Requests a grant for `key`, after letting a minute pass, so that the rate limit does not affect these tests. */
async function ask(key: SigningKey, changes: object = {}, question: Question = {}): Promise<ReceivedAnswer> {
  elapsedMs += 60_000;
  const members = {
    public_key: key.publicJwk,
    role: "integration",
    legal_name: "Newcomer Ltd",
    country: "GB",
    ...changes,
  };
  const body = question.body ?? members;
  const { signer = key, surface = "business_url", request = {} } = question;
  return send(node.urls[surface], signer === null ? null : { key: signer, grant: "" }, {
    path,
    tag: surface === "base_url" ? "svc-retrieval" : "svc-push",
    body: typeof body === "string" ? body : JSON.stringify(body),
    ...request,
    headers: { "svc-sandbox-key": null, ...request.headers },
  });
}

interface Given {
  readonly key_id: string;
  readonly grant: string;
  readonly registered: boolean;
  readonly party: { readonly uuid: string; readonly kind: string; readonly legal_name: string };
}

async function given(key: SigningKey, changes: object = {}, question: Question = {}): Promise<Given> {
  const answer = await ask(key, changes, question);
  expect(answer.status, answer.text).toBe(200);
  return answer.json as unknown as Given;
}

async function publish(key: SigningKey, grant: string, uuid: string): Promise<ReceivedAnswer> {
  const caller = { key, grant };
  const read = await send(node.urls.business_url, caller, {
    path: "/v1/seal-context",
    tag: "svc-business-read",
  });
  const certId = String(read.json["cert_id"]);
  const records = [product("own-key")];
  const business = { party: { uuid }, key: {}, signingKey: key, certId };
  const sealed = await seal(business as Parameters<typeof seal>[0], records);
  const headers = { "idempotency-key": freshNonce() };
  const body = publishBody(sealed.batch_seal, records);
  return send(node.urls.business_url, caller, {
    path: "/v1/publish/products",
    tag: "svc-push",
    body,
    headers,
  });
}

/** A live key of the party: registered by the first request with its grant. */
async function newBusiness(): Promise<{ readonly key: SigningKey; readonly party: Given["party"] }> {
  const key = await newKey();
  const { grant, party } = await given(key);
  expect(await publish(key, grant, party.uuid)).toMatchObject({ status: 200 });
  await registerInForce(node.services);
  return { key, party };
}

async function possession(
  key: SigningKey,
  claim: { readonly uuid: string; readonly nonce: string; readonly role?: "integration" | "retrieval" },
): Promise<Envelope> {
  const payload = keyPossessionPayload({
    v: 1,
    party_uuid: claim.uuid,
    key_id: key.keyId,
    role: claim.role ?? "integration",
    challenge: claim.nonce,
  });
  const type = payloadTypes["key-possession.v1"];
  return makeEnvelope(type, payload, [{ keyid: key.keyId, sig: await key.sign(pae(type, payload)) }]);
}

const nonce = (): string => `${"n".repeat(20)}${freshNonce().replaceAll(/[^A-Za-z0-9_-]/g, "")}`;

describe("a grant for a key of one's own", () => {
  it.each(["Ed25519", "ES256"] as const)("lets an %s key publish as a new business", async (algorithm) => {
    const key = await newKey(algorithm);
    const { grant, party, registered, key_id } = await given(key);
    expect(key_id).toBe(key.keyId);
    expect(registered).toBe(false);
    expect(party).toMatchObject({ kind: "business", legal_name: "Newcomer Ltd (sandbox)", country: "GB" });
    expect(await publish(key, grant, party.uuid)).toMatchObject({
      status: 200,
      json: { results: [{ outcome: "accepted" }] },
    });
  });

  it("lets a key search as a new AI company, asked for on either host", async () => {
    for (const surface of ["base_url", "business_url"] as const) {
      const key = await newKey();
      const { grant, party } = await given(key, { role: "retrieval" }, { surface });
      expect(party.kind).toBe("ai_company");
      const search = { filter: { all: [{ country: "GB" }] }, sort_by: "published_at:desc" };
      const request = { path: "/v1/products/search", body: JSON.stringify(search) };
      expect(await send(node.urls.base_url, { key, grant }, request)).toMatchObject({ status: 200 });
    }
  });

  it("is the same when it is asked for again, and names a party that nobody else gets", async () => {
    const key = await newKey();
    const first = await given(key);
    expect(await given(key)).toEqual(first);
    const others = [await given(await newKey()), await given(key, { role: "retrieval" })];
    expect(new Set([first, ...others].map(({ party }) => party.uuid)).size).toBe(3);
  });

  it("registers nothing by itself", async () => {
    const key = await newKey();
    const { party } = await given(key);
    expect(await node.services.parties.facts(party.uuid, key.keyId)).toMatchObject({
      party: null,
      key: "unknown",
    });
  });

  it("of a registered key is one of its own party, whatever name is asked for", async () => {
    const { key, party } = await newBusiness();
    const again = await given(key, { legal_name: "Somebody Else Ltd", country: "FR" });
    expect(again).toMatchObject({ registered: true, party });
  });
});

describe("a grant for a further key of a party", () => {
  it("is given where a live key of the party signs, and the new one proves itself", async () => {
    const { key, party } = await newBusiness();
    const second = await newKey("ES256");
    const challenge = nonce();
    const proof = await possession(second, { uuid: party.uuid, nonce: challenge });
    const changes = { legal_name: undefined, country: undefined, possession: proof };
    const granted = await given(second, changes, { signer: key, request: { nonce: challenge } });
    expect(granted.party).toEqual(party);
    expect(await publish(second, granted.grant, party.uuid)).toMatchObject({ status: 200 });
  });

  it.each([
    ["the new key proved itself for another party", { uuid: "00000000-0000-4000-8000-000000000001" }],
    ["the proof is of another request", { nonce: "m".repeat(40) }],
    ["the proof is for another role", { role: "retrieval" as const }],
  ])("is refused where %s", async (_name, claim) => {
    const { key, party } = await newBusiness();
    const second = await newKey();
    const challenge = nonce();
    const proof = await possession(second, { uuid: party.uuid, nonce: challenge, ...claim });
    const changes = { legal_name: undefined, country: undefined, possession: proof };
    expect(await ask(second, changes, { signer: key, request: { nonce: challenge } })).toMatchObject({
      status: 400,
      json: { code: "request_invalid", pointer: "/possession", reason: "key_mismatch" },
    });
  });

  it("is refused where somebody else's key is proved by their own", async () => {
    const { key, party } = await newBusiness();
    const victim = await newBusiness();
    const challenge = nonce();
    const proof = await possession(key, { uuid: party.uuid, nonce: challenge });
    const changes = { legal_name: undefined, country: undefined, possession: proof };
    const answer = await ask(victim.key, changes, { signer: key, request: { nonce: challenge } });
    expect(answer).toMatchObject({ status: 400, json: { pointer: "/possession", reason: "key_mismatch" } });
    const own = await possession(victim.key, { uuid: party.uuid, nonce: challenge });
    const taken = await ask(
      victim.key,
      { ...changes, possession: own },
      { signer: key, request: { nonce: challenge } },
    );
    expect(taken).toMatchObject({ status: 400, json: { pointer: "/public_key" } });
  });

  it("is refused where no registered key signs, where it was revoked, and beside a name", async () => {
    const { key, party } = await newBusiness();
    const second = await newKey();
    const challenge = nonce();
    const proof = await possession(second, { uuid: party.uuid, nonce: challenge });
    const changes = { legal_name: undefined, country: undefined, possession: proof };
    const request = { nonce: challenge };
    for (const signer of [second, await newKey()]) {
      expect(await ask(second, changes, { signer, request })).toMatchObject({
        status: 401,
        json: { code: "key_unknown" },
      });
    }
    expect(await ask(second, { possession: proof }, { signer: key, request })).toMatchObject({
      status: 400,
      json: { pointer: "/possession" },
    });
    const revoked_at = formatTimestamp(Date.now());
    await node.services.parties.revokeKey({
      uuid: party.uuid,
      key_id: key.keyId,
      revoked_at,
      compromised_from: null,
    });
    await registerInForce(node.services);
    expect(await ask(second, changes, { signer: key, request })).toMatchObject({
      status: 401,
      json: { code: "key_unknown", detail: "The key was revoked." },
    });
    expect(await ask(key)).toMatchObject({ status: 401, json: { code: "key_unknown" } });
  });
});

it("is answered by each of its members", async () => {
  const { key, party } = await newBusiness();
  const second = await newKey();
  const challenge = nonce();
  const possessed = await possession(second, { uuid: party.uuid, nonce: challenge });
  const [signature] = possessed.signatures;
  const joining = { legal_name: undefined, country: undefined, possession: possessed };
  const proofOf = (change: object) => ({ ...joining, possession: { ...possessed, ...change } });
  const signedWith = (change: object) => proofOf({ signatures: [{ ...signature, ...change }] });
  const said = async (changes: object, question: Question) => {
    const { status, json } = await ask(second, changes, question);
    return JSON.stringify([status, json["code"] ?? json["party"], json["pointer"], json["reason"]]);
  };
  const joins = { signer: key, request: { nonce: challenge } };
  const news = { public_key: (await newKey()).publicJwk };
  const alone = await Promise.all(
    [{}, { legal_name: "Other" }, { country: "IE" }, { role: "retrieval" }, news].map((each) =>
      said(each, {}),
    ),
  );
  expect(new Set(alone).size).toBe(alone.length);
  const right = await said(joining, joins);
  const changed = [
    ...[news, { possession: undefined }].map((each) => ({ ...joining, ...each })),
    ...[{ payloadType: "x" }, { payload: "e30=" }, { signatures: [] }].map(proofOf),
    ...[{ keyid: key.keyId }, { sig: "AAAA" }].map(signedWith),
    signedWith({ authenticatorData: "AAAA", clientDataJSON: "e30=" }),
    signedWith({ clientDataJSON: "e30=" }),
  ];
  for (const each of changed) expect(await said(each, joins), JSON.stringify(each)).not.toBe(right);
  expect((await ask(second, {}, { request: { path: `${path}?nonesuch=1` } })).json).toMatchObject({
    code: "request_invalid",
    pointer: "/query",
  });
});

describe("a request for a grant is refused", () => {
  it.each<readonly [string, object, string]>([
    ["without a name", { legal_name: undefined }, "/legal_name"],
    ["without a country", { country: undefined }, "/country"],
    ["with a country that there is not", { country: "XX" }, "/country"],
    ["with an empty name", { legal_name: "" }, "/legal_name"],
    ["with a name that turns the writing round", { legal_name: "A\u202eB" }, "/legal_name"],
    ["with a name of two lines", { legal_name: "A\nB" }, "/legal_name"],
    ["with a name of 201 characters", { legal_name: "A".repeat(201) }, "/legal_name"],
    ["with another role", { role: "sealing" }, "/role"],
    ["with a member that there is not", { admin: true }, "/admin"],
    ["with a party of one's choice", { party_uuid: "00000000-0000-4000-8000-000000000001" }, "/party_uuid"],
    ["without a key", { public_key: undefined }, "/public_key"],
    ["with no key at all", { public_key: { kty: "oct" } }, "/public_key"],
    ["with the private half of the key", { public_key: generatePrivateJwk("Ed25519") }, "/public_key"],
  ])("%s", async (_name, changes, pointer) => {
    const answer = await ask(await newKey(), changes);
    expect(answer).toMatchObject({ status: 400, json: { code: "request_invalid" } });
    expect(String(answer.json["pointer"])).toMatch(new RegExp(`^${pointer}`));
  });

  it("that is not JSON", async () => {
    expect(await ask(await newKey(), {}, { body: "{" })).toMatchObject({
      status: 400,
      json: { code: "request_invalid" },
    });
  });

  it("over its size", async () => {
    expect(await ask(await newKey(), {}, { body: `{"a":"${"x".repeat(4_096)}"}` })).toMatchObject({
      status: 413,
      json: { code: "record_too_large" },
    });
  });

  it("for a key that did not sign it", async () => {
    const key = await newKey();
    const codeOf = async (question: Question): Promise<unknown> =>
      (await ask(key, {}, question)).json["code"];
    expect(await codeOf({ signer: null })).toBe("signature_missing");
    expect(await codeOf({ signer: await newKey() })).toBe("key_unknown");
    const pretending = { ...(await newKey()), keyId: key.keyId };
    expect(await codeOf({ signer: pretending })).toBe("signature_invalid");
    expect(await codeOf({ request: { signedHost: "elsewhere.example" } })).toBe("signature_invalid");
    expect(await codeOf({ request: { tag: "svc-retrieval" } })).toBe("signature_invalid");
    expect(await codeOf({ request: { created: Math.floor(Date.now() / 1_000) - 400 } })).toBe(
      "signature_expired",
    );
    const headers = { "content-digest": `sha-256=:${"A".repeat(43)}=:` };
    expect(["digest_mismatch", "signature_invalid"]).toContain(await codeOf({ request: { headers } }));
  });

  it("of a registered key for another role", async () => {
    const { key } = await newBusiness();
    expect(await ask(key, { role: "retrieval" })).toMatchObject({
      status: 403,
      json: { code: "role_not_allowed", pointer: "/role" },
    });
  });

  it("beyond thirty a minute from one address, until the minute is over", async () => {
    elapsedMs += 60_000;
    const request = (): Promise<ReceivedAnswer> => send(node.urls.business_url, null, { path, body: "{}" });
    const answers: ReceivedAnswer[] = [];
    for (let count = 0; count < 31; count += 1) answers.push(await request());
    expect(answers.map(({ status }) => status).filter((status) => status === 429)).toHaveLength(1);
    expect(answers.at(-1)).toMatchObject({ status: 429, json: { reason: "address_rate" } });
    expect(answers.at(-1)?.headers.get("retry-after")).toBe("60");
    elapsedMs += 60_000;
    expect((await request()).status).toBe(400);
  });
});

it("has no address in production", async () => {
  const { services, urls } = node;
  const production = {
    ...services,
    keys: { ...services.keys, environment: "production", grant: null } as const,
  };
  const access = { hosts: [], token: "", isLoopback: true };
  const surfaces = buildSurfaces(production, {
    urls,
    access,
    ports: [],
    logger: pino({ level: "silent" }),
    audit: { record: () => {} },
  });
  for (const [surface, url] of [
    [surfaces.retrieval, urls.base_url],
    [surfaces.business, urls.business_url],
  ] as const) {
    const headers = { host: new URL(url).host };
    const answer = await surface.inject({ method: "POST", url: path, body: "{}", headers });
    expect(answer.statusCode).toBe(404);
    expect(answer.json()).toMatchObject({ code: "not_found" });
    const document = await surface.inject({ url: "/openapi.json", headers });
    expect(document.json().paths[path]).toBeUndefined();
  }
});

it("is described in the OpenAPI documents of both hosts", async () => {
  for (const url of [node.urls.base_url, node.urls.business_url]) {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as {
      paths: Record<string, unknown>;
    };
    expect(document.paths[path]).toBeDefined();
  }
});
