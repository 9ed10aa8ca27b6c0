// Proof files over real HTTP: what a node served, with the proofs of its log, verified with nothing but anchors.

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { logRef } from "../actors/messages/refs.ts";
import { closeReceiptBatches } from "../actors/region/activities.ts";
import { verifyEvidenceFile } from "../client/evidence.ts";
import { collectProofs } from "../client/proofs.ts";
import { createSvcClient } from "../client/service-client.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { nativeCrypto } from "../crypto/native.ts";
import type { LogEntry } from "../protocol/log/entries.ts";
import { type AttackNode, batchBody, newBusiness, openAttackNode, publishOver } from "./attack.fixture.ts";
import { product } from "./publishing.fixture.ts";
import type { Sandbox } from "./sandbox/sandbox-file.ts";

let node: AttackNode;
let file: Uint8Array;

const closeReceipts = async (): Promise<void> => {
  const { services } = node.running;
  const append = async (entries: readonly LogEntry[]): Promise<void> =>
    void (await services.actors.ask(logRef(), { type: "log.append", entries }));
  const ports = {
    receipts: services.receipts,
    events: services.eventStore,
    sha256: nativeCrypto.sha256,
    append,
  };
  await closeReceiptBatches(ports, services.config.region, Date.now() + 180_000);
};

beforeAll(async () => {
  vi.stubEnv("SVC_LOG_INTERVAL_SECONDS", "0");
  node = await openAttackNode();
  const { services, urls } = node.running;
  const business = await newBusiness(node);
  const { body } = await batchBody(business, [product("proven", { product_name: "A kettle" })], { seq: 1 });
  const answer = await publishOver(node, business, body);
  expect(answer.status).toBe(200);
  const recordId = (answer.json["results"] as { record_id: string }[])[0]?.record_id ?? "";
  const sandbox = JSON.parse(
    await readFile(join(node.running.config.home, "sandbox.json"), "utf8"),
  ) as Sandbox;
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  const client = createSvcClient({
    ...{ fetch, key: key.value, grant: chosen.grant },
    ...{ baseUrl: urls.base_url, businessUrl: null, verifyUrl: urls.verify_url },
  });
  const fetched = await client.fetchRecord(recordId);
  const text = await collectProofs(client, fetched, {
    ...{ environment: "sandbox", keyId: key.value.keyId, now: Date.now, patienceMs: 60_000 },
    wait: async () => {
      await closeReceipts();
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
  });
  file = new TextEncoder().encode(text);
  await writeFile("/tmp/proof.json", text);
  await writeFile("/tmp/proof-anchors.json", JSON.stringify(services.anchors));
}, 120_000);
afterAll(() => node.close());

it("proves everything with nothing but anchors", () => {
  const outcome = verifyEvidenceFile(file, {
    anchorsText: JSON.stringify(node.running.services.anchors),
    allowSandbox: true,
  });
  expect(outcome).toMatchObject({ ok: true, value: { valid: true, complete: true } });
});
