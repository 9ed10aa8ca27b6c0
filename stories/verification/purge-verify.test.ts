// What anybody may still verify after the bytes of a record are gone, from what they hold themselves.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef } from "../../actors/messages/refs.ts";
import { contractFetch } from "../../api/contract.fixture.ts";
import { purges } from "../../cli/purges.ts";
import { createSvcClient, type RecordAnswer, type SvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import { hashOf, toBase64, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { canonicalize, type JsonObject, type JsonValue } from "../../protocol/json/canonical-json.ts";
import { rubbish } from "../../protocol/rubbish.fixture.ts";
import { verifyPage as readPage } from "../../verifier/service-statements.ts";
import { runRevoke } from "../operators/revocations.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { removeOver, type SealedRemoval, sealRemoval } from "../publishing/removal.fixture.ts";
import {
  type AttackNode,
  batchBody,
  newBusiness,
  openAttackNode,
  publishOver,
} from "../retrieval/attack.fixture.ts";

let node: AttackNode;
let client: SvcClient;
let held: RecordAnswer;
let document: SealedRemoval;
let recordId = "";
let businessUuid = "";

const verifyHeld = () => {
  const { seal, sidecar } = held.body;
  return client.verify({ record_base64: toBase64(held.recordBytes), seal, sidecar });
};
const verifyPage = (origin = hashOf(held.recordBytes)) =>
  client.verificationRead(`/v1/verify/${recordId}?format=json&origin=${encodeURIComponent(origin)}`);

beforeAll(async () => {
  process.env["SVC_PURGE_AFTER_HOURS"] = "0";
  node = await openAttackNode({}, { samples: true });
  delete process.env["SVC_PURGE_AFTER_HOURS"];
  const { urls, config, services } = node.running;
  const sandbox = JSON.parse(await readFile(join(config.home, "sandbox.json"), "utf8")) as Sandbox;
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  client = createSvcClient({
    fetch,
    key: key.value,
    grant: chosen.grant,
    baseUrl: urls.base_url,
    businessUrl: null,
    verifyUrl: urls.verify_url,
  });
  const business = await newBusiness(node);
  businessUuid = business.party.uuid;
  const { body } = await batchBody(business, [product("gone", { product_name: "A kettle" })], { seq: 1 });
  const { json } = await publishOver(node, business, body);
  recordId = String((json["results"] as readonly JsonObject[])[0]?.["record_id"]);
  held = await client.fetchRecord(recordId);
  expect((await verifyPage()).body).toMatchObject({ status: "current", valid: true });
  const sealed = await sealRemoval(business, { record_id: recordId, action: "delete" }, business.signingKey);
  document = sealed;
  expect(await removeOver(urls.business_url, business, { action: "delete" }, sealed)).toMatchObject({
    status: 200,
  });
  const command = { type: "removal.read", document_hash: hashOf(sealed.document) } as const;
  const actor = businessRef(business.party.uuid);
  await vi.waitUntil(async () => (await services.actors.ask(actor, command)).purged, { timeout: 20_000 });
});
afterAll(() => node.close());

describe("the operators", () => {
  const svc = (words: readonly string[]) =>
    runRevoke(words, { home: node.running.config.home, reply: null, command: purges });

  it("read the proof of the purge, and that none is late", async () => {
    const proof = {
      ground: null,
      record_id: recordId,
      collection: "products",
      generation: 1,
      state: "purged",
      proof: {
        versions: [{ generation: 1, hash: hashOf(held.recordBytes) }],
        regions: [node.running.config.region],
      },
    };
    const address = `${node.running.urls.ops_url}/ops/purges/${businessUuid}`;
    expect(await (await contractFetch(address)).json()).toMatchObject({ purges: [proof], next_after: null });
    const { code, printed } = await svc([businessUuid, "--record", recordId, "--json"]);
    expect([code, JSON.parse(printed)]).toMatchObject([0, proof]);
    expect((await svc([businessUuid])).printed).toMatch(
      new RegExp(`^RECORD[^]*${recordId} .* purged .* 1 +${node.running.config.region}`),
    );
    expect(await svc([businessUuid, "--record", "svc_other"])).toMatchObject({ code: 1, printed: "" });
    expect(await svc([])).toMatchObject({ code: 0, said: "No purge is late on this node.\n", printed: "" });
    expect(await svc(["--record", recordId])).toMatchObject({ code: 2 });
  });

  it("see a late purge with what it waits for, in the list and in the metrics", async () => {
    const { latePurges } = node.running.services;
    const purge = { record_id: recordId, collection: "products", generation: 1, document_hash: "d" } as const;
    latePurges.note({
      business_uuid: businessUuid,
      waits_for: "region",
      regions: ["us-east1"],
      push_id: null,
      purges: [{ ...purge, number: 1, due_ms: Date.now(), deleted_at_ms: Date.now() - 2_500_000_000 }],
      detail: "The index of region us-east1 has not purged yet.",
    });
    expect(await svc([])).toMatchObject({ code: 1, printed: expect.stringContaining("us-east1") });
    const { code, printed } = await svc(["--json"]);
    expect([code, JSON.parse(printed)]).toMatchObject([1, { waits_for: "region", regions: ["us-east1"] }]);
    const metrics = await (await contractFetch(`${node.running.urls.ops_url}/metrics`)).text();
    expect(metrics).toMatch(/^svc_purges_late 1$/m);
    expect(metrics).toMatch(/^svc_purge_oldest_seconds 2[0-9]{6}(\.[0-9]+)?$/m);
    latePurges.forget(businessUuid);
  });
});

it("a purge that the law orders leaves a signed statement, for everybody who has the record's id and hash", async () => {
  const business = await newBusiness(node);
  const bytes = product("ordered", { product_name: "A kettle" });
  const { body } = await batchBody(business, [bytes], { seq: 1 });
  const { json } = await publishOver(node, business, body);
  const record_id = String((json["results"] as readonly JsonObject[])[0]?.["record_id"]);
  const { services, urls, config } = node.running;
  const order = async (id: string, members: object) => {
    const token = (await readFile(join(config.home, "ops-token"), "utf8")).trim();
    const answer = await contractFetch(`${urls.ops_url}/ops/purge-orders/${id}`, {
      method: "POST",
      headers: { authorization: signedIn(token, "Ada"), "content-type": "application/json" },
      body: JSON.stringify({ reason: "Letter 12", ...members }),
    });
    return { status: answer.status, json: (await answer.json()) as JsonObject };
  };
  const ground = "Judgment 3 O 5/26 of the Landgericht";
  expect((await order(record_id, {})).status).toBe(400);
  expect((await order(`svc_${"a".repeat(26)}`, { ground })).status).toBe(404);
  expect(await order(record_id, { ground })).toMatchObject({ status: 200, json: { changed: true } });
  const origin = hashOf(bytes);
  const path = `/v1/verify/${record_id}?origin=${encodeURIComponent(origin)}`;
  const page = async () => (await client.verificationRead(`${path}&format=json`)).body as JsonObject;
  const statementOf = async () => (await page())["purge_order"] as JsonObject | null;
  await vi.waitUntil(async () => (await statementOf())?.["purged_at"] != null, { timeout: 20_000 });
  const shown = await page();
  expect(shown).toMatchObject({
    status: "purged",
    removal: null,
    valid: true,
    purge_order: { ground, versions: [{ generation: 1, hash: origin }] },
  });
  const list = `${urls.ops_url}/ops/purges/${business.party.uuid}`;
  const { purges: listed } = (await (await contractFetch(list)).json()) as { purges: JsonObject[] };
  const ordered_at = ((await statementOf()) as JsonObject)["ordered_at"];
  expect(listed).toMatchObject([
    {
      record_id,
      ground,
      state: "purged",
      deleted_at: ordered_at,
      due_at: ordered_at,
      proof: { versions: [{}] },
    },
  ]);
  const { printed } = await runRevoke([business.party.uuid], {
    home: config.home,
    reply: null,
    command: purges,
  });
  expect(printed).toMatch(new RegExp(`${record_id} +purged .*${ground}`));
  const signed = readPage(services.trust(), rubbish(shown));
  expect(signed).toMatchObject({ ok: true, value: { purge_order: shown["purge_order"] } });
  expect((await services.records.readHead(record_id))?.live).toBe(false);
  // The first order stands, with its ground.
  expect(await order(record_id, { ground: "another" })).toMatchObject({
    status: 200,
    json: { changed: false, subject: { ground, proof: { versions: [{ generation: 1 }] } } },
  });
  expect(await (await contractFetch(`${urls.verify_url}${path}&format=html`)).text()).toContain(ground);
});

it("a log has what it needs of the document after the purge: exact bytes, seal, place and time", async () => {
  const { actors } = node.running.services;
  const home = businessRef(businessUuid);
  const { places } = await actors.ask(home, { type: "removals.list", after: 0, limit: 10 });
  expect(places).toMatchObject([{ document_hash: hashOf(document.document) }]);
  const [place] = places;
  const { removal } = await actors.ask(home, {
    type: "removal.read",
    document_hash: place?.document_hash ?? "",
  });
  if (removal === null) throw new Error("The document was not kept.");
  expect(removal).toMatchObject({ number: place?.number, collection: "products", action: "delete" });
  expect(utf8(removal.document)).toEqual(document.document);
  // The leaf is the hash of the canonical seal, so the members' order in the stored text does not matter.
  expect(canonicalize(JSON.parse(removal.seal) as JsonValue)).toBe(canonicalize(rubbish(document.seal)));
  expect(formatTimestamp(Date.parse(removal.received_at))).toBe(removal.received_at);
});

describe("after a purge", () => {
  it("the record is not found, like one that never existed", async () => {
    const refused = { problem: { status: 404, code: "not_found" } };
    await expect(client.fetchRecord(recordId)).rejects.toMatchObject(refused);
  });

  it("the service verifies the bytes that somebody kept, by their seal", async () => {
    const { body } = await verifyHeld();
    expect(body).toMatchObject({
      seal: { valid: true, checks: { certificate: "ok", ai_policy: "ok", scope: "ok" } },
    });
  });

  it("the verify page says that the version was published, and is purged", async () => {
    const page = rubbish((await verifyPage()).body);
    const about = { bytes: held.recordBytes, recordId };
    expect(readPage(node.running.services.trust(), page, about)).toMatchObject({ ok: true });
    const address = `${node.running.urls.verify_url}/v1/verify/${recordId}?format=html&origin=${hashOf(held.recordBytes)}`;
    expect(await (await fetch(address)).text()).toContain("only their hash is kept");
    expect((await verifyPage()).body).toMatchObject({
      status: "purged",
      valid: true,
      record_id: recordId,
      version: { generation: 1 },
      removal: { action: "delete", document_base64: toBase64(document.document), seal: document.seal },
    });
    const other = verifyPage(`sha256:${"0".repeat(64)}`);
    await expect(other).rejects.toMatchObject({ problem: { status: 404 } });
  });
});
