// No answer of the operators' surface has a secret: every address of the table of routes is asked, after secrets were given to the node.
// What crosses between nodes is left out at its own node: across-nodes.full.test.ts asks three nodes.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { applicationRef, personRef } from "../../actors/messages/refs.ts";
import { freshNonce, newCaller, send, type TestCaller } from "../../api/surfaces.fixture.ts";
import type { ClusterOps } from "../../ops/cluster.ts";
import { act, openOps } from "../../ops/ops.fixture.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { Visitor } from "../../portal/portal.fixture.ts";
import { listNames } from "../../protocol/identifiers.ts";
import { part } from "../../protocol/rubbish.fixture.ts";
import { budgetText, grossPrice, newAdvertiser, openPool } from "../../stories/ads/ads.fixture.ts";
import { fileOf, newUpload, sendFile } from "../../stories/publishing/bulk.fixture.ts";
import { priced, pushCatalogue } from "../../stories/publishing/hold-decisions.fixture.ts";
import { product } from "../../stories/publishing/publishing.fixture.ts";
import {
  type AttackNode,
  awaitPush,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../../stories/retrieval/attack.fixture.ts";

vi.setConfig({ testTimeout: 300_000, hookTimeout: 240_000 });

interface Asked {
  readonly path: string;
  readonly body?: object;
  /** Only the beginning of an answer that goes on. */
  readonly isStream?: true;
}

let node: AttackNode;
/** Each secret by what it is. */
const secrets = new Map<string, string>();
/** The secrets that the stores have as they are, so that an answer could show them. */
const keyOfEvidence = "the key of an application's evidence";
const stored = [
  "the text of a record",
  "the business's own id",
  "the price of a held listing",
  keyOfEvidence,
];
let evidencePath = "";
let plan: Readonly<Record<string, readonly Asked[]>>;
let session = "";
/** The mark of the conversation that was shown an ad: the id of its own actor, which no answer about a pool may name. */
let mark = "";

/** Texts that occur nowhere else. */
const recordText = "Emerald-earrings-that-only-their-owner-names";
const ownId = "own-id-of-a-secret-thing";
const heldPrice = "48151.62";
const sessionLabel = "label-of-a-person-who-talks";

beforeAll(async () => {
  node = await openAttackNode({}, { samples: true });
  plan = planOf(await plant());
});
afterAll(() => node.close());

interface Planted {
  readonly uuid: string;
  readonly companyUuid: string;
  readonly keyId: string;
  readonly pushId: string;
  readonly refs: readonly { readonly kind: string; readonly id: string }[];
  readonly grant: string;
}

async function plant(): Promise<Planted> {
  const { services, urls, config } = node.running;
  const business = await newBusiness(node);
  const { uuid } = business.party;
  await pushCatalogue(node, business);
  const nonce = freshNonce();
  const idempotencyKey = freshNonce();
  const records = [product(ownId, { short_description: recordText }), priced("item-3", heldPrice)];
  const { body, pushId } = await batchBody(business, records, { seq: 2 });
  await publishOver(node, business, body, { nonce, headers: { "idempotency-key": idempotencyKey } });
  expect(await awaitPush(node, business, pushId)).toMatchObject({ state: "held" });
  const single = await batchBody(business, [product(`${ownId}-2`, { short_description: recordText })], {
    seq: 3,
  });
  await publishOver(node, business, single.body);
  // A request that is refused, with the same texts.
  await publishOver(node, business, JSON.stringify({ [recordText]: ownId }));
  const upload = await newUpload(urls, business);
  await sendFile(upload, fileOf([product(`${ownId}-3`, { short_description: recordText })]).toString());
  const company = await servedCompany();
  // The id of an upload is that of its actor.
  const { upload_id: _, ...fields } = upload.fields;
  const known: Record<string, string> = { ...company.secrets, ...fields };
  for (const [name, value] of Object.entries(known)) if (value.length > 20) secrets.set(name, value);
  for (const [name, value] of [
    ["the text of a record", recordText],
    ["the business's own id", ownId],
    ["the price of a held listing", heldPrice],
    ["the label of a session", sessionLabel],
    ["the gross price of a campaign", grossPrice],
    ["the budget of a campaign", budgetText],
    ["the budget of a campaign in units", budgetText.replace(".", "")],
    ["a nonce", nonce],
    ["an Idempotency-Key", idempotencyKey],
    ["the operators' token", readFileSync(join(config.home, "ops-token"), "utf8").trim()],
  ] as const)
    secrets.set(name, value);
  for (const name of [
    "cursorKey",
    "adTokenKey",
    "adSessionKey",
    "imageLinkKey",
    "portalKey",
    "webhookSecret",
  ] as const)
    for (const form of ["hex", "base64", "base64url"] as const)
      secrets.set(`${name} as ${form}`, Buffer.from(services[name]).toString(form));
  for (const [at, key] of privateKeysIn(config.home).entries()) secrets.set(`private key ${at}`, key);
  const person = new Visitor(urls.portal_url);
  await person.signUp("Ada Lovelace");
  await person.apply("Hidden Ltd");
  const lost = await person.send((await person.get("/recover")).form("/recover"), { uuid });
  await person.answer((await person.answer(lost.form("/recover/passkey"))).form("/recover/file"));
  const [, personId = "", cookie = ""] = /^([^.]+)\.(.+)$/.exec(person.cookies.get("svc_portal") ?? "") ?? [];
  secrets.set("the cookie of a person", cookie);
  const report = await services.actors.ask(personRef(personId), { type: "person.read" });
  secrets.set("the hash of a person's session", report?.sessions[0]?.session ?? "");
  secrets.set("a passkey that signs in", report?.passkeys[0]?.credential_id ?? "");
  evidencePath = await sendEvidence(person);
  session = await openSession(urls.ops_url);
  secrets.set("the cookie of a session", session.split("=")[1] ?? "");
  const refs = await actorsOf([uuid, company.uuid]);
  mark = refs.find(({ kind }) => kind === "ad-session")?.id ?? "";
  return {
    uuid,
    companyUuid: company.uuid,
    keyId: business.key.key_id,
    pushId,
    refs,
    grant: company.caller.grant,
  };
}

/** Sends a file with the person's application, whose key is a secret; returns where operators take it. */
async function sendEvidence(person: Visitor): Promise<string> {
  const { actors, actorStore } = node.running.services;
  const [, page = ""] = /href="(\/applications\/[^"]+)"/.exec((await person.get("/")).html) ?? [];
  const form = (await person.get(page)).form(`${page}/evidence`);
  await person.upload(form, { name: "a.pdf", type: "application/pdf", bytes: Buffer.from("%PDF-1.7") });
  const application = applicationRef(page.split("/").at(-1) ?? "");
  const [key] = await actorStore.readRows(application, [{ rt: 18, keys: [""] }]);
  secrets.set(keyOfEvidence, key?.body ?? "");
  const report = await actors.ask(application, { type: "application.read" });
  return `/ops/applications/${application.id}/evidence/${report?.evidence[0]?.file}/download`;
}

/** An AI company whose user is shown an ad under a label. */
async function servedCompany() {
  const uuid = "10000000-0000-4000-8000-0000000000f1";
  const caller: TestCaller = await newCaller(node.running.services.keys.grant, "retrieval", uuid);
  const advertiser = await newAdvertiser(node);
  await advertiser.campaign();
  await advertiser.ad("planted");
  const [item] = await vi.waitFor(
    async () => {
      const { ads } = await openPool(node, caller, { session_ref: sessionLabel });
      expect(ads).not.toEqual([]);
      return ads;
    },
    { timeout: 60_000 },
  );
  const rendered = await send(node.running.urls.base_url, caller, {
    path: "/v1/ads/render",
    body: JSON.stringify({ render_token: item?.render_token, format: "card" }),
  });
  const { click_token } = rendered.json as { readonly click_token: string };
  const found = {
    "a grant": caller.grant,
    "a render token": item?.render_token ?? "",
    "a click token": click_token,
  };
  return { uuid, caller, secrets: found };
}

/** What the home folder has of private keys. */
function privateKeysIn(home: string): readonly string[] {
  const names = readdirSync(home, { recursive: true, encoding: "utf8" }).filter((name) =>
    name.endsWith(".json"),
  );
  const texts = names.map((name) => readFileSync(join(home, name), "utf8"));
  const found = texts.flatMap((text) => [...text.matchAll(/"d":\s*"([A-Za-z0-9_-]{20,})"/g)]);
  return found.map(([, key = ""]) => key);
}

async function openSession(base: string): Promise<string> {
  const token = secrets.get("the operators' token");
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ token, by: "Ada at the desk" });
  const answer = await fetch(`${base}/ops/session`, { method: "POST", headers, body });
  return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
}

/** All actors of these parties, and one of every other kind. */
async function actorsOf(parties: readonly string[]) {
  const { kinds } = await readJson("/ops/counts");
  const found: { kind: string; id: string }[] = [];
  for (const { kind } of kinds as readonly { readonly kind: string }[]) {
    const pages = await Promise.all(
      ["active", "known"].map((scope) => readJson(`/ops/actors?scope=${scope}&kind=${kind}&limit=200`)),
    );
    const ids = pages.flatMap(({ actors }) => actors.map(({ id }: { readonly id: string }) => id as string));
    const own = ids.filter((id) => parties.some((party) => id.startsWith(party)));
    for (const id of new Set(own.length > 0 ? own : ids.slice(0, 1))) found.push({ kind, id });
  }
  return found;
}

type Json = ReturnType<typeof JSON.parse>;

async function readJson(path: string): Promise<Json> {
  return (await fetch(`${node.running.urls.ops_url}${path}`)).json();
}

/** What each address is asked. An act is refused or done; both are answers. */
function planOf(planted: Planted): typeof plan {
  const { uuid, companyUuid, keyId, refs } = planted;
  const names = refs.map(({ kind, id }) => `${kind}/${encodeURIComponent(id)}`);
  const kinds = [...new Set(refs.map(({ kind }) => kind))];
  const each = (...paths: readonly string[]): readonly Asked[] => paths.map((path) => ({ path }));
  const streams = (...paths: readonly string[]): readonly Asked[] =>
    paths.map((path) => ({ path, isStream: true }));
  const at = (last: string) => each(...names.map((name) => `/ops/actors/${name}${last}`));
  const month = new Date().toISOString().slice(0, 7);
  return {
    ...Object.fromEntries(
      ["/", "/healthz", "/readyz", "/metrics", "/openapi.json", "/ops/nodes", "/ops/counts", "/ops/attention"]
        .concat("/ops/stalled-pushes", "/ops/machines", "/ops/refusals", "/ops/purges", "/ops/session")
        .concat(
          "/ops/audit",
          "/ops/takedowns",
          "/ops/lists",
          "/ops/campaigns",
          "/ops/ledgers",
          "/ui/accounts",
          "/ui/applications",
          "/ui/audit",
          "/ui/takedowns",
          "/ui/lists",
          "/ui/renders",
        )
        .concat("/ui/", "/ui/nodes", "/ui/refusals", "/ui/sign-in")
        .map((path) => [`GET ${path}`, each(path)]),
    ),
    "GET /ops/machines/:kind": each(...kinds.map((kind) => `/ops/machines/${kind}`)),
    "GET /ops/actors": each(
      ...kinds.map((kind) => `/ops/actors?scope=known&kind=${kind}`),
      "/ops/actors?limit=200",
    ),
    "GET /ops/search": each(`/ops/search?q=${uuid}`, `/ops/search?q=${ownId}`),
    "GET /ops/actors/:kind/:id": at(""),
    "GET /ops/actors/:kind/:id/journal": at("/journal?limit=200"),
    "GET /ops/live/counts": streams("/ops/live/counts"),
    "GET /ops/live/actors/:kind/:id": streams(...names.slice(0, 8).map((name) => `/ops/live/actors/${name}`)),
    "GET /ops/purges/:business_uuid": each(`/ops/purges/${uuid}`),
    "GET /ops/keys/:key_id": each(`/ops/keys/${keyId}`),
    "GET /ops/mandates/:business_uuid/:mandate_id": each(`/ops/mandates/${uuid}/mdt_${keyId}`),
    "GET /ops/certificates/:uuid": each(`/ops/certificates/${uuid}`, `/ops/certificates/${companyUuid}`),
    "GET /ops/applications": each("/ops/applications"),
    "GET /ops/applications/:uuid": each(
      ...refs.filter(({ kind }) => kind === "application").map(({ id }) => `/ops/applications/${id}`),
    ),
    "GET /ops/applications/:uuid/evidence/:file/download": each(evidencePath),
    "GET /ops/recoveries": each("/ops/recoveries"),
    "GET /ops/recoveries/:recovery_id": each(
      ...refs.filter(({ kind }) => kind === "recovery").map(({ id }) => `/ops/recoveries/${id}`),
    ),
    "GET /ops/parties/:uuid": each(`/ops/parties/${uuid}`, `/ops/parties/${companyUuid}`),
    "GET /ops/acts/:uuid": each(`/ops/acts/${uuid}`),
    "GET /ops/blocks/:business_uuid": each(`/ops/blocks/${uuid}`),
    "GET /ops/brands/:business_uuid": each(`/ops/brands/${uuid}`),
    "GET /ops/deletions/:business_uuid": each(`/ops/deletions/${uuid}`),
    "GET /ops/takedowns/:subject": each(`/ops/takedowns/${uuid}`),
    "GET /ops/lists/:list": each("/ops/lists/blocked-urls"),
    "GET /ops/lists/:list/text": each("/ops/lists/blocked-urls/text"),
    "GET /ops/campaigns/:business_uuid/:campaign_id": each(`/ops/campaigns/${uuid}/spring`),
    "GET /ops/groups/:company_uuid": each(`/ops/groups/${companyUuid}`),
    "GET /ops/ledgers/:company_uuid": each(`/ops/ledgers/${companyUuid}`),
    "GET /ops/ledgers/:company_uuid/statements/:month": each(
      `/ops/ledgers/${companyUuid}/statements/${month}`,
    ),
    "GET /ui/actors": each("/ui/actors", ...kinds.map((kind) => `/ui/actors?scope=known&kind=${kind}`)),
    "GET /ui/actors/:kind/:id": each(...names.map((name) => `/ui/actors/${name}`)),
    "GET /ui/keys/:key_id": each(`/ui/keys/${keyId}`),
    "GET /ui/parties": each("/ui/parties", `/ui/parties?q=${uuid}`),
    "GET /ui/parties/:uuid": each(`/ui/parties/${uuid}`),
    "GET /ui/search": each(`/ui/search?q=${uuid}`),
    "GET /ui/assets/:name": each("/ui/assets/none.css"),
    ...actsOf(planted),
  };
}

function actsOf({ uuid, companyUuid, keyId, pushId, grant }: Planted): typeof plan {
  const held = `push/${uuid}.${pushId}`;
  const post = (path: string, more: object = {}): readonly Asked[] => [{ path, body: { ...act, ...more } }];
  const onActor = (name: string) => post(`/ops/actors/${held}/${name}`, { expected: { status: "active" } });
  const status = { status_reason: "It is looked at." };
  return {
    "POST /ops/session": [{ path: "/ops/session", body: { token: "not the token", by: "Ada" } }],
    "DELETE /ops/session": [{ path: "/ops/session" }],
    ...Object.fromEntries(
      ["retry", "passivate", "release", "cancel"].map((name) => [
        `POST /ops/actors/:kind/:id/${name}`,
        onActor(name),
      ]),
    ),
    "POST /ops/ledgers/:company_uuid/entries": post(`/ops/ledgers/${companyUuid}/entries`, {
      entry_id: "payment-1",
      kind: "top_up",
      amount: "250",
      currency: "EUR",
    }),
    "POST /ops/blocks/:business_uuid/block": post(`/ops/blocks/${uuid}/block`),
    "POST /ops/blocks/:business_uuid/unblock": post(`/ops/blocks/${uuid}/unblock`),
    "POST /ops/brands/:business_uuid/confirm": post(`/ops/brands/${uuid}/confirm`, { name: "Fellside" }),
    "POST /ops/brands/:business_uuid/unconfirm": post(`/ops/brands/${uuid}/unconfirm`, { name: "Fellside" }),
    ...Object.fromEntries(
      ["release", "reject"].map((last) => [
        `POST /ops/deletions/:business_uuid/:document_hash/${last}`,
        post(`/ops/deletions/${uuid}/sha256:${"0".repeat(64)}/${last}`),
      ]),
    ),
    "POST /ops/purge-orders/:record_id": post(`/ops/purge-orders/svc_${"a".repeat(26)}`, {
      ground: "Order 7",
    }),
    "POST /ops/takedowns/:subject/impose": post(`/ops/takedowns/${uuid}/impose`, {
      statement_of_reasons: "Article 6",
    }),
    "POST /ops/takedowns/:subject/lift": post(`/ops/takedowns/${uuid}/lift`),
    ...Object.fromEntries(
      listNames.map((list) => [
        `POST /ops/lists/${list}/set`,
        post(`/ops/lists/${list}/set`, { text: list === "as-table" ? "10.0.0.0/8 1" : "bad.example" }),
      ]),
    ),
    "POST /ops/campaigns/:business_uuid/:campaign_id/reverse": post(`/ops/campaigns/${uuid}/spring/reverse`, {
      company_uuid: companyUuid,
    }),
    "POST /ops/campaigns/:business_uuid/:campaign_id/stop": post(`/ops/campaigns/${uuid}/spring/stop`, {
      statement: "Article 7",
    }),
    "POST /ops/campaigns/:business_uuid/:campaign_id/resume": post(`/ops/campaigns/${uuid}/spring/resume`),
    "POST /ops/applications/:uuid/approve": post(`/ops/applications/${uuid}/approve`),
    "POST /ops/applications/:uuid/refuse": post(`/ops/applications/${uuid}/refuse`, { statement: "No." }),
    "POST /ops/recoveries/:recovery_id/approve": post(`/ops/recoveries/${uuid}.${companyUuid}/approve`, {
      replaces: uuid,
      key_id: "A".repeat(43),
    }),
    "POST /ops/recoveries/:recovery_id/refuse": post(`/ops/recoveries/${uuid}.${companyUuid}/refuse`, {
      statement: "No.",
      key_id: "A".repeat(43),
    }),
    "POST /ops/parties/:uuid/certify": post(`/ops/parties/${companyUuid}/certify`, {
      kind: "ai_company",
      legal_name: "Test ai_company",
      country: "GB",
    }),
    "POST /ops/parties/:uuid/reissue": post(`/ops/parties/${companyUuid}/reissue`, {
      cert_id: `sha256:${"0".repeat(64)}`,
    }),
    "POST /ops/parties/:uuid/keys": post(`/ops/parties/${companyUuid}/keys`, {
      public_key: { kty: "OKP", crv: "Ed25519", x: "AAAA" },
      proof: { payloadType: "", payload: "", signatures: [{ keyid: "k", sig: "" }] },
    }),
    "POST /ops/groups/:company_uuid/join": post(`/ops/groups/${companyUuid}/join`),
    "POST /ops/mandates/:business_uuid/:mandate_id/revoke": post(`/ops/mandates/${uuid}/mdt_${keyId}/revoke`),
    "POST /ops/keys/:key_id/revoke": post(`/ops/keys/${keyId}/revoke`),
    "POST /ops/grants/revoke": post("/ops/grants/revoke", { grant }),
    ...Object.fromEntries(
      ["withdraw", "revoke", "close"].map((name) => [
        `POST /ops/certificates/:uuid/${name}`,
        post(`/ops/certificates/${uuid}/${name}`, status),
      ]),
    ),
    "POST /ops/nodes/:incarnation/drain": post("/ops/nodes/nobody/drain", { expected: { state: "active" } }),
  };
}

/** What holds the published records by its purpose, needs the right to act, and is looked at by itself. */
const exported = "GET /ops/actors/:kind/:id/export";

/** The methods and paths of a surface, as the platform lists them: one below another, each under what it goes on from. */
function routesIn(text: string): readonly string[] {
  const above: string[] = [];
  return text.split("\n").flatMap((line) => {
    const [, indent = "", part = "", methods = ""] = /^([│ ]*)[├└]── (\S+) \(([A-Z, ]+)\)$/.exec(line) ?? [];
    if (part === "") return [];
    const depth = indent.length / 4;
    const path = `${above[depth - 1] ?? ""}/${part}`.replaceAll(/\/+/g, "/");
    above[depth] = path;
    return methods
      .split(", ")
      .filter((method) => method !== "HEAD")
      .map((method) => `${method} ${path}`);
  });
}

async function answerTo(method: string, { path, body, isStream }: Asked): Promise<string> {
  const headers: Record<string, string> = {
    authorization: signedIn(secrets.get("the operators' token") ?? ""),
    cookie: session,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
  };
  const stop = new AbortController();
  const answer = await fetch(`${node.running.urls.ops_url}${path}`, {
    method,
    headers,
    signal: stop.signal,
    redirect: "manual",
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const head = `${answer.status} ${JSON.stringify([...answer.headers])}\n`;
  if (isStream === undefined) return head + (await answer.text());
  const first = await answer.body?.getReader().read();
  stop.abort();
  return head + new TextDecoder().decode(first?.value);
}

it("the table of routes is what is asked; those of a cluster are asked by its own tests", () => {
  const noCluster = part<ClusterOps>({});
  const routes = (cluster: ClusterOps | null) =>
    routesIn(openOps({ cluster }).printRoutes({ commonPrefix: false }));
  expect([...Object.keys(plan), exported].sort()).toEqual(routes(null).toSorted());
  const more = routes(noCluster).filter((route) => !routes(null).includes(route));
  expect(more.every((route) => route.includes("/ops/cluster"))).toBe(true);
  expect(more.length).toBeGreaterThan(5);
});

it("the secrets are in the stores of the node, where an answer could take them from", () => {
  const { home } = node.running.config;
  const files = readdirSync(home).filter((name) => name.startsWith("store.db"));
  const bytes = Buffer.concat(files.map((name) => readFileSync(join(home, name))));
  for (const name of stored) expect([name, bytes.includes(secrets.get(name) ?? "?")]).toEqual([name, true]);
  expect(mark.length).toBeGreaterThan(20);
  expect(bytes.includes(mark)).toBe(true);
  expect([...secrets.keys()].filter((name) => name.startsWith("private key")).length).toBeGreaterThan(3);
  for (const [name, secret] of secrets) expect([name, secret.length > 7], name).toEqual([name, true]);
});

it("no answer to any read, page or act has a secret", async () => {
  let count = 0;
  // Reads first: acts take keys, certificates and sessions away.
  const order = Object.entries(plan).sort(
    ([a], [b]) => Number(!a.startsWith("GET")) - Number(!b.startsWith("GET")),
  );
  for (const [route, asks] of order)
    for (const asked of asks) {
      const [method = ""] = route.split(" ");
      const text = await answerTo(method, asked);
      // The page of a search repeats what was searched for.
      const shown = asked.path.includes(`q=${ownId}`) ? text.replaceAll(ownId, "") : text;
      const found = [...secrets].filter(([, secret]) => shown.includes(secret)).map(([name]) => name);
      expect([`${method} ${asked.path}`, found]).toEqual([`${method} ${asked.path}`, []]);
      expect(text, asked.path).not.toContain("BEGIN PRIVATE KEY");
      if (asked.path.includes("/ad-pool/")) expect(text, asked.path).not.toContain(mark);
      count += Number(/^[23]/.test(text));
    }
  // Most of the answers say something.
  expect(count).toBeGreaterThan(100);
});

it("an export has the records that it is for, and no private key, token or nonce", async () => {
  const [first] = plan["GET /ops/purges/:business_uuid"] ?? [];
  const uuid = first?.path.split("/").at(-1);
  const text = await answerTo("GET", { path: `/ops/actors/business/${uuid}/export` });
  expect(text).toMatch(/^200/);
  expect(text).toContain(ownId);
  const found = [...secrets].filter(
    ([name, secret]) => /key|token|cookie|grant/.test(name) && text.includes(secret),
  );
  expect(found.map(([name]) => name)).toEqual([]);
});
