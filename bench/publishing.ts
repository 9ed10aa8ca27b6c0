// Batches and bulk files of products, sealed and signed before any clock runs, and how they are published and found again.

import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { publishBody, rootOf, type SealedBatch, sealBatch, sealLeaves } from "../client/batch.ts";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { leafHash } from "../protocol/merkle.ts";
import type { BulkUpload } from "../protocol/wire/bulk.ts";
import { productBytes, searchPlan } from "./catalogue.ts";
import type { Child } from "./child.ts";
import { refused, sendOne } from "./load.ts";
import { type Caller, callerOf, makeRequest, targetOf } from "./requests.ts";

/** Limit of one push. */
export const batchRecords = 10_000;
/** A batch up to here is published before it is answered. */
export const inlineRecords = 50;

/** A business with the values that its next seal must name. */
export interface Publisher {
  readonly uuid: string;
  readonly certId: string;
  readonly aiPolicyVersion: number;
  readonly caller: Caller;
}

/** The sandbox's merchant. The AI policy version is the one that is in force for it. */
export function merchantOf(sandbox: Sandbox): Publisher {
  const [business] = sandbox.businesses;
  const key = business?.integration_keys.find(({ alg }) => alg === "Ed25519");
  if (business === undefined || key === undefined)
    throw new Error("the sandbox has no business with an Ed25519 key");
  const { business_uuid: uuid, cert_id: certId } = business;
  return { uuid, certId, aiPolicyVersion: 1, caller: callerOf(key) };
}

/** The AI company that sends the requests, with its Ed25519 key. No sample business blocks it. */
export function companyOf(sandbox: Sandbox): Caller {
  const key = sandbox.ai_companies[0]?.keys.find(({ alg }) => alg === "Ed25519");
  if (key === undefined) throw new Error("the sandbox has no AI company with an Ed25519 key");
  return callerOf(key);
}

/** Products by their numbers. */
export interface ProductRange {
  readonly first: number;
  readonly count: number;
}

function sealFacts({ uuid, certId, aiPolicyVersion }: Publisher) {
  const nowMs = Date.now();
  return {
    ...{ businessUuid: uuid, certId, aiPolicyVersion, recordType: "products" },
    // As in the client: greater than any earlier one, and greater than the possible number of batches.
    ...{ seq: nowMs, sealedAtMs: nowMs },
  };
}

/** A sealed batch and its request as bytes. */
export interface PreparedPush {
  readonly publisher: Publisher;
  readonly request: Uint8Array;
  readonly body: Uint8Array;
  readonly records: readonly Uint8Array[];
  readonly batch: SealedBatch;
}

/** Seals a batch of products, and makes its request, ready to be sent. */
export async function preparePush(
  businessUrl: string,
  publisher: Publisher,
  range: ProductRange,
  path = "/v1/publish/products",
): Promise<PreparedPush> {
  const { caller } = publisher;
  const records = Array.from({ length: range.count }, (_, index) => productBytes(range.first + index));
  const batch = await sealBatch(records, sealFacts(publisher), caller.key);
  const body = publishBody(batch.batch_seal, records);
  const headers = { "idempotency-key": batch.push_id };
  const plan = { method: "POST", path, tag: "svc-push", body, headers } as const;
  return { publisher, request: await makeRequest(businessUrl, caller, plan), body, records, batch };
}

/** A push that has been asked for, by who publishes it and how many records it has. */
export interface Push {
  readonly publisher: Publisher;
  readonly pushId: string;
  readonly records: number;
}

/** Where pushes are sent, and whom to ask about them. */
export interface PushNode {
  readonly child: Child;
  readonly businessUrl: string;
}

/** Sends a batch and waits until it is complete. Throws when one of its records is not published as new. */
export function push(node: PushNode, { request, publisher, batch, records }: PreparedPush): Promise<void> {
  return publish(node, request, { publisher, pushId: batch.push_id, records: records.length });
}

/** Publishes the first products, one batch after another. */
export async function pushProducts(node: PushNode, publisher: Publisher, products: number): Promise<void> {
  for (let first = 0; first < products; first += batchRecords) {
    const count = Math.min(batchRecords, products - first);
    await push(node, await preparePush(node.businessUrl, publisher, { first, count }));
  }
}

/** Sends what begins a push and waits as {@link push} does. */
export async function publish(node: PushNode, request: Uint8Array, asked: Push): Promise<void> {
  const answer = await sendOne(targetOf(node.businessUrl), request);
  if (answer.status !== 202 && answer.status !== 200) throw refused("push", answer);
  await untilComplete(node, asked);
}

export async function untilComplete(
  { child }: PushNode,
  { publisher, pushId, records }: Push,
): Promise<void> {
  const push = { businessUuid: publisher.uuid, pushId };
  const ended = await child.call<{ state: string; counts: Readonly<Record<string, number>> }>(
    "awaitPush",
    push,
  );
  if (ended.state !== "complete" || ended.counts["accepted"] !== records)
    throw new Error(`push: ${JSON.stringify(ended)}`);
}

export interface BulkFile {
  readonly path: string;
  readonly range: ProductRange;
  readonly leaves: readonly Uint8Array[];
  readonly lastRecord: Uint8Array;
}

const recordsPerWrite = 1_000;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/** Writes a file for bulk import, which any business may upload and seal as often as it is needed. */
export async function writeBulkFile(path: string, range: ProductRange): Promise<BulkFile> {
  const leaves: Uint8Array[] = [];
  let lastRecord = new Uint8Array();
  await using file = await open(path, "w");
  while (leaves.length < range.count) {
    const lines: string[] = [];
    for (const end = Math.min(range.count, leaves.length + recordsPerWrite); leaves.length < end; ) {
      lastRecord = new Uint8Array(productBytes(range.first + leaves.length));
      leaves.push(leafHash(lastRecord, sha256));
      lines.push(`${Buffer.from(lastRecord).toString("base64")}\n`);
    }
    await file.write(lines.join(""));
  }
  return { path, range, leaves, lastRecord };
}

/** An import with everything that its business has to do beforehand. */
export interface PreparedImport extends Push {
  /** The request with the file, to `uploadUrl`. */
  readonly upload: Uint8Array;
  readonly uploadUrl: string;
  /** The request that imports it. */
  readonly request: Uint8Array;
}

/** Asks for an upload, seals the file, and makes the requests that upload and import it. */
export async function prepareImport(
  businessUrl: string,
  publisher: Publisher,
  file: BulkFile,
): Promise<PreparedImport> {
  const { caller } = publisher;
  const post = (path: string, body: unknown): Promise<Uint8Array> =>
    makeRequest(businessUrl, caller, {
      ...{ method: "POST", path, tag: "svc-push", body: Buffer.from(JSON.stringify(body)) },
      headers: { "idempotency-key": `bench-${rootOf(file.leaves).slice(-16)}-${Date.now()}` },
    });
  const begin = await post("/v1/bulk-uploads", { record_type: "products" });
  const answer = await sendOne(targetOf(businessUrl), begin);
  if (answer.status !== 201) throw refused("upload", answer);
  const upload = JSON.parse(answer.body) as BulkUpload;
  const { batch_seal, push_id: pushId } = await sealLeaves(file.leaves, sealFacts(publisher), caller.key);
  return {
    ...{ publisher, pushId, records: file.range.count, uploadUrl: upload.upload_url },
    upload: uploadRequest(upload, await readFile(file.path)),
    request: await post("/v1/bulk-imports", { upload_id: upload.upload_id, batch_seal }),
  };
}

const boundary = "the-boundary-of-the-benchmark";

function uploadRequest({ upload_url, fields, content_type }: BulkUpload, file: Uint8Array): Uint8Array {
  const { host, pathname } = new URL(upload_url);
  const part = (name: string, rest: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const front = [
    ...Object.entries(fields).map(([name, value]) => `${part(name, "")}${value}\r\n`),
    part("file", `; filename="records.ndjson"\r\nContent-Type: ${content_type}`),
  ].join("");
  const back = `\r\n--${boundary}--\r\n`;
  const head = [
    `POST ${pathname} HTTP/1.1`,
    `host: ${host}`,
    `content-type: multipart/form-data; boundary=${boundary}`,
    `content-length: ${front.length + file.length + back.length}`,
  ].join("\r\n");
  return Buffer.concat([Buffer.from(`${head}\r\n\r\n${front}`), file, Buffer.from(back)]);
}

/** Uploads the file; throws unless it was taken. */
export async function sendUpload({ upload, uploadUrl }: PreparedImport): Promise<void> {
  const sent = await sendOne(targetOf(uploadUrl), upload);
  if (sent.status !== 201) throw refused("upload", sent);
}

/** A request that finds a product by its name and its price: it shows that the record is served. */
export async function recordSearch(sandbox: Sandbox, record: Uint8Array): Promise<Uint8Array> {
  const { product_name, prices } = JSON.parse(Buffer.from(record).toString()) as {
    readonly product_name: string;
    readonly prices: readonly { readonly amount: string; readonly country: string }[];
  };
  const [price] = prices;
  const plan = searchPlan({
    ...{ collection: "products", q: product_name, query_by: ["product_name"] },
    filter: { all: [{ country: price?.country ?? "" }, { price_amount: price?.amount ?? "" }] },
    sort_by: "published_at:desc",
  });
  return await makeRequest(sandbox.base_url, companyOf(sandbox), plan);
}
