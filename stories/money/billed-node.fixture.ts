// A production node that charges an AI company for what it is served. For tests.

import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { ledgerRef } from "../../actors/messages/refs.ts";
import { closeReceiptBatches } from "../../actors/region/activities.ts";
import type { SvcClient } from "../../client/service-client.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import type { RunningNode } from "../../node/composition/start.ts";
import { startIssuance } from "../../node/keys/issuance-server.ts";
import { makeProductionKeys } from "../../node/keys/production-keys.fixture.ts";
import { writeSecret } from "../../node/keys/secret-file.ts";
import { signedIn } from "../../ops/sign-in.fixture.ts";
import {
  clientOf,
  type ProductionParties,
  publishOne,
  registerParties,
  startProductionNode,
} from "../operators/production-node.fixture.ts";

export const billedRegion = "eu-west1";
/** A fetch costs 1, a search of products 0.1. */
export const prices = {
  currency: "EUR",
  versions: [
    {
      version: 1,
      effective_from: "2026-01-01T00:00:00.000Z",
      fetch: "1",
      search: { products: "0.1", business_files: "0", events: "0.1", jobs: "0.1", updates: "0.1" },
    },
  ],
};

export interface BilledNode {
  readonly home: string;
  /** The settings of every run of the node; a test may change them for the next. */
  readonly settings: Record<string, string>;
  readonly parties: ProductionParties;
  readonly found: { readonly brand: string; readonly recordId: string };
  /** The run in this process; another one after each restart. */
  running: RunningNode;
  asker: SvcClient;
  /** Starts the node in this process, with a clock that is ahead by what was waited for. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /**
   * Five minutes later, on another run of the node: closes the receipts' minutes, and has the ledger collect what is in them. A
   * node that starts does what is due.
   */
  charge(): Promise<void>;
  /** The same for a node that does not run. */
  startLater(): Promise<void>;
  /** Unix milliseconds by its clock. */
  now(): number;
  ops(path: string, body?: object): Promise<{ readonly status: number; readonly json: unknown }>;
  companyUuid(): Promise<string>;
  close(): Promise<void>;
}

export async function openBilledNode(): Promise<BilledNode> {
  const folder = await mkdtemp(join(tmpdir(), "svc-billed-"));
  const made = await makeProductionKeys(join(folder, "ceremony"), {
    region: billedRegion,
    nowMs: Date.now(),
  });
  for (const file of ["anchors.json", "key-set.json"])
    for (const to of [made.node, made.path("issuance")]) await copyFile(made.path(file), join(to, file));
  await writeSecret(join(folder, "clients.secret"));
  await writeFile(join(folder, "prices.json"), JSON.stringify(prices));
  const socket = join(folder, "issuance.sock");
  const issuance = await startIssuance({
    keys: made.path("issuance"),
    clients: folder,
    audit: join(folder, "audit.log"),
    environment: "production",
    listen: { socket },
    clock: { now: Date.now },
  });
  const home = join(folder, "home");
  const settings: Record<string, string> = {
    SVC_KEYS: made.node,
    SVC_ISSUANCE: `unix:${socket}`,
    SVC_ISSUANCE_SECRET_FILE: join(folder, "clients.secret"),
    SVC_PRICES: join(folder, "prices.json"),
  };
  let movedMs = 0;
  const platform = { clock: { now: () => Date.now() + movedMs } };
  const running = await startProductionNode(home, billedRegion, settings, platform);
  const parties = await registerParties(running);
  const billed: BilledNode = {
    home,
    settings,
    parties,
    running,
    found: await publishOne(running, parties),
    asker: clientOf(running, parties.company),
    start: async () => {
      billed.running = await startProductionNode(home, billedRegion, settings, platform);
      billed.asker = clientOf(billed.running, parties.company);
    },
    stop: async () => {
      await billed.running[Symbol.asyncDispose]();
    },
    now: () => platform.clock.now(),
    charge: async () => {
      await billed.stop();
      await billed.startLater();
    },
    startLater: async () => {
      movedMs += 300_000;
      await billed.start();
      await chargeNow(billed);
    },
    ops: async (path, body) => {
      const token = (await readFile(join(home, "ops-token"), "utf8")).trim();
      const headers = { authorization: signedIn(token), "content-type": "application/json" };
      const init = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
      const answer = await fetch(`${billed.running.urls.ops_url}${path}`, init);
      return { status: answer.status, json: await answer.json() };
    },
    companyUuid: async () => {
      const key = await billed.running.services.register.key(parties.company.keyId);
      return key?.party_uuid ?? "";
    },
    close: async () => {
      await billed.stop();
      await issuance[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
  return billed;
}

async function chargeNow(billed: BilledNode): Promise<void> {
  const { receipts, eventStore: events, clock, actors } = billed.running.services;
  const ports = { receipts, events, sha256: nativeCrypto.sha256, append: async () => {} };
  await closeReceiptBatches(ports, billedRegion, clock.now());
  const ledger = ledgerRef(await billed.companyUuid());
  const settled = async () =>
    (await actors.ask(ledger, { type: "ledger.read" }))?.charged_before[0]?.at_ms ?? 0;
  await expect.poll(settled, { timeout: 60_000, interval: 50 }).toBeGreaterThan(clock.now() - 200_000);
}
