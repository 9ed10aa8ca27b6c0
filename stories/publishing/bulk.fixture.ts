// What a business's system does to publish a file: it asks for an upload, sends the file, and has it imported. For tests.

import { freshNonce, type ReceivedAnswer, type SentRequest, send } from "../../api/surfaces.fixture.ts";
import { sealLeaves } from "../../client/batch.ts";
import { nativeCrypto } from "../../crypto/native.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import { leafHash } from "../../protocol/merkle.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import type { AttackNode } from "../retrieval/attack.fixture.ts";
import type { seal, TestBusiness } from "./publishing.fixture.ts";

type Surface = { readonly business_url: string };
type Sender = Pick<TestBusiness, "signingKey">;

function post(
  { business_url }: Surface,
  business: Sender,
  path: string,
  body: unknown,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  const sent = { path, body: JSON.stringify(body), tag: "svc-push", ...changes } as const;
  const headers = { "idempotency-key": freshNonce(), "svc-sandbox-key": null, ...changes.headers };
  return send(business_url, { key: business.signingKey, grant: "" }, { ...sent, headers });
}

export function askUpload(
  urls: Surface,
  business: Sender,
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  return post(urls, business, "/v1/bulk-uploads", { record_type: "products" }, changes);
}

export async function newUpload(urls: Surface, business: Sender): Promise<BulkUpload> {
  const answer = await askUpload(urls, business);
  if (answer.status !== 201) throw new Error(answer.text);
  return answer.json as unknown as BulkUpload;
}

export function requestImport(
  urls: Surface,
  business: Sender,
  body: { readonly upload_id: string; readonly batch_seal: unknown },
  changes: Partial<SentRequest> = {},
): Promise<ReceivedAnswer> {
  return post(urls, business, "/v1/bulk-imports", body, changes);
}

/** The file that has these records. */
export function fileOf(records: readonly Uint8Array[]): Buffer {
  return Buffer.concat(records.map((each) => utf8(`${toBase64(each)}\n`)));
}

export const boundary = "a-boundary-of-a-test";

export type FormPart = readonly [name: string, value: string | Uint8Array];

export function formOf(parts: readonly FormPart[]): Buffer {
  const encoded = parts.flatMap(([name, value]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n`),
    Buffer.from(value as string),
    Buffer.from("\r\n"),
  ]);
  return Buffer.concat([...encoded, Buffer.from(`--${boundary}--\r\n`)]);
}

/** The parts of a right form. */
export function partsOf({ fields }: BulkUpload, file: string | Uint8Array): readonly FormPart[] {
  return [...Object.entries(fields), ["file", file]];
}

export interface UploadAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly json: Readonly<Record<string, unknown>>;
}

export async function sendForm(
  { upload_url }: Pick<BulkUpload, "upload_url">,
  body: Uint8Array | ReadableStream<Uint8Array>,
  type = `multipart/form-data; boundary=${boundary}`,
): Promise<UploadAnswer> {
  const answer = await fetch(upload_url, {
    method: "POST",
    headers: { "content-type": type },
    body: body instanceof Uint8Array ? new Uint8Array(body) : body,
    ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
  });
  return {
    status: answer.status,
    headers: answer.headers,
    json: (await answer.json()) as Readonly<Record<string, unknown>>,
  };
}

export function sendFile(upload: BulkUpload, file: string | Uint8Array): Promise<UploadAnswer> {
  return sendForm(upload, formOf(partsOf(upload, file)));
}

/** Uploads the records and seals them; returns the body of their import, and the push that it will make. */
export async function stageRecords(
  node: AttackNode,
  business: TestBusiness,
  records: readonly Uint8Array[],
  changes: Parameters<typeof seal>[2] = {},
): Promise<{ readonly body: { upload_id: string; batch_seal: unknown }; readonly pushId: string }> {
  const upload = await newUpload(node.running.urls, business);
  const sent = await sendFile(upload, fileOf(records));
  if (sent.status !== 201) throw new Error(JSON.stringify(sent.json));
  const facts = {
    businessUuid: business.party.uuid,
    certId: business.certId,
    aiPolicyVersion: 0,
    recordType: "products",
    seq: 1,
    sealedAtMs: Date.now(),
    ...changes,
  };
  const leaves = records.map((each) => leafHash(each, nativeCrypto.sha256));
  const { batch_seal, push_id } = await sealLeaves(leaves, facts, business.signingKey);
  return { body: { upload_id: upload.upload_id, batch_seal }, pushId: push_id };
}
