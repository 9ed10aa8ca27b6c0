// A record that a node served, and the proof file about it. For tests.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { logRef } from "../../actors/messages/refs.ts";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import { collectProofs, type ProofsCaller } from "../../client/proofs.ts";
import { createSvcClient, type RecordAnswer, type SvcClient } from "../../client/service-client.ts";
import { parseSigningKey } from "../../client/signing-key.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { Sandbox } from "../../node/sandbox/sandbox-file.ts";
import type { LogEntry } from "../../protocol/log/leaves.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { batchBody, newBusiness, publishOver, type StartedNode } from "../retrieval/attack.fixture.ts";

export interface ServedRecord {
  readonly client: SvcClient;
  readonly recordId: string;
  readonly fetched: RecordAnswer;
  readonly caller: ProofsCaller;
}

/** Closes all batches of receipts now, which a region does half a minute after each minute. */
export async function closeReceipts({ running: { services } }: StartedNode): Promise<void> {
  const append = async (entries: readonly LogEntry[]): Promise<void> =>
    void (await services.actors.ask(logRef(), { type: "log.append", entries }));
  const { receipts, eventStore: events } = services;
  const ports = { receipts, events, sha256: nativeCrypto.sha256, append };
  await closeReceiptBatches(ports, services.config.region, Date.now() + 180_000);
}

/** A record of a new business, fetched by an AI company of the sandbox. */
export async function serveRecord(node: StartedNode): Promise<ServedRecord> {
  const { urls, config } = node.running;
  const sandbox = JSON.parse(await readFile(join(config.home, "sandbox.json"), "utf8")) as Sandbox;
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  const business = await newBusiness(node);
  const { body } = await batchBody(business, [product("proven"), product("other")], { seq: 1 });
  const published = await publishOver(node, business, body);
  expect(published.status).toBe(200);
  const recordId = (published.json["results"] as { record_id: string }[])[0]?.record_id ?? "";
  const client = createSvcClient({
    fetch,
    key: key.value,
    grant: chosen.grant,
    baseUrl: urls.base_url,
    businessUrl: null,
    verifyUrl: urls.verify_url,
  });
  const caller: ProofsCaller = {
    environment: "sandbox",
    keyId: key.value.keyId,
    now: Date.now,
    patienceMs: 60_000,
    wait: async () => {
      await closeReceipts(node);
      await new Promise((resolve) => setTimeout(resolve, 200));
    },
  };
  return { client, recordId, fetched: await client.fetchRecord(recordId), caller };
}

export async function proofsOf({ client, fetched, caller }: ServedRecord): Promise<string> {
  return collectProofs(client, fetched, caller);
}
