// A model of the service's publish routes for tests: at-most-once acceptance by push_id, seq, the skew of sealed_at, and
// chunks that settle as time passes. It has no notion of HTTP.

import { parseBase64 } from "../protocol/bytes.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { pushIdOf } from "../protocol/identifiers.ts";
import { openBatchSeal } from "../protocol/seal.ts";
import { recordsRoot } from "./batch.ts";
import type { UploadingClient } from "./bulk.ts";
import { SvcProblemError } from "./errors.ts";
import type { JsonAnswer, PushStatus, SvcClient } from "./service-client.ts";

export interface ModelService {
  readonly client: Pick<SvcClient, "publishProducts" | "pushStatus" | "sealContext"> & UploadingClient;
  /** How many times each record (keyed by its text) was published. */
  readonly published: ReadonlyMap<string, number>;
  /** The batches accepted so far. */
  readonly accepted: readonly string[];
  /** The seqs that were accepted, of this push and of others with its key. */
  readonly seqs: number[];
  certId: string;
  aiPolicyVersion: number;
  /** Texts of the records that the service rejects. */
  readonly rejects: Set<string>;
  /** The bulk files that arrived, and those of them that were imported. */
  readonly uploads: Map<string, readonly string[]>;
  readonly imported: readonly string[];
  /** When false, the bulk routes answer that this deployment does not offer them. */
  offersBulk: boolean;
  /** When true, batches are held instead of published. */
  holds: boolean;
}

interface Push {
  readonly records: readonly string[];
  readonly seq: number;
  settled: number;
  held: boolean;
}

const businessUuid = "0b7e1b1e-6a43-4a7c-9c39-3d8a1f0c2b11";
const chunk = 200;
const skewMs = 300_000;

export function createModelService(now: () => number): ModelService {
  const pushes = new Map<string, Push>();
  const published = new Map<string, number>();
  const accepted: string[] = [];
  const seqs: number[] = [];
  const uploads = new Map<string, readonly string[]>();
  const imported: string[] = [];
  const service = {
    uploads,
    imported,
    offersBulk: true,
    published,
    accepted,
    seqs,
    certId: `sha256:${"c".repeat(64)}`,
    aiPolicyVersion: 1,
    rejects: new Set<string>(),
    holds: false,
  };
  const settleChunk = (push: Push): void => {
    for (const record of push.records.slice(push.settled, push.settled + chunk)) {
      if (!service.rejects.has(record)) published.set(record, (published.get(record) ?? 0) + 1);
    }
    push.settled = Math.min(push.records.length, push.settled + chunk);
  };
  const acceptNew = (pushId: string, envelope: Envelope, records: readonly string[]): void => {
    const opened = openBatchSeal(envelope);
    if (!opened.ok || opened.value.v !== 2) throw refusal("seal_invalid", "malformed");
    const seal = opened.value;
    if (seal.root !== recordsRoot(records.map((record) => new TextEncoder().encode(record)))) {
      throw refusal("seal_invalid", "root");
    }
    if (seal.cert_id !== service.certId || seal.ai_policy_version !== service.aiPolicyVersion) {
      throw refusal("seal_invalid", "standing");
    }
    if (Math.abs(now() - Date.parse(seal.sealed_at)) > skewMs) throw refusal("seal_invalid", "skew");
    if (seal.seq <= (seqs.at(-1) ?? 0)) throw refusal("seq_not_increasing", "seq", { last_seq: seqs.at(-1) });
    seqs.push(seal.seq);
    accepted.push(pushId);
    pushes.set(pushId, { records, seq: seal.seq, settled: 0, held: service.holds });
  };
  const client: ModelService["client"] = {
    sealContext: async () => sealContextOf(service, seqs.at(-1) ?? null),
    publishProducts: async ({ body }) => {
      const { batch_seal, records } = JSON.parse(new TextDecoder().decode(body)) as {
        batch_seal: Envelope;
        records: string[];
      };
      const texts = records.map((record) => new TextDecoder().decode(parseBase64(record) ?? undefined));
      const pushId = pushIdOf(businessUuid, parseBase64(batch_seal.payload) ?? new Uint8Array());
      if (!pushes.has(pushId)) acceptNew(pushId, batch_seal, texts);
      return answer(202, statusOf(pushId, pushes.get(pushId) as Push, service.rejects, null));
    },
    ...bulkRoutes(service, (batchSeal, texts) => {
      const pushId = pushIdOf(businessUuid, parseBase64(batchSeal.payload) ?? new Uint8Array());
      const isNew = !pushes.has(pushId);
      if (isNew) acceptNew(pushId, batchSeal, texts());
      return { isNew, status: () => statusOf(pushId, pushes.get(pushId) as Push, service.rejects, null) };
    }),
    pushStatus: async (pushId, page = {}) => {
      const push = pushes.get(pushId);
      if (push === undefined)
        throw new SvcProblemError({ ...nothing, status: 404, code: "not_found", detail: "" });
      if (!push.held) settleChunk(push);
      return answer(200, statusOf(pushId, push, service.rejects, page.outcome ?? null));
    },
  };
  return Object.assign(service, { client });
}

function sealContextOf(
  { certId, aiPolicyVersion }: Pick<ModelService, "certId" | "aiPolicyVersion">,
  last_seq: number | null,
) {
  return answer(200, {
    business_uuid: businessUuid,
    cert_id: certId,
    certificate_status: "active" as const,
    ai_policy_version: aiPolicyVersion,
    ai_policy_live_from: null,
    ai_policy_record_id: null,
    key_id: "",
    last_seq,
    mandates: [],
  });
}

type Uploads = Pick<ModelService, "uploads" | "offersBulk"> & { readonly imported: string[] };
type Accept = (
  batchSeal: Envelope,
  texts: () => readonly string[],
) => { readonly isNew: boolean; readonly status: () => PushStatus };

function bulkRoutes(service: Uploads, accept: Accept): UploadingClient {
  const issued = new Map<string, string>();
  return {
    requestUpload: async ({ idempotencyKey }) => {
      if (!service.offersBulk) throw bulkUnavailable;
      const limits = {
        max_bytes: 268_435_456,
        max_records: 100_000,
        expires_at: "2027-01-31T08:00:00.000Z",
      } as const;
      const next = `bup_${String(issued.size + 1).padStart(24, "0")}`;
      const upload_id = issued.get(idempotencyKey) ?? next;
      issued.set(idempotencyKey, upload_id);
      const form = { upload_url: "https://upload.example/", content_type: "application/x-ndjson" } as const;
      return answer(201, {
        upload_id,
        record_type: "products" as const,
        fields: { upload_id, upload_token: "t" },
        ...form,
        ...limits,
      });
    },
    sendFile: async ({ upload_id }, file) => {
      const lines = (await file.text()).split("\n").slice(0, -1);
      service.uploads.set(
        upload_id,
        lines.map((line) => new TextDecoder().decode(parseBase64(line) ?? undefined)),
      );
      return { upload_id, bytes: file.size, records: lines.length, sha256: "", root: "" };
    },
    importFile: async ({ uploadId, batchSeal }) => {
      const { isNew, status } = accept(batchSeal, () => {
        const texts = service.uploads.get(uploadId);
        if (texts === undefined) throw problem(404, "not_found");
        return texts;
      });
      if (isNew) service.imported.push(uploadId);
      if (isNew) service.uploads.delete(uploadId);
      return answer(202, status());
    },
  };
}

const nothing = { retryAfterSeconds: null, problem: {} };

function refusal(code: string, detail: string, problem: Record<string, unknown> = {}): SvcProblemError {
  return new SvcProblemError({ ...nothing, status: 422, code, detail, problem });
}

/** As a service answers whose operator takes no files. */
const bulkUnavailable = new SvcProblemError({
  status: 503,
  code: "unavailable",
  detail: "",
  retryAfterSeconds: 3_600,
  problem: { reason: "bulk_import_unavailable" },
});

function problem(status: number, code: string): SvcProblemError {
  return new SvcProblemError({ ...nothing, status, code, detail: "" });
}

function answer<T>(status: number, body: T): JsonAnswer<T> {
  return { body, status, text: JSON.stringify(body), requestHash: null };
}

function statusOf(
  pushId: string,
  push: Push,
  rejects: ReadonlySet<string>,
  outcome: string | null,
): PushStatus {
  const isDone = push.settled === push.records.length;
  const rejected = push.records.flatMap((record, leaf) => (rejects.has(record) ? [leaf] : []));
  const at = "2026-01-31T08:00:00.000Z";
  return {
    push_id: pushId,
    batch_id: pushId,
    type: "products",
    source: "api",
    mode: "queued",
    held: push.held,
    received_at: at,
    updated_at: at,
    completed_at: isDone ? at : null,
    status_url: `/v1/pushes/${pushId}`,
    seq: push.seq,
    state: push.held ? "held" : isDone ? "complete" : "processing",
    held_reasons: push.held ? [{ code: "price_changes", detail: "", count: 1 }] : [],
    records: push.records.length,
    counts: {
      accepted: push.settled - rejected.length,
      updated: 0,
      rejected: rejected.length,
      held: 0,
      pending: 0,
    },
    progress: { settled: push.settled, total: push.records.length },
    error: null,
    stalled: false,
    results:
      outcome === "rejected"
        ? rejected.map((leaf) => ({
            leaf_index: leaf,
            outcome: "rejected",
            record_id: null,
            version: null,
            errors: [],
          }))
        : [],
    next_cursor: null,
  };
}
