// Batches and bulk files of products, sealed and signed before any clock runs, and how they are published and found again.

import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { publishBody, rootOf, sealBatch, sealLeaves } from "../client/batch.ts";
import type { Sandbox } from "../node/sandbox/sandbox-file.ts";
import { leafHash } from "../protocol/merkle.ts";
import type { BulkUpload } from "../protocol/wire/bulk.ts";
import { productBytes, searchPlan } from "./catalogue.ts";
import type { Child } from "./child.ts";
import { refused, sendOne, type WholeAnswer } from "./load.ts";
import { companyOf, type Publisher } from "./parties.ts";
import { type Caller, makeRequest, requestBytes, targetOf } from "./requests.ts";

/** Limit of one push. */
export const batchRecords = 10_000;
/** A batch up to here is published before it is answered. */
export const inlineRecords = 50;

export interface ProductRange {
  readonly first: number;
  readonly count: number;
}

/** Products that follow one another, from a number on. */
export function productRanges(from: number): (count: number) => ProductRange {
  let next = from;
  return (count) => {
    next += count;
    return { first: next - count, count };
  };
}

export function productsIn({ first, count }: ProductRange): readonly Uint8Array[] {
  return Array.from({ length: count }, (_, index) => productBytes(first + index));
}

let lastSeq = 0;

function sealFacts({ uuid, certId, aiPolicyVersion, caller }: Publisher) {
  const nowMs = (caller.nowMs ?? Date.now)();
  // As in the client: greater than any earlier one, and greater than the possible number of batches.
  lastSeq = Math.max(lastSeq + 1, nowMs);
  return {
    businessUuid: uuid,
    certId,
    aiPolicyVersion,
    recordType: "products",
    seq: lastSeq,
    sealedAtMs: nowMs,
  };
}

export function postRequest(
  businessUrl: string,
  caller: Caller,
  path: string,
  { body, key }: { readonly body: Uint8Array; readonly key: string },
): Promise<Uint8Array> {
  const headers = { "idempotency-key": key };
  return makeRequest(businessUrl, caller, { method: "POST", path, tag: "svc-push", body, headers });
}

/** A push by who publishes it and how many records it has, and the request that begins it as bytes. */
export interface Push {
  readonly publisher: Publisher;
  readonly pushId: string;
  readonly records: number;
  readonly request: Uint8Array;
  readonly lastRecord: Uint8Array;
}

export interface PreparedPush extends Push {
  readonly body: Uint8Array;
}

/** Seals a batch of products, and makes its request, ready to be sent. */
export async function preparePush(
  businessUrl: string,
  publisher: Publisher,
  products: ProductRange | readonly Uint8Array[],
  path = "/v1/publish/products",
): Promise<PreparedPush> {
  const records = "first" in products ? productsIn(products) : products;
  const batch = await sealBatch(records, sealFacts(publisher), publisher.caller.key);
  const body = publishBody(batch.batch_seal, records);
  const pushId = batch.push_id;
  const request = await postRequest(businessUrl, publisher.caller, path, { body, key: pushId });
  const lastRecord = records.at(-1) ?? new Uint8Array();
  return { publisher, pushId, records: records.length, request, lastRecord, body };
}

export interface PushNode {
  readonly child: Child;
  readonly businessUrl: string;
}

/** Publishes the first products, one batch after another. */
export async function pushProducts(node: PushNode, publisher: Publisher, products: number): Promise<void> {
  for (let first = 0; first < products; first += batchRecords) {
    const count = Math.min(batchRecords, products - first);
    await publish(node, await preparePush(node.businessUrl, publisher, { first, count }));
  }
}

/** Sends what begins a push and waits until it is complete. Throws when one of its records is not published as new. */
export async function publish(node: PushNode, push: Push): Promise<void> {
  const answer = await sendOne(targetOf(node.businessUrl), push.request);
  if (answer.status !== 202 && answer.status !== 200) throw refused("push", answer);
  await untilComplete(node, push);
}

export async function untilComplete({ child }: PushNode, push: Push): Promise<void> {
  const { publisher, pushId, records } = push;
  const ended = await child.call("serve.ts", "awaitPush", publisher.uuid, pushId);
  if (ended.state !== "complete" || ended.counts.accepted !== records)
    throw new Error(`push: ${JSON.stringify(ended)}`);
}

export interface BulkFile {
  readonly path: string;
  readonly leaves: readonly Uint8Array[];
  readonly lastRecord: Uint8Array;
}

const recordsPerWrite = 1_000;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

/**
 * Writes a file for bulk import, which any business may upload and seal as often as it is needed. `change` says what becomes of the
 * product at a place.
 */
export async function writeBulkFile(
  path: string,
  range: ProductRange,
  change = (product: Uint8Array, _at: number): Uint8Array => product,
): Promise<BulkFile> {
  const leaves: Uint8Array[] = [];
  let lastRecord = new Uint8Array();
  await using file = await open(path, "w");
  while (leaves.length < range.count) {
    const count = Math.min(recordsPerWrite, range.count - leaves.length);
    const from = leaves.length;
    const products = productsIn({ first: range.first + from, count });
    const records = products.map((product, at) => change(product, from + at));
    leaves.push(...records.map((record) => leafHash(record, sha256)));
    lastRecord = new Uint8Array(records.at(-1) ?? []);
    await file.write(records.map((record) => `${Buffer.from(record).toString("base64")}\n`).join(""));
  }
  return { path, leaves, lastRecord };
}

/** An import with everything that its business has to do beforehand. */
export interface PreparedImport extends Push {
  readonly path: string;
  readonly upload: Uint8Array;
  readonly uploadUrl: string;
}

/** Asks for an upload, seals the file, and makes the requests that upload and import it. */
export async function prepareImport(
  businessUrl: string,
  publisher: Publisher,
  { path, leaves, lastRecord }: BulkFile,
): Promise<PreparedImport> {
  const { caller } = publisher;
  const key = `bench-${rootOf(leaves).slice(-16)}-${Date.now()}`;
  const upload = await askForUpload(businessUrl, caller, key);
  if ("status" in upload) throw refused("upload", upload);
  const { batch_seal, push_id: pushId } = await sealLeaves(leaves, sealFacts(publisher), caller.key);
  const content = await readFile(path);
  const { front, back } = uploadForm(upload, content.length);
  const body = Buffer.from(JSON.stringify({ upload_id: upload.upload_id, batch_seal }));
  return {
    publisher,
    pushId,
    records: leaves.length,
    lastRecord,
    path,
    upload: Buffer.concat([front, content, back]),
    uploadUrl: upload.upload_url,
    request: await postRequest(businessUrl, caller, "/v1/bulk-imports", { body, key: `${key}-import` }),
  };
}

/** Asks for an upload of products; returns it, or the answer that refuses it. */
export async function askForUpload(
  businessUrl: string,
  caller: Caller,
  key: string,
): Promise<BulkUpload | WholeAnswer> {
  const body = Buffer.from(JSON.stringify({ record_type: "products" }));
  const begin = await postRequest(businessUrl, caller, "/v1/bulk-uploads", { body, key });
  const answer = await sendOne(targetOf(businessUrl), begin);
  return answer.status === 201 ? (JSON.parse(answer.body) as BulkUpload) : answer;
}

const boundary = "the-boundary-of-the-benchmark";

/** What an upload sends before and after a file of so many bytes. */
export function uploadForm({ upload_url, fields, content_type }: BulkUpload, fileBytes: number) {
  const part = (name: string, rest: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${rest}\r\n\r\n`;
  const file = part("file", `; filename="records.ndjson"\r\nContent-Type: ${content_type}`);
  const front = Object.entries(fields).map(([name, value]) => `${part(name, "")}${value}\r\n`);
  const [text, back] = [`${front.join("")}${file}`, `\r\n--${boundary}--\r\n`];
  const head = requestBytes("POST", new URL(upload_url), null, {
    "content-type": `multipart/form-data; boundary=${boundary}`,
    "content-length": String(text.length + fileBytes + back.length),
  });
  return { front: Buffer.concat([head, Buffer.from(text)]), back: Buffer.from(back) };
}

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
    collection: "products",
    q: product_name,
    query_by: ["product_name"],
    filter: { all: [{ country: price?.country ?? "" }, { price_amount: price?.amount ?? "" }] },
    sort_by: "published_at:desc",
  });
  return await makeRequest(sandbox.base_url, companyOf(sandbox), plan);
}
