// The examples in the OpenAPI documents are real answers of a node: a run generates them, and each run compares them member
// by member. What differs between runs (keys, signatures, times) is compared by its form. With SVC_WRITE_EXAMPLES=1 the run
// writes them.

import { readFile, writeFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { applicationRef, pushRef, recoveryRef } from "../../actors/messages/refs.ts";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import {
  newCaller,
  productSearch,
  type SentRequest,
  send,
  type TestCaller,
} from "../../api/surfaces.fixture.ts";
import { publishBody } from "../../client/batch.ts";
import { proveToOperator } from "../../client/signing-key.ts";
import { collections } from "../../collections/collections.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { imageLinksOf } from "../../node/images/ad-images.ts";
import { imageOf } from "../../node/images/images.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { Visitor } from "../../portal/portal.fixture.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import { exactMember } from "../../protocol/json/strict-json.ts";
import { thumbprint } from "../../protocol/keys/jwk.ts";
import { keyAddedEntry } from "../../protocol/log/leaves.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { removalActions } from "../../protocol/wire/removal.ts";
import {
  comparedForm,
  inspectionExamples,
  liveExamples,
  tokenPlace,
} from "../operators/example-inspection.fixture.ts";
import { fileOf, sendFile } from "../publishing/bulk.fixture.ts";
import { newPerson, sealDecision } from "../publishing/hold-decisions.fixture.ts";
import { openBusiness, product, seal, type TestBusiness } from "../publishing/publishing.fixture.ts";
import {
  removalText,
  sealAlone,
  sealCustodyRequest,
  sealMandate,
  sealPolicyAlone,
  sealRemoval,
} from "../publishing/removal.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newSigningKey,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";
import { shortened, shownMax } from "./example-forms.fixture.ts";
import { moneyExamples } from "./example-money.fixture.ts";
import { listExamples, takedownExamples } from "./example-takedowns.fixture.ts";
import { toolCalls } from "./example-tools.fixture.ts";

interface Example {
  request?: unknown;
  readonly answers: Record<string, unknown>;
}
type Examples = Record<string, Example>;

const file = new URL("../../api/examples.json", import.meta.url);
const made: Examples = {};
let node: AttackNode;
let business: TestBusiness;
let pusher: TestCaller;
let company: TestCaller;
const companyUuid = "10000000-0000-4000-8000-0000000000e2";
const companyToCome = "10000000-0000-4000-8000-0000000000e3";

beforeAll(async () => {
  node = await openAttackNode({}, { samples: true });
  const { services } = node.running;
  business = await openBusiness(services, "00000000-0000-4000-8000-0000000000e1");
  pusher = { key: business.signingKey, grant: "" };
  company = await newCaller(services.keys.grant, "retrieval", companyUuid);
});
afterAll(() => node.close());

function note(
  key: string,
  answer: { readonly status: number; readonly text: string },
  request?: string,
): void {
  const example = made[key] ?? { answers: {} };
  made[key] = example;
  const body: unknown = /^\{(?!.*\}\n\{)/s.test(answer.text)
    ? shortened(JSON.parse(answer.text))
    : answer.text.split("\n").slice(0, shownMax).join("\n");
  if (request !== undefined) example.request = shortened(JSON.parse(request));
  if (answer.text !== "") example.answers[String(answer.status)] = body;
}

interface Asked extends SentRequest {
  /** The path of the route, if it has parameters. */
  readonly route?: string;
}

async function ask(base: string, caller: TestCaller | null, request: Asked) {
  const { route = request.path.split("?", 1)[0], ...sent } = request;
  const answer = await send(base, caller, sent);
  const method = request.method ?? (request.body === undefined ? "GET" : "POST");
  note(`${method} ${route}`, answer, request.body === undefined ? undefined : String(request.body));
  return answer;
}

async function askOps(
  path: string,
  route: string,
  body?: object,
  method = body === undefined ? "GET" : "POST",
): Promise<void> {
  const token = (await readFile(`${node.running.config.home}/ops-token`, "utf8")).trim();
  const headers = { authorization: signedIn(token), ...(body && { "content-type": "application/json" }) };
  const init = { method, headers, ...(body && { body: JSON.stringify(body).replace(tokenPlace, token) }) };
  const response = await contractFetch(`${node.running.urls.ops_url}${path}`, init);
  const answer = { status: response.status, text: await response.text() };
  note(`${method} ${route}`, answer, body && JSON.stringify(body));
}

async function publishing(): Promise<string> {
  const base = node.running.urls.business_url;
  const push = async (type: string, records: readonly Uint8Array[], seq: number): Promise<string> => {
    const { batch_seal, push_id } = await seal(business, records, { seq });
    const body = new TextDecoder().decode(publishBody(batch_seal, records));
    const headers = { "idempotency-key": `example-${type}-${seq}` };
    await ask(base, pusher, { path: `/v1/publish/${type}`, body, tag: "svc-push", headers });
    return push_id;
  };
  const many = Array.from({ length: 51 }, (_, index) => product(`example-${index}`));
  const queued = await push("products", many, 1);
  await push(
    "products",
    [product("example-a", { product_name: "Heirloom kettle" }), product("example-b", { prices: [] })],
    2,
  );
  for (const { path, name } of Object.values(collections))
    if (name !== "products") await push(path, [product("example-a")], 3);
  await awaitPush(node, business, queued);
  const tag = "svc-business-read";
  await ask(base, pusher, { path: `/v1/pushes/${queued}`, route: "/v1/pushes/:push_id", tag });
  await ask(base, pusher, { path: "/v1/seal-context", tag });
  await ask(base, pusher, { path: "/v1/catalogue", tag });
  await ask(base, pusher, { path: "/v1/push-attempts?status=rejected", tag });
  await ask(base, pusher, { path: "/v1/catalogue/example-a", route: "/v1/catalogue/:record_id", tag });
  await holds(base);
  return queued;
}

/** Two pushes of another business that are held: one is rejected, the other cancelled. */
async function holds(base: string): Promise<void> {
  const merchant = await openBusiness(node.running.services, "00000000-0000-4000-8000-0000000000e3");
  const person = await newPerson(node, merchant);
  const priced = (index: number, amount: string): Uint8Array =>
    product(`example-${index}`, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] });
  const catalogue = Array.from({ length: 20 }, (_, index) => priced(index, "10.00"));
  await publishOver(node, merchant, (await batchBody(merchant, catalogue, { seq: 1 })).body);
  const push = async (amount: string, seq: number): Promise<string> => {
    const { body, pushId } = await batchBody(merchant, [priced(3, amount)], { seq });
    await publishOver(node, merchant, body);
    return pushId;
  };
  const push_id = await push("95.50", 2);
  const caller = { key: merchant.signingKey, grant: "" };
  await ask(base, caller, { path: "/v1/holds", tag: "svc-business-read" });
  const decision = await sealDecision(merchant, person, { push_id, decision: "reject" });
  const path = `/v1/pushes/${push_id}/hold`;
  const asked = { path, route: "/v1/pushes/:push_id/hold", tag: "svc-push" } as const;
  await ask(base, caller, { ...asked, body: JSON.stringify({ decision }) });
  const route = "/v1/pushes/:push_id/cancel";
  const another = await push("96.50", 3);
  await ask(base, caller, { method: "POST", path: `/v1/pushes/${another}/cancel`, route, tag: "svc-push" });
}

async function removing(): Promise<void> {
  const base = node.running.urls.business_url;
  const { services } = node.running;
  const signer = await services.hostedSigner(business.party.uuid);
  for (const { name, path } of Object.values(collections)) {
    const alone = { path: `/v1/publish/${path}/record`, tag: "svc-push" } as const;
    const { body: delivered } = await sealAlone(services, business, name);
    const { json } = await ask(base, pusher, { ...alone, body: delivered });
    const record_id = String(json["record_id"]);
    if (name === "business_files") await ask(base, pusher, { path: "/v1/domains", tag: "svc-business-read" });
    for (const action of removalActions.toReversed()) {
      const sealed = await sealRemoval(business, { record_id, action }, signer, { record_type: name });
      const headers = { "idempotency-key": `example-${action}-${path}` };
      const body = removalText(sealed);
      await ask(base, pusher, { path: `/v1/publish/${path}/${action}`, body, tag: "svc-push", headers });
      const many = `{"withdrawals":[${body}]}`;
      await ask(base, pusher, { path: "/v1/withdrawals", body: many, tag: "svc-push", headers });
    }
  }
}

/** The policy and a mandate of another business: what is sealed afterwards would have to name it. */
async function policies(): Promise<void> {
  const { services, urls } = node.running;
  const merchant = await openBusiness(services, "00000000-0000-4000-8000-0000000000e5");
  const body = await sealPolicyAlone(services, merchant);
  const caller = { key: merchant.signingKey, grant: "" };
  await ask(urls.business_url, caller, { path: "/v1/ai-policies", body, tag: "svc-push" });
  const mandate = await sealMandate(services, merchant);
  await ask(urls.business_url, caller, { path: "/v1/mandates", body: mandate, tag: "svc-push" });
  const request = await sealCustodyRequest(merchant, await newPerson(node, merchant));
  await ask(urls.business_url, caller, { path: "/v1/key-custody", body: request, tag: "svc-push" });
}

async function bulk(): Promise<void> {
  const { services, urls } = node.running;
  const sender = await openBusiness(services, "00000000-0000-4000-8000-0000000000e9");
  const caller = { key: sender.signingKey, grant: "" };
  const post = (path: string, body: object) =>
    ask(urls.business_url, caller, {
      path,
      body: JSON.stringify(body),
      tag: "svc-push",
      headers: { "idempotency-key": `example-${path}` },
    });
  const upload = (await post("/v1/bulk-uploads", { record_type: "products" })).json as unknown as BulkUpload;
  const records = [product("example-bulk-a"), product("example-bulk-b")];
  const file = fileOf(records);
  const { status, json } = await sendFile(upload, file);
  const request = JSON.stringify({ ...upload.fields, file: String(file) });
  note("POST /v1/bulk-uploads/:upload_id/file", { status, text: JSON.stringify(json) }, request);
  const { batch_seal } = await seal(sender, records, { seq: 1 });
  await post("/v1/bulk-imports", { upload_id: upload.upload_id, batch_seal });
}

/** An image of an ad, which is neither sent nor answered as JSON. */
async function images(): Promise<void> {
  const { services, urls } = node.running;
  const [path, bytes] = ["/v1/ads/images", await imageOf("image/png", { isNoisy: false })];
  const headers = { "content-type": "image/png" };
  const sent = await send(urls.business_url, pusher, { path, body: bytes, tag: "svc-push", headers });
  note(`POST ${path}`, sent);
  const link = imageLinksOf(services, urls.base_url).linkOf(String(sent.json["sha256"]));
  const { status } = await contractFetch(link);
  note(`GET ${path}/:hash`, { status, text: "(the bytes of the image)" });
}

const search = { ...productSearch, limit: 2 };
/** A single product, so that the one shown does not depend on a random order. */
const productsFound = { ...search, q: "heirloom" };

async function retrieval() {
  const base = node.running.urls.base_url;
  for (const name of collectionNames) {
    const body = JSON.stringify(name === "products" ? productsFound : search);
    await ask(base, company, { path: `/v1/${collections[name].path}/search`, body });
  }
  const body = JSON.stringify({ collection: "products", ...productsFound });
  const found = await ask(base, company, { path: "/v1/search", body });
  const [row] = found.json["rows"] as Record<string, string>[];
  const path = `/v1/records/${row?.["record_id"]}`;
  return { row, fetched: await ask(base, company, { path, route: "/v1/records/:record_id" }) };
}

/** What follows from the answers: figures of the business, and the company's events. */
async function insight(): Promise<void> {
  const { services, urls } = node.running;
  const asked = { topic_keywords: ["kettle"], client_query_id: "order-4711" };
  for (const n of [1, 2, 3]) {
    const uuid = `10000000-0000-4000-8000-0000000000e${n}`;
    const by = n === 2 ? company : await newCaller(services.keys.grant, "retrieval", uuid);
    const body = JSON.stringify({ ...productsFound, ...asked });
    for (let times = 0; times < 4; times += 1)
      await send(urls.base_url, by, { path: "/v1/products/search", body });
  }
  await services.insight.flush();
  const { receipts, eventStore: events, config } = services;
  const ports = { receipts, events, sha256: nativeCrypto.sha256 };
  await closeReceiptBatches({ ...ports, append: async () => {} }, config.region, Date.now() + 120_000);
  const tag = "svc-business-read";
  for (const name of ["daily?type=products", "who-is-asking", "demand?country=US&type=products"])
    await ask(urls.business_url, pusher, { path: `/v1/analytics/${name}`, tag });
  await ask(urls.base_url, company, { path: "/v1/events?limit=2" });
  const body = JSON.stringify({ listed: true });
  await ask(urls.base_url, company, { path: "/v1/key-directory/listing", body });
  for (const path of ["/v1/receipts?limit=1", "/v1/usage"]) await ask(urls.base_url, company, { path });
  const { json } = await send(urls.base_url, company, { path: "/v1/terms" });
  const agreed = JSON.stringify({ version: json["version"], sha256: json["sha256"] });
  await ask(urls.base_url, company, { path: "/v1/terms/agreements", body: agreed });
  for (const path of ["/v1/terms", "/v1/entitlement"]) await ask(urls.base_url, company, { path });
}

async function grants(): Promise<string> {
  const key = await newSigningKey();
  const question = { public_key: key.publicJwk, role: "retrieval", legal_name: "Answers Ltd", country: "GB" };
  const { json } = await ask(
    node.running.urls.base_url,
    { key, grant: "" },
    { path: "/v1/sandbox/grants", body: JSON.stringify(question) },
  );
  return String(json["grant"]);
}

async function verification({ row, fetched }: Awaited<ReturnType<typeof retrieval>>): Promise<void> {
  const base = node.running.urls.verify_url;
  const read = (path: string, route: string) => ask(base, null, { path, route });
  const { uuid } = business.party;
  await read(`/v1/certificates/${uuid}`, "/v1/certificates/:uuid");
  await read(`/v1/certificates/${uuid}/keys`, "/v1/certificates/:uuid/keys");
  await read(`/v1/certificates/${uuid}/key-custody`, "/v1/certificates/:uuid/key-custody");
  const wellKnown = ["keys", "svc-keys", "http-message-signatures-directory"];
  for (const path of [
    ...wellKnown.map((name) => `/.well-known/${name}`),
    "/v1/ai-policy-key",
    "/v1/log/policy",
  ])
    await read(path, path);
  await log(base, read);
  await read("/v1/projections/products/1", "/v1/projections/:type/:version");
  await read("/v1/schemas/ai_policy/1", "/v1/schemas/:type/:version");
  await published(read);
  await read(`/v1/verify/${row?.["record_id"]}?origin=${row?.["adl_origin"]}`, "/v1/verify/:record_id");
  const body = JSON.stringify({
    record_base64: toBase64(utf8(exactMember(fetched.text, "record") ?? "")),
    seal: fetched.json["seal"],
    sidecar: fetched.json["sidecar"],
  });
  await ask(base, null, { path: "/v1/verify", body });
  await toolCalls(node.running.urls.mcp_url, ask);
}

/** The vectors change with every document that is added to them: two files stand for all. */
async function published(read: (path: string, route: string) => Promise<unknown>): Promise<void> {
  await read("/v1/vocabularies/languages", "/v1/vocabularies/:name");
  for (const path of ["/v1/vocabularies", "/v1/envelope-specification"]) await read(path, path);
  await read("/v1/payloads/key-possession/1", "/v1/payloads/:kind/:version");
  const file = { path: "seal.json", sha256: "0".repeat(64), cases: 12 };
  note("GET /v1/test-vectors", { status: 200, text: JSON.stringify({ v: 1, files: [file] }) });
  note("GET /v1/test-vectors/:path", { status: 200, text: JSON.stringify({ v: 1, cases: [] }) });
}

/** Reads the log once it has its first leaves. */
async function log(base: string, read: (path: string, route: string) => Promise<unknown>): Promise<void> {
  const checkpoint = await vi.waitUntil(
    async () => {
      const answer = await fetch(`${base}/checkpoint`);
      return answer.status === 200 ? await answer.text() : null;
    },
    { timeout: 60_000, interval: 200 },
  );
  const width = Number(checkpoint.split("\n")[1]);
  for (const path of ["/v1/log/checkpoint", "/checkpoint", "/v1/log/witnesses"]) await read(path, path);
  const { leaf } = keyAddedEntry(business.party.uuid, business.key.key_id, nativeCrypto.sha256);
  await read(`/v1/log/inclusion?leaf=${encodeURIComponent(leaf)}`, "/v1/log/inclusion");
  await read("/v1/log/consistency?first=1", "/v1/log/consistency");
  const tile = await fetch(`${base}/tile/0/000${width < 256 ? `.p/${width}` : ""}`);
  note("GET /tile/:path", { status: tile.status, text: "(32 bytes for each hash)" });
}

async function operations(pushId: string, grant: string): Promise<void> {
  const [uuid, key_id] = [business.party.uuid, business.key.key_id];
  const act = { reason: "Found in a public repository." };
  for (const path of ["/healthz", "/readyz", "/metrics", "/ops/stalled-pushes", "/ops/purges"])
    await askOps(path, path);
  await askOps(`/ops/purges/${uuid}`, "/ops/purges/:business_uuid");
  const { id } = pushRef(uuid, pushId);
  const seen = async (party: string) => ({
    expected: (await node.running.services.parties.entry(party)).change,
  });
  await inspectionExamples(askOps, { id, pushId, seen });
  await liveExamples(node.running, id, (key, text) => note(key, { status: 200, text }));
  const facts = await node.running.services.parties.facts(uuid, key_id);
  const mandate = `/ops/mandates/${uuid}/${encodeURIComponent(facts.mandates[0]?.mandate_id ?? "")}`;
  await askOps(mandate, "/ops/mandates/:business_uuid/:mandate_id");
  await askOps(`${mandate}/revoke`, "/ops/mandates/:business_uuid/:mandate_id/revoke", act);
  await askOps(`/ops/keys/${key_id}`, "/ops/keys/:key_id");
  await askOps(`/ops/keys/${key_id}/revoke`, "/ops/keys/:key_id/revoke", act);
  await askOps(`/ops/blocks/${uuid}`, "/ops/blocks/:business_uuid");
  for (const last of ["block", "unblock"]) {
    const group = { group: companyUuid, ...(await seen(uuid)), ...act };
    await askOps(`/ops/blocks/${uuid}/${last}`, `/ops/blocks/:business_uuid/${last}`, group);
  }
  await askOps(`/ops/groups/${companyUuid}`, "/ops/groups/:company_uuid");
  const joined = { group: "answers-group", ...(await seen(companyUuid)), ...act };
  await askOps(`/ops/groups/${companyUuid}/join`, "/ops/groups/:company_uuid/join", joined);
  await askOps("/ops/grants/revoke", "/ops/grants/revoke", { grant, ...act });
  const comer = `/ops/parties/${companyToCome}`;
  const named = { kind: "ai_company", legal_name: "Ask Ltd", country: "GB", cert_id: null };
  await askOps(`${comer}/certify`, "/ops/parties/:uuid/certify", { ...named, ...act });
  await node.running.services.register.refresh();
  await askOps(comer, "/ops/parties/:uuid");
  const { certificate } = await node.running.services.parties.facts(companyToCome, "");
  const key = await newSigningKey();
  const claim = { uuid: companyToCome, role: "retrieval", certId: certificate?.cert_id ?? "" } as const;
  const proven = await proveToOperator(key, claim);
  if (!proven.ok) throw new Error(proven.detail);
  const { public_key, proof } = proven.value;
  await askOps(`${comer}/keys`, "/ops/parties/:uuid/keys", { public_key, proof, ...act });
  const again = { cert_id: certificate?.cert_id ?? "", ...act };
  await askOps(`${comer}/reissue`, "/ops/parties/:uuid/reissue", again);
  await askOps(`/ops/certificates/${uuid}`, "/ops/certificates/:uuid");
  const ends = { withdraw: "approval_reversed", close: "business_closed", revoke: "fraud" };
  for (const [last, status_reason] of Object.entries(ends)) {
    const { certificate: inForce } = await node.running.services.parties.facts(uuid, "");
    const ending = { cert_id: inForce?.cert_id, status_reason, ...act };
    await askOps(`/ops/certificates/${uuid}/${last}`, `/ops/certificates/:uuid/${last}`, ending);
  }
  await askOps(`/ops/acts/${uuid}`, "/ops/acts/:uuid");
}

/** What somebody applied for at the portal, and how an operator decides. */
async function applications(): Promise<void> {
  const ada = new Visitor(node.running.urls.portal_url);
  await ada.signUp("Ada Lovelace");
  // Their order is that of uuids that were drawn.
  for (let count = 1; count <= 2; count += 1) await ada.apply("Crumb & Crust Ltd", "GB");
  const act = { reason: "Found in a public repository." };
  const route = "/ops/applications/:uuid";
  const { actors, actorStore } = node.running.services;
  const [, sentWith = ""] = await actorStore.listActors("application", "", 2);
  const page = `/applications/${sentWith}`;
  const extract = { name: "extract.pdf", type: "application/pdf", bytes: Buffer.from("%PDF-1.7 …\n") };
  await ada.upload((await ada.get(page)).form(`${page}/evidence`), extract);
  const report = await actors.ask(applicationRef(sentWith), { type: "application.read" });
  const taken = `/ops${page}/evidence/${report?.evidence[0]?.file}/download`;
  await askOps(taken, `${route}/evidence/:file/download`);
  await askOps("/ops/applications", "/ops/applications");
  const uuids = await node.running.services.actorStore.listActors("application", "", 2);
  const [approved, refused] = uuids.map((uuid) => `/ops/applications/${uuid}`);
  await askOps(`${approved}/approve`, `${route}/approve`, act);
  const statement = "The register has no such company.";
  await askOps(`${refused}/refuse`, `${route}/refuse`, { statement, ...act });
  await askOps(refused ?? "", route);
  await recoveries(approved?.split("/").at(-1) ?? "", ada.personId);
}

/** Somebody new who asks for the place of an owner who lost all passkeys. */
async function recoveries(uuid: string, replaces: string): Promise<void> {
  const comer = new Visitor(node.running.urls.portal_url);
  await comer.signUp("Ada again");
  const asked = await comer.send((await comer.get("/recover")).form("/recover"), { uuid });
  const made = await comer.answer(asked.form("/recover/passkey"));
  await comer.answer(made.form("/recover/file"));
  const reason = "Seen in person, with the extract of the register.";
  const [path, route] = [`/ops/recoveries/${comer.personId}.${uuid}`, "/ops/recoveries/:recovery_id"];
  await askOps("/ops/recoveries", "/ops/recoveries");
  const { services } = node.running;
  const ref = recoveryRef(comer.personId, uuid);
  const known = await services.actors.ask(ref, { type: "recovery.read" });
  const key_id = known === null ? "" : thumbprint(known.sealing.public_key, services.crypto.sha256);
  await askOps(`${path}/approve`, `${route}/approve`, { replaces, key_id, reason });
  await askOps(`${path}/refuse`, `${route}/refuse`, { statement: "Nobody confirmed it.", key_id, reason });
  await askOps(path, route);
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: object }>>>>;
}

/** Every operation of every surface, and the addresses without an offering, which are requested here. */
async function allOperations(): Promise<readonly string[]> {
  const { base_url, business_url, verify_url, mcp_url, ops_url } = node.running.urls;
  const keys = new Set<string>();
  for (const base of [base_url, business_url, verify_url, mcp_url, ops_url]) {
    const document = (await (await fetch(`${base}/openapi.json`)).json()) as Document;
    for (const [template, operations] of Object.entries(document.paths)) {
      for (const [name, { responses }] of Object.entries(operations)) {
        const route = template.replaceAll(/\{([a-z_]+)\}/g, ":$1");
        const method = name.toUpperCase();
        keys.add(`${method} ${route}`);
        const isOffered = Object.keys(responses).some((status) => status.startsWith("2"));
        if (!isOffered) await ask(base, null, { method, path: route.replaceAll(/:[a-z_]+/g, "x"), route });
      }
    }
  }
  // It is its own example.
  keys.delete("GET /openapi.json");
  return [...keys].sort();
}

it("are of every operation, and what a node answers now", async () => {
  const pushId = await publishing();
  await bulk();
  await images();
  await removing();
  await policies();
  const answers = await retrieval();
  await insight();
  await verification(answers);
  await moneyExamples({ node, company, companyUuid, ask, askOps });
  await takedownExamples({ node, ask, askOps });
  await operations(pushId, await grants());
  await applications();
  await listExamples({ askOps });
  const operationKeys = await allOperations();
  const sorted = Object.fromEntries(Object.entries(made).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (process.env["SVC_WRITE_EXAMPLES"] === "1")
    await writeFile(file, `${JSON.stringify(sorted, null, 2)}\n`);
  const kept = JSON.parse(await readFile(file, "utf8")) as Examples;
  expect(Object.keys(kept).sort()).toEqual(operationKeys);
  for (const key of operationKeys)
    expect([key, comparedForm(key, sorted[key])]).toEqual([key, comparedForm(key, kept[key])]);
});
