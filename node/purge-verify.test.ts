// What anybody may still verify after the bytes of a record are gone, from what they hold themselves.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { businessRef } from "../actors/messages/refs.ts";
import { createSvcClient, type RecordAnswer, type SvcClient } from "../client/service-client.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { toBase64 } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { hashOf } from "../protocol/hash.ts";
import { type AttackNode, batchBody, newBusiness, openAttackNode, publishOver } from "./attack.fixture.ts";
import { product } from "./publishing.fixture.ts";
import { removeOver, sealRemoval } from "./removal.fixture.ts";
import type { Sandbox } from "./sandbox/sandbox-file.ts";

let node: AttackNode;
let client: SvcClient;
let held: RecordAnswer;
let recordId = "";

const verifyHeld = () => {
  const { seal, sidecar } = held.body;
  return client.verify({ record_base64: toBase64(held.recordBytes), seal, sidecar });
};
const verifyPage = (origin = hashOf(held.recordBytes)) =>
  client.verificationRead(`/v1/verify/${recordId}?format=json&origin=${encodeURIComponent(origin)}`);

beforeAll(async () => {
  process.env["SVC_PURGE_AFTER_HOURS"] = "0";
  node = await openAttackNode();
  delete process.env["SVC_PURGE_AFTER_HOURS"];
  const { urls, config, services } = node.running;
  const sandbox = JSON.parse(await readFile(join(config.home, "sandbox.json"), "utf8")) as Sandbox;
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  client = createSvcClient({
    ...{ fetch, key: key.value, grant: chosen.grant },
    ...{ baseUrl: urls.base_url, businessUrl: null, verifyUrl: urls.verify_url },
  });
  const business = await newBusiness(node);
  const { body } = await batchBody(business, [product("gone", { product_name: "A kettle" })], { seq: 1 });
  const { json } = await publishOver(node, business, body);
  recordId = String((json["results"] as readonly JsonObject[])[0]?.["record_id"]);
  held = await client.fetchRecord(recordId);
  expect((await verifyPage()).body).toMatchObject({ status: "current", valid: true });
  const sealed = await sealRemoval(business, { record_id: recordId, action: "delete" }, business.signingKey);
  expect(await removeOver(urls.business_url, business, { action: "delete" }, sealed)).toMatchObject({
    status: 200,
  });
  const command = { type: "removal.read", document_hash: hashOf(sealed.document) } as const;
  const actor = businessRef(business.party.uuid);
  await vi.waitUntil(async () => (await services.actors.ask(actor, command)).purged, { timeout: 20_000 });
});
afterAll(() => node.close());

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

  it("the verify page says that the version was published, and is deleted", async () => {
    expect((await verifyPage()).body).toMatchObject({
      ...{ status: "deleted", valid: true, record_id: recordId },
      version: { generation: 1 },
    });
    const other = verifyPage(`sha256:${"0".repeat(64)}`);
    await expect(other).rejects.toMatchObject({ problem: { status: 404 } });
  });
});
