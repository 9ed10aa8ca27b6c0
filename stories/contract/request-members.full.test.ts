// No member of a request is read and then ignored: each member of each request that the surfaces describe has an entry
// below, which shows that two requests that differ only in it get different answers, or names the test that shows what else
// it does. A member without an entry fails the test, and so does an entry without a member.

import { readFileSync } from "node:fs";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { companyUuid } from "../../api/routes/verification.fixture.ts";
import { freshNonce, newCaller, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { collections } from "../../collections/collections.ts";
import { createMetrics } from "../../ops/metrics.ts";
import { buildOps } from "../../ops/server.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { imageProofs } from "../ads/image-members.fixture.ts";
import { readsOfMoney } from "../money/money-effects.fixture.ts";
import { operations } from "../operators/operations-effects.fixture.ts";
import { bulkProofs } from "../publishing/bulk-members.fixture.ts";
import { businessReads } from "../publishing/business-reads-effects.fixture.ts";
import { holdProofs } from "../publishing/hold-members.fixture.ts";
import { publishedProofs } from "../publishing/published-members.fixture.ts";
import { removalProofs } from "../publishing/removal-members.fixture.ts";
import { logProofs } from "../verification/log-members.fixture.ts";
import { readsOfInsight } from "./insight-effects.fixture.ts";
import {
  codeOf,
  type Effect,
  type EffectsWorld,
  fieldValues,
  openEffects,
  type Proof,
  searchEffects,
} from "./request-effects.fixture.ts";
import { type OpenApiDocument, type RequestMember, requestMembers } from "./request-members.fixture.ts";
import { toolProofs } from "./tool-members.fixture.ts";

let world: EffectsWorld;
let members: readonly RequestMember[] = [];

beforeAll(async () => {
  world = await openEffects();
  const { retrievalUrl, businessUrl, verifyUrl, toolsUrl } = world.surfaces;
  const documents: unknown[] = [await opsDocument()];
  for (const base of [retrievalUrl, businessUrl, verifyUrl, toolsUrl])
    documents.push((await send(base, null, { path: "/openapi.json" })).json);
  const all = documents.flatMap((document) => requestMembers(document as OpenApiDocument));
  members = [...new Map(all.map((member) => [member.key, member])).values()];
});
afterAll(() => world.surfaces[Symbol.asyncDispose]());

async function opsDocument(): Promise<unknown> {
  const deps = {
    logger: pino({ level: "silent" }),
    incarnation: "t",
    metrics: createMetrics(),
    readings: () => [],
    access: { hosts: ["localhost:80"], token: "", isLoopback: true },
    ready: async () => ({ ready: true, degraded: [], checks: {}, plain_text: [] }),
    stalledPushes: () => [],
  };
  const absent = {
    purges: rubbish({}),
    revocations: rubbish({}),
    enrolment: rubbish({}),
    applications: rubbish({}),
    recoveries: rubbish({}),
    ledgers: rubbish({}),
    campaigns: rubbish({}),
    blocks: rubbish({}),
    brands: rubbish({}),
    takedowns: rubbish({}),
    heldDeletions: rubbish({}),
    lists: rubbish({}),
    cluster: rubbish({}),
    inspection: rubbish({ past: {} }),
    acting: rubbish({}),
  } as const;
  return (await buildOps({ ...deps, ...absent, audit: { record: () => {} } }).inject("/openapi.json")).json();
}

const unknownUuid = "90000000-0000-4000-8000-000000000009";
const recordId = (): string => String(world.row["record_id"]);

/** The statuses or codes of two public reads. */
const reads =
  (first: () => string, second: () => string): Effect =>
  async () => [codeOf(await world.get(first())), codeOf(await world.get(second()))];
/** The bodies of two public reads. */
const texts =
  (first: () => string, second: () => string): Effect =>
  async () => [(await world.get(first())).text, (await world.get(second())).text];

const certificate = (uuid = world.business.party.uuid): string => `/v1/certificates/${uuid}`;
const page = (more = "", id = recordId(), origin = String(world.row["adl_origin"])): string =>
  `/v1/verify/${id}?format=json&origin=${origin}${more}`;

const publicReads: Readonly<Record<string, Proof>> = {
  "GET /v1/certificates/{uuid} path uuid": reads(
    () => certificate(),
    () => certificate(unknownUuid),
  ),
  "GET /v1/certificates/{uuid} query format": texts(
    () => `${certificate()}?format=html`,
    () => `${certificate()}?format=json`,
  ),
  "GET /v1/certificates/{uuid}/keys path uuid": reads(
    () => `${certificate()}/keys`,
    () => `${certificate(companyUuid)}/keys`,
  ),
  "GET /v1/certificates/{uuid}/key-custody path uuid": reads(
    () => `${certificate()}/key-custody`,
    () => `${certificate(companyUuid)}/key-custody`,
  ),
  "GET /v1/verify/{record_id} path record_id": reads(
    () => page(),
    () => page("", `svc_${"a".repeat(26)}`),
  ),
  "GET /v1/verify/{record_id} query origin": reads(
    () => page(),
    () => page("", recordId(), `sha256:${"0".repeat(64)}`),
  ),
  "GET /v1/verify/{record_id} query cert": async () => {
    const checks = async (cert: string) => (await world.get(page(`&cert=${cert}`))).json["checks"];
    return [await checks(world.business.certId), await checks(`sha256:${"0".repeat(64)}`)];
  },
  "GET /v1/verify/{record_id} query served_at": async () => {
    const checks = async (at: string) => (await world.get(page(`&served_at=${at}`))).json["checks"];
    return [await checks(new Date().toISOString()), await checks("2020-01-01T00:00:00Z")];
  },
  "GET /v1/verify/{record_id} query format": texts(
    () => page(),
    () => page().replace("format=json", "format=html"),
  ),
};

/** The findings of two requests to POST /v1/verify: a valid one, and the same with one member changed. */
const verifies =
  (change: (whole: Record<string, unknown>) => object): Effect =>
  async () => {
    const whole = {
      record_base64: toBase64(utf8(exactMember(world.fetched.text, "record") ?? "")),
      seal: world.fetched.json["seal"],
      sidecar: world.fetched.json["sidecar"],
      row: world.row,
    };
    const ask = async (body: object): Promise<unknown> => {
      const { checked_at, statement, ...findings } = (
        await send(world.surfaces.verifyUrl, null, { path: "/v1/verify", body: JSON.stringify(body) })
      ).json;
      return findings;
    };
    return [await ask(whole), await ask(change(whole))];
  };

const verification: Readonly<Record<string, Proof>> = {
  "POST /v1/verify body /record_base64": verifies((whole) => ({
    ...whole,
    record_base64: toBase64(utf8("{}")),
  })),
  "POST /v1/verify body /seal": verifies((whole) => ({
    ...whole,
    seal: { ...Object(whole["seal"]), leaf_index: 7 },
  })),
  "POST /v1/verify body /sidecar": verifies((whole) => ({ ...whole, sidecar: whole["seal"] })),
  "POST /v1/verify body /row": verifies((whole) => ({
    ...whole,
    row: { ...Object(whole["row"]), brand: "Other" },
  })),
  "POST /v1/verify body /ai_policy_bits": verifies((whole) => ({ ...whole, ai_policy_bits: {} })),
  "POST /v1/verify body /key_events": verifies((whole) => ({ ...whole, key_events: "require" })),
  "POST /v1/verify body /ad_item": verifies((whole) => ({ ...whole, ad_item: {} })),
  "POST /v1/verify body /entitlement": verifies((whole) => ({ ...whole, entitlement: {} })),
  "POST /v1/verify body /ad_item/record_base64": verifies(() => ({ ad_item: { record_base64: "AAAA" } })),
};

const fetched = (id: string) =>
  send(world.surfaces.retrievalUrl, world.company, { path: `/v1/records/${id}` });
const pushStatus = async (query = "", id = world.pushId): Promise<unknown> => {
  const path = `/v1/pushes/${id}${query}`;
  const answer = await send(world.surfaces.businessUrl, world.pusher, { path, tag: "svc-business-read" });
  return answer.json["results"] ?? codeOf(answer);
};

const signedReads: Readonly<Record<string, Proof>> = {
  "GET /v1/records/{record_id} path record_id": async () => [
    codeOf(await fetched(recordId())),
    codeOf(await fetched(`svc_${"a".repeat(26)}`)),
  ],
  "GET /v1/pushes/{push_id} path push_id": async () => [
    await pushStatus(),
    await pushStatus("", `bat_${"0".repeat(24)}`),
  ],
  "GET /v1/pushes/{push_id} query outcome": async () => [
    await pushStatus("?outcome=accepted"),
    await pushStatus("?outcome=rejected"),
  ],
  "GET /v1/pushes/{push_id} query cursor": async () => [
    await pushStatus("?cursor=leaf-0"),
    await pushStatus("?cursor=leaf-1"),
  ],
};

/** A valid batch, and the same with one member changed. */
const publishes =
  (change: (body: Record<string, unknown>) => object): Effect =>
  async () => [await world.published(), await world.published(change)];
const withSeal =
  (change: (seal: Record<string, unknown>) => object) =>
  (body: Record<string, unknown>): object => ({ ...body, batch_seal: change(Object(body["batch_seal"])) });
const withSignature = (change: object) =>
  withSeal((seal) => ({ ...seal, signatures: [{ ...(seal["signatures"] as object[])[0], ...change }] }));

const batchMembers: Readonly<Record<string, Effect>> = {
  "/batch_seal": publishes(withSeal(() => ({}))),
  "/batch_seal/payloadType": publishes(withSeal((seal) => ({ ...seal, payloadType: "text/plain" }))),
  "/batch_seal/payload": publishes(withSeal((seal) => ({ ...seal, payload: btoa("{}") }))),
  "/batch_seal/signatures": publishes(withSeal((seal) => ({ ...seal, signatures: [] }))),
  "/batch_seal/signatures/*/keyid": publishes(withSignature({ keyid: "x" })),
  "/batch_seal/signatures/*/sig": publishes(withSignature({ sig: btoa("x") })),
  "/batch_seal/signatures/*/authenticatorData": publishes(
    withSignature({ authenticatorData: btoa("x"), clientDataJSON: btoa("{}") }),
  ),
  "/batch_seal/signatures/*/clientDataJSON": publishes(withSignature({ clientDataJSON: btoa("{}") })),
  "/records": publishes((body) => ({ ...body, records: [btoa("{}")] })),
};

/** The types that are not published here refuse the request as a whole. */
const refusedAsAWhole =
  (path: string): Effect =>
  async () => {
    const headers = { "idempotency-key": freshNonce() };
    const request = { path, body: "{}", tag: "svc-push", headers } as const;
    return ["published", codeOf(await send(world.surfaces.businessUrl, world.pusher, request))];
  };

function publishing(): Readonly<Record<string, Proof>> {
  const proofs: Record<string, Proof> = {};
  for (const { name, path } of Object.values(collections)) {
    const route = `/v1/publish/${path}`;
    for (const [pointer, effect] of Object.entries(batchMembers))
      proofs[`POST ${route} body ${pointer}`] = name === "products" ? effect : refusedAsAWhole(route);
    proofs[`POST ${route} query validate_only`] = async () => {
      const headers = { "idempotency-key": freshNonce() };
      const ask = async (value: string) => {
        const request = { path: `${route}?validate_only=${value}`, body: "{}", tag: "svc-push" } as const;
        return (await send(world.surfaces.businessUrl, world.pusher, { ...request, headers })).json[
          "pointer"
        ];
      };
      return [await ask("true"), await ask("maybe")];
    };
    proofs[`POST ${route} header Idempotency-Key`] = async () => {
      const ask = async (key: string | null) =>
        codeOf(
          await send(world.surfaces.businessUrl, world.pusher, {
            path: route,
            body: "{",
            tag: "svc-push",
            headers: { "idempotency-key": key },
          }),
        );
      // The type and form of a batch are refused only once there is a key.
      return name === "products"
        ? [await replayed(true), await replayed(false)]
        : [await ask(null), await ask("k")];
    };
  }
  return proofs;
}

/** A second batch under the first one's Idempotency-Key, or under another. */
async function replayed(isSame: boolean): Promise<unknown> {
  const key = freshNonce();
  await world.published(undefined, { "idempotency-key": key });
  return world.published(undefined, { "idempotency-key": isSame ? key : freshNonce() });
}

const grants = (): Readonly<Record<string, Proof>> => {
  const keys = members.map(({ key }) => key).filter((key) => key.startsWith("POST /v1/sandbox/grants "));
  const shownBy = (key: string) =>
    key.includes("owner")
      ? "stories/retrieval/sandbox-owner.test.ts: has a different answer for each of its members"
      : "stories/retrieval/sandbox-grants.test.ts: is answered by each of its members";
  return Object.fromEntries(keys.map((key) => [key, { shownBy: shownBy(key) }]));
};

/** The header that every signed operation has: outside its bounds it is refused, within them a known key may send it. */
function sandboxKeys(): Readonly<Record<string, Proof>> {
  const signed = members.filter(({ key }) => key.endsWith(" header SVC-Sandbox-Key"));
  return Object.fromEntries(signed.map(({ key }) => [key, sandboxKeyEffect(key)]));
}

function sandboxKeyEffect(key: string): Effect {
  const [method = "", template = ""] = key.split(" ");
  const path = template.replace("{record_id}", recordId()).replace("{push_id}", world.pushId);
  const isRetrieval =
    /search$|^\/v1\/(records\/|events$|receipts$|terms(\/agreements)?$|entitlement$|usage$|allowance$|statements\/|ads\/(pool|render|click)$|key-directory\/)/.test(
      path,
    );
  const { retrievalUrl, businessUrl, services } = world.surfaces;
  const tag = isRetrieval ? "svc-retrieval" : method === "GET" ? "svc-business-read" : "svc-push";
  return async () => {
    const role = isRetrieval ? "retrieval" : "integration";
    const uuid = isRetrieval ? "10000000-0000-4000-8000-000000000003" : world.business.party.uuid;
    const caller = await newCaller(services.keys.grant, role, uuid);
    const ask = async (headers: SentRequest["headers"]) => {
      const body = method === "GET" ? {} : { body: "{}" };
      return codeOf(
        await send(isRetrieval ? retrievalUrl : businessUrl, caller, {
          path,
          method,
          tag,
          ...body,
          headers: headers ?? {},
        }),
      );
    };
    return [await ask({ "svc-sandbox-key": null }), await ask({})];
  };
}

const table = (): Readonly<Record<string, Proof>> => ({
  ...publicReads,
  ...publishedProofs(() => world),
  ...verification,
  ...signedReads,
  ...publishing(),
  ...readsOfInsight,
  ...readsOfMoney,
  ...bulkProofs,
  ...imageProofs,
  ...logProofs,
  ...toolProofs,
  ...holdProofs,
  ...removalProofs(members.map(({ key }) => key)),
  ...searchEffects(() => world),
  ...operations,
  ...businessReads,
  ...sandboxKeys(),
  ...grants(),
});

describe("every member of every request", () => {
  it("has its line, and every line its member", () => {
    const known = Object.keys(table()).sort();
    expect(members.length).toBeGreaterThan(300);
    expect(members.map(({ key }) => key).sort()).toEqual(known);
    for (const name of collectionNames) {
      const fields = collections[name].fields
        .map((field) => field.name)
        .filter((field) => field !== "country");
      expect(Object.keys(fieldValues[name]).sort()).toEqual(fields.sort());
    }
  });

  it("changes the answer, or has the effect that a test of its own shows", async () => {
    const without: string[] = [];
    for (const [key, proof] of Object.entries(table())) {
      if (typeof proof === "function") {
        const [first, second] = await proof();
        if (JSON.stringify(first) === JSON.stringify(second))
          without.push(`${key}: ${JSON.stringify(first)}`);
      } else {
        const [, file = "", title] = /^(\S+): (.*)$/.exec(proof.shownBy) ?? [];
        if (!readFileSync(file, "utf8").includes(`"${title}"`)) without.push(`${key}: no test «${title}»`);
      }
    }
    expect(without).toEqual([]);
    // Several hundred requests, one after the other.
  }, 300_000);

  it("is all that there is: any other query parameter is refused, wherever it is sent", async () => {
    const { retrievalUrl, businessUrl, verifyUrl } = world.surfaces;
    const said: Record<string, unknown> = {};
    for (const key of publicAddresses())
      said[key] = codeOf(await send(verifyUrl, null, { path: `${key}?nonesuch=1` }));
    const verify = { path: "/v1/verify?nonesuch=1", body: "{}" };
    said["verify"] = codeOf(await send(verifyUrl, null, verify));
    const search = { path: "/v1/search?nonesuch=1", body: "{}" };
    const fetch = { path: `/v1/records/${recordId()}?nonesuch=1` };
    for (const request of [search, fetch]) {
      const answer = await send(retrievalUrl, world.company, request);
      said[request.path] = [codeOf(answer), answer.json["pointer"]].join();
    }
    const context = { path: "/v1/seal-context?nonesuch=1", tag: "svc-business-read" } as const;
    said["context"] = codeOf(await send(businessUrl, world.pusher, context));
    const refused = Object.keys(said).map((key) => [
      key,
      key.startsWith("/v1/records") || key.startsWith("/v1/search")
        ? "request_invalid,/query"
        : "request_invalid",
    ]);
    expect(said).toEqual(Object.fromEntries(refused));
  });
});

const publicAddresses = (): readonly string[] => [
  certificate(),
  `${certificate()}/keys`,
  `${certificate()}/key-custody`,
  "/.well-known/keys",
  "/.well-known/svc-keys",
  "/v1/projections/products/1",
  "/v1/schemas/products/1",
  "/v1/ai-policy-key",
  "/v1/log/checkpoint",
  "/v1/log/witnesses",
  "/v1/log/policy",
  "/v1/vocabularies",
  "/v1/vocabularies/languages",
  "/v1/payloads/seal/2",
  "/v1/test-vectors",
  "/v1/envelope-specification",
  "/v1/test-vectors/seal.json",
  `/v1/verify/${recordId()}`,
  "/openapi.json",
];
