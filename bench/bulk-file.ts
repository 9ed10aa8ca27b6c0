// A file of products for bulk import: written once, and uploaded and sealed by any business as often as it is needed.

import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { rootOf, type SealedBatch, sealLeaves } from "../client/batch.ts";
import { leafHash } from "../protocol/merkle.ts";
import type { BulkUpload } from "../protocol/wire/bulk.ts";
import { sendOne } from "./load.ts";
import type { ProductRange, Publisher } from "./prepared-push.ts";
import { productBytes } from "./products.ts";
import { makeRequest, targetOf } from "./requests.ts";

export interface BulkFile {
  readonly path: string;
  readonly range: ProductRange;
  readonly leaves: readonly Uint8Array[];
  readonly lastRecord: Uint8Array;
}

const recordsPerWrite = 1_000;
const sha256 = (bytes: Uint8Array): Uint8Array => createHash("sha256").update(bytes).digest();

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
export interface PreparedImport {
  /** The request with the file, to `uploadUrl`. */
  readonly upload: Uint8Array;
  readonly uploadUrl: string;
  /** The request that imports it. */
  readonly request: Uint8Array;
  readonly batch: SealedBatch;
  readonly records: number;
}

const boundary = "the-boundary-of-the-benchmark";

/** Asks for an upload, seals the file, and makes the requests that upload and import it. */
export async function prepareImport(
  businessUrl: string,
  { uuid, certId, aiPolicyVersion, caller }: Publisher,
  file: BulkFile,
): Promise<PreparedImport> {
  const post = (path: string, body: unknown): Promise<Uint8Array> =>
    makeRequest(businessUrl, caller, {
      ...{ method: "POST", path, tag: "svc-push", body: Buffer.from(JSON.stringify(body)) },
      headers: { "idempotency-key": `bench-${rootOf(file.leaves).slice(-16)}-${Date.now()}` },
    });
  const asked = await sendOne(
    targetOf(businessUrl),
    await post("/v1/bulk-uploads", { record_type: "products" }),
  );
  if (asked.status !== 201) throw new Error(`upload: ${asked.status} ${asked.body.slice(0, 500)}`);
  const upload = JSON.parse(asked.body) as BulkUpload;
  const nowMs = Date.now();
  const facts = {
    ...{ businessUuid: uuid, certId, aiPolicyVersion, recordType: "products" },
    // As in prepared-push.ts.
    ...{ seq: nowMs, sealedAtMs: nowMs },
  };
  const batch = await sealLeaves(file.leaves, facts, caller.key);
  const { batch_seal } = batch;
  return {
    upload: uploadRequest(upload, await readFile(file.path)),
    uploadUrl: upload.upload_url,
    request: await post("/v1/bulk-imports", { upload_id: upload.upload_id, batch_seal }),
    batch,
    records: file.range.count,
  };
}

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
  if (sent.status !== 201) throw new Error(`upload: ${sent.status} ${sent.body.slice(0, 500)}`);
}
