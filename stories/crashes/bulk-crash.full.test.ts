// A node that is killed (kill -9) while files are uploaded and imported: the import goes on by itself, and ends exact.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, expect, it } from "vitest";
import { freshNonce, send } from "../../api/surfaces.fixture.ts";
import { sealBatch } from "../../client/batch.ts";
import { askForGrant } from "../../client/sandbox-grant.ts";
import type { SigningKey } from "../../client/signing-key.ts";
import { openNodeServices } from "../../node/composition/services.ts";
import { loadConfig } from "../../node/configuration/config.ts";
import { hashOf } from "../../protocol/bytes.ts";
import { freePorts, surfacePorts } from "../../tools/free-ports.ts";
import { type NodeRun, startNode } from "../../tools/push-crash.ts";
import { seededRandom } from "../../tools/seeded-random.ts";
import {
  fileOf,
  formOf,
  newUpload,
  partsOf,
  requestImport,
  sendFile,
  sendForm,
} from "../publishing/bulk.fixture.ts";
import { product } from "../publishing/publishing.fixture.ts";
import { newSigningKey } from "../retrieval/attack.fixture.ts";

const homes: string[] = [];
const runs: NodeRun[] = [];
afterEach(async () => {
  for (const run of runs.splice(0)) if (!run.hasEnded()) await run.kill();
  for (const home of homes.splice(0)) await rm(home, { recursive: true, force: true });
});

/** A node in a process of its own that can be killed, and a business there. */
async function place() {
  const home = await mkdtemp(join(tmpdir(), "svc-bulk-crash-"));
  homes.push(home);
  const portBase = await freePorts(surfacePorts);
  const start = async (): Promise<NodeRun> => {
    const run = await startNode({ home, portBase, env: { SVC_SAMPLES: "no" } });
    runs.push(run);
    return run;
  };
  const business_url = `http://127.0.0.1:${portBase + 1}`;
  return { home, start, urls: { business_url } };
}

interface Business {
  readonly signingKey: SigningKey;
  readonly uuid: string;
  readonly certId: string;
  readonly policy: number;
}

async function openBusiness({ business_url }: { readonly business_url: string }): Promise<Business> {
  const key = await newSigningKey();
  const asker = { fetch, baseUrl: business_url, role: "integration", key } as const;
  const { grant, party } = await askForGrant(asker, { legal_name: "Killed Ltd", country: "GB" });
  const path = "/v1/seal-context";
  const { json } = await send(business_url, { key, grant }, { path, tag: "svc-business-read" });
  const { cert_id, ai_policy_version } = json as { cert_id: string; ai_policy_version: number };
  return { signingKey: key, uuid: party.uuid, certId: cert_id, policy: ai_policy_version };
}

const sealOf = (business: Business, records: readonly Uint8Array[], seq: number) =>
  sealBatch(
    records,
    {
      businessUuid: business.uuid,
      certId: business.certId,
      aiPolicyVersion: business.policy,
      recordType: "products",
      seq,
      sealedAtMs: Date.now(),
    },
    business.signingKey,
  );

const catalogue = (count: number, amount: string): Uint8Array[] =>
  Array.from({ length: count }, (_, index) =>
    product(`item-${index}`, { countries: ["US"], prices: [{ country: "US", currency: "USD", amount }] }),
  );

interface Status {
  readonly state: string;
  readonly counts: Readonly<Record<string, number>>;
  readonly progress: { readonly settled: number };
}

async function statusOf(url: string, business: Business, pushId: string): Promise<Status> {
  const caller = { key: business.signingKey, grant: "" };
  const asked = { path: `/v1/pushes/${pushId}`, tag: "svc-business-read" } as const;
  return (await send(url, caller, asked)).json as unknown as Status;
}

it("is resumed after each kill, by itself, and publishes every record once", {
  timeout: 180_000,
}, async () => {
  const { home, start, urls } = await place();
  let node = await start();
  const business = await openBusiness(urls);
  const random = seededRandom(Date.now());
  const restart = async (): Promise<void> => {
    await node.kill();
    node = await start();
  };
  const imported = async (records: readonly Uint8Array[], seq: number): Promise<string> => {
    const upload = await newUpload(urls, business);
    expect(await sendFile(upload, fileOf(records))).toMatchObject({ status: 201 });
    // The file survives the process that took it.
    await restart();
    const { batch_seal, push_id } = await sealOf(business, records, seq);
    const body = { upload_id: upload.upload_id, batch_seal };
    const headers = { "idempotency-key": freshNonce() };
    expect(await requestImport(urls, business, body, { headers })).toMatchObject({ status: 202 });
    return push_id;
  };
  // The same number of listings at almost the same prices: the second file is compared as a whole, and not held.
  const [first, second] = [catalogue(2_400, "100.00"), catalogue(2_400, "100.00")];
  for (let index = 0; index < 400; index += 1)
    second[index] = catalogue(index + 1, "101.00")[index] as Uint8Array;
  for (const [seq, records] of [first, second].entries()) {
    const pushId = await imported(records, seq + 1);
    await delay(random() * 250);
    await restart();
    const state = async (): Promise<string> => (await statusOf(urls.business_url, business, pushId)).state;
    await expect.poll(state, { timeout: 60_000, interval: 200 }).toBe("complete");
    const { counts } = await statusOf(urls.business_url, business, pushId);
    expect(counts).toMatchObject(seq === 0 ? { accepted: 2_400 } : { updated: 2_400 });
  }
  await node.stop();
  await proveRecords(home, business, second);
});

async function proveRecords(home: string, business: Business, records: readonly Uint8Array[]): Promise<void> {
  await using services = await openNodeServices(loadConfig({ home, environment: "sandbox" }, {}));
  for (const [index, bytes] of records.entries()) {
    const id = services.recordIdOf(business.uuid, "products", `item-${index}`);
    expect(await services.records.readHead(id)).toMatchObject({
      live: true,
      generation: 2,
      hash: hashOf(bytes),
    });
  }
  // Files go when their import is over.
  expect(await readdir(join(home, "bulk"))).toEqual([]);
}

it("leaves nothing of a file that was being uploaded", { timeout: 60_000 }, async () => {
  const { home, start, urls } = await place();
  const node = await start();
  const business = await openBusiness(urls);
  const upload = await newUpload(urls, business);
  const whole = formOf(partsOf(upload, fileOf(catalogue(600, "1.00"))));
  const half = new ReadableStream<Uint8Array>({
    start: (stream) => stream.enqueue(whole.subarray(0, whole.length / 2)),
  });
  const sending = sendForm(upload, half).catch(() => null);
  const staged = (): Promise<readonly string[]> => readdir(join(home, "bulk")).catch(() => []);
  await expect.poll(staged).toHaveLength(1);
  await node.kill();
  expect(await sending).toBeNull();
  await start();
  expect(await staged()).toEqual([]);
});
