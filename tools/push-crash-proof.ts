// What the crash check proves, over HTTP with the signing client and then in the stores of the stopped node.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { collectEvidence, verifyEvidenceFile } from "../client/evidence.ts";
import { recordBytes } from "../client/record-bytes.ts";
import { createSvcClient, type SvcClient } from "../client/service-client.ts";
import { parseSigningKey } from "../client/signing-key.ts";
import { loadConfig } from "../node/config.ts";
import { sampleBusinesses, trialBusinesses } from "../node/sandbox/businesses.ts";
import { calendarFrom } from "../node/sandbox/sample.ts";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { openNodeServices } from "../node/services.ts";
import { equalBytes } from "../protocol/bytes.ts";
import type { JsonObject } from "../protocol/canonical-json.ts";
import { hashOf } from "../protocol/hash.ts";
import { seededRandom } from "./seeded-random.ts";

/** Numbers of stones. */
export interface Proof extends Served, Stored {}

interface Served {
  /** Stones that were checked individually. */
  readonly samples: number;
  /** Of these, the number found by a search that names them. */
  readonly found: number;
  /** Of these, the number fetched with every check of the offline verifier performed and passed. */
  readonly verified: number;
}

interface Stored {
  readonly live: number;
  readonly firstGeneration: number;
  /** Number of stones served with exactly the bytes that were pushed. */
  readonly exactBytes: number;
  /** Rows in the index beyond those of the samples. */
  readonly indexed: number;
}

interface StoneRecord {
  readonly bytes: Uint8Array;
  readonly id: string;
  readonly name: string;
  readonly price: string;
}

function stoneOf(line: string): StoneRecord {
  const record = JSON.parse(line) as JsonObject & {
    business_product_id: string;
    product_name: string;
    prices: readonly { amount: string }[];
  };
  return {
    bytes: recordBytes(record),
    id: record.business_product_id,
    name: record.product_name,
    price: record.prices[0]?.amount ?? "",
  };
}

/** Performs the checks that need a running node. */
export async function checkServed(options: {
  readonly home: string;
  readonly stones: readonly string[];
  readonly samples: number;
  readonly seed: number;
}): Promise<Served> {
  const sandbox = await loadSandbox(options.home);
  const { client, keyId } = await openClient(sandbox);
  const anchorsText = JSON.stringify(sandbox.anchors);
  const random = seededRandom(options.seed);
  const samples = Math.min(options.samples, options.stones.length);
  let found = 0;
  let verified = 0;
  for (let sample = 0; sample < samples; sample += 1) {
    const stone = stoneOf(options.stones[Math.floor(random() * options.stones.length)] ?? "");
    const recordId = await findStone(client, stone);
    if (recordId === null) continue;
    found += 1;
    const fetched = await client.fetchRecord(recordId);
    const evidence = await collectEvidence(client, fetched, { environment: "sandbox", keyId });
    const report = verifyEvidenceFile(new TextEncoder().encode(evidence), {
      anchorsText,
      allowSandbox: true,
    });
    if (report.ok && report.value.valid && report.value.complete) verified += 1;
  }
  return { samples, found, verified };
}

async function loadSandbox(home: string): Promise<Sandbox> {
  return JSON.parse(await readFile(join(home, "sandbox.json"), "utf8")) as Sandbox;
}

async function openClient(sandbox: Sandbox): Promise<{ readonly client: SvcClient; readonly keyId: string }> {
  const chosen = sandbox.ai_companies[0]?.keys[0];
  const key = await parseSigningKey(chosen?.private_jwk);
  if (chosen === undefined || !key.ok) throw new Error("The sandbox has no AI company with a key.");
  const client = createSvcClient({
    fetch,
    key: key.value,
    grant: chosen.grant,
    baseUrl: sandbox.base_url,
    businessUrl: null,
    verifyUrl: sandbox.verify_url,
  });
  return { client, keyId: key.value.keyId };
}

/** Finds a stone by name and price; among several equal ones, the one with exactly these bytes. */
async function findStone(client: SvcClient, stone: StoneRecord): Promise<string | null> {
  const { body } = await client.search({
    collection: "products",
    q: stone.name,
    query_by: ["product_name"],
    filter: { all: [{ country: "US" }, { price_amount: stone.price }] },
    sort_by: "published_at:desc",
  });
  const hash = hashOf(stone.bytes);
  return body.rows.find((row) => row.adl_origin === hash)?.record_id ?? null;
}

/** Checks the contents of the stores after the node was stopped. */
export async function checkStores(options: {
  readonly home: string;
  readonly stones: readonly string[];
}): Promise<Stored> {
  const { businesses } = await loadSandbox(options.home);
  const businessUuid = businesses[0]?.business_uuid ?? "";
  await using services = await openNodeServices(loadConfig({ home: options.home, logLevel: "silent" }, {}));
  const { records, recordIdOf, index } = services;
  let live = 0;
  let firstGeneration = 0;
  let exactBytes = 0;
  for (const line of options.stones) {
    const stone = stoneOf(line);
    const served = await records.readServed(recordIdOf(businessUuid, "products", stone.id));
    if (served === null) continue;
    live += 1;
    if (served.version.generation === 1) firstGeneration += 1;
    if (equalBytes(served.version.bytes, stone.bytes)) exactBytes += 1;
  }
  const samples = await sampleProducts();
  return { live, firstGeneration, exactBytes, indexed: (await index.count("products")) - samples };
}

/** Number of products that every sandbox serves from the start: nothing stands of a business that was revoked from before. */
async function sampleProducts(): Promise<number> {
  const slice = await readFile(join(import.meta.dirname, "../node/sandbox/data/diamonds-slice.csv"), "utf8");
  const businesses = [...sampleBusinesses, ...trialBusinesses].filter(({ ending }) => !ending?.reachesBack);
  const single = businesses.flatMap((business) => business.records(calendarFrom(0)));
  const products = single.filter(({ collection }) => collection === "products").length;
  return slice.trimEnd().split("\n").length - 1 + products;
}
