// The routes of bulk publishing: an upload is asked for and its import requested by signed requests; the file itself is
// sent without a signature, since its fields let the bearer upload it.

import { createHash } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";
import { bulkFileBytesMax, bulkRecordsMax, validatedPageMax } from "../../protocol/limits.ts";
import { type Problem, type ProblemCode, problem } from "../../protocol/problem.ts";
import {
  bulkImportBody,
  bulkUpload,
  bulkUploadBody,
  fileValidation,
  uploadedFile,
  uploadForm,
  uploadId,
} from "../../protocol/wire/bulk.ts";
import { pushStatus, recordOutcomes } from "../../protocol/wire/push.ts";
import {
  type Outcome,
  refused,
  refusedWith,
  type SentRequest,
  wrongParameter,
} from "../../service/answer.ts";
import type { FileRequest, FormEvent } from "../../service/publishing/bulk-file.ts";
import type { ValidateImportRequest } from "../../service/publishing/validate-import.ts";
import { addressBlock } from "../../std/ip-address.ts";
import { type BodyLimits, closeUnread, hasBody, leaveBodyUnread, lengthFault } from "../body.ts";
import { bodyTimeMs } from "../http-limits.ts";
import { boundaryOf, MultipartFault, MultipartReader } from "../multipart.ts";
import { parameter } from "../public-read.ts";
import { isRefused, parseFlag, parseQuery, type Query, send, sourceOfRequest } from "../request-parts.ts";
import { inPath, inQuery, type Route, type RouteDoc, sandboxKey } from "../route.ts";
import { businessPush, type Callers, idempotencyKey, sentIn } from "../signed.ts";

/** What the routes call; each function checks its input beyond authentication. */
export interface Bulk {
  issueUpload(request: SentRequest): Promise<Outcome>;
  receiveFile(request: FileRequest): Promise<Outcome>;
  importFile(request: SentRequest): Promise<Outcome>;
  /** The same request, which changes nothing and answers what the import would come to. */
  validateImport(request: ValidateImportRequest): Promise<Outcome>;
}

/** What a form may add to its file: far more than delimiters, heads and fields, and than one piece of what arrives. */
const formBytesMax = 131_072;

const acceptProblems: readonly ProblemCode[] = [
  "request_invalid",
  "mandate_missing",
  "out_of_scope",
  "source_not_allowed",
  "business_not_verified",
  "idempotency_in_progress",
  "idempotency_key_reused",
];

const issueDoc: RouteDoc = {
  summary: "Where to upload a file of records",
  description: `For more records than a batch may have: up to ${bulkRecordsMax}. The answer says where and how the file is uploaded, for an hour; its import is a request of its own.`,
  parameters: [sandboxKey, idempotencyKey],
  body: bulkUploadBody,
  answers: { 201: { description: "The upload", body: bulkUpload, headers: ["Cache-Control"] } },
  problems: [...acceptProblems, "type_not_publishable"],
};

const importDoc: RouteDoc = {
  summary: "Publish the records of an uploaded file",
  description: `The seal names exactly the records of the file: line i is leaf i. The same request again answers with the state now, and resumes an import that stopped. With \`validate_only=true\` nothing is stored, numbered or charged, the file stays for its import, and the answer says what would become of every line, in pages of ${validatedPageMax}.`,
  parameters: [
    sandboxKey,
    inQuery("validate_only", "`true` to validate the file only; the signature covers it with `@query`.", {
      enum: ["true", "false"],
    }),
    inQuery("outcome", "Of a validation: only results of this outcome.", { enum: recordOutcomes }),
    inQuery("cursor", "Of a validation: `next_cursor` of the previous page.", { type: "string" }),
    idempotencyKey,
  ],
  body: bulkImportBody,
  answers: {
    200: { description: "What the import would come to", body: fileValidation },
    202: {
      description: "The push was accepted and is processed; `Location` names where to poll",
      body: pushStatus,
      headers: ["Location"],
    },
  },
  problems: [...acceptProblems, "not_found", "seal_invalid", "seq_not_increasing", "upload_conflict"],
};

/** `POST /v1/bulk-uploads`, the upload itself, and `/v1/bulk-imports`, also with `validate_only`. */
export function bulkRoutes(callers: Callers, bulk: Bulk): readonly Route[] {
  return [
    businessPush(callers, "/v1/bulk-uploads", issueDoc, {
      answer: (call) => bulk.issueUpload(sentIn(call, callers)),
    }),
    {
      method: "POST",
      path: "/v1/bulk-uploads/:upload_id/file",
      tags: [],
      doc: fileDoc,
      handle: (request, reply) => handleFile(callers, bulk, request, reply),
    },
    businessPush(callers, "/v1/bulk-imports", importDoc, {
      queryNames: ["validate_only", "outcome", "cursor"],
      answer: async (call) => {
        const { query, holder } = call;
        const validateOnly = parseFlag(query, "validate_only");
        if (typeof validateOnly !== "boolean") return validateOnly;
        const { outcome, cursor } = query;
        const request = sentIn(call, callers);
        if (validateOnly) return bulk.validateImport({ ...request, outcome, cursor, owner: holder });
        return outcome === null && cursor === null ? bulk.importFile(request) : notAValidation(query);
      },
    }),
  ];
}

function notAValidation({ outcome }: Query<"outcome" | "cursor">): Outcome {
  const name = outcome === null ? "cursor" : "outcome";
  const detail = `${name} belongs to validate_only=true; GET /v1/pushes/{push_id} has the results of an import.`;
  return wrongParameter(name, detail);
}

const fileDoc: RouteDoc = {
  summary: "Upload the file of a bulk upload",
  description: `multipart/form-data: every member of \`fields\`, then the file as the part \`file\`, of at most ${bulkFileBytesMax} bytes. A file is taken in whole, or nothing of it is kept; a fault of a line is located by its index, as \`/file/<index>\`.`,
  parameters: [inPath("upload_id", "Upload id.", uploadId.schema)],
  body: { ...uploadForm, mediaType: "multipart/form-data" },
  answers: { 201: { description: "The file is durable", body: uploadedFile } },
  problems: [
    "request_invalid",
    "not_found",
    "record_too_large",
    "media_type_unsupported",
    "upload_conflict",
    "key_unknown",
    "mandate_missing",
    "out_of_scope",
    "business_not_verified",
  ],
};

async function handleFile(
  { http, authentication }: Callers,
  bulk: Bulk,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const limits = { bytesMax: bulkFileBytesMax + formBytesMax, edge: http.edge };
  const query = parseQuery(request.raw.url ?? "", []);
  const boundary = boundaryOf(request.headers["content-type"]);
  const fault = lengthFault(request.raw, limits);
  if (isRefused(query) || boundary === null || fault !== null) {
    leaveBodyUnread(request, reply);
    if (isRefused(query)) return send(reply, query);
    return send(reply, fault === null ? notAForm : refused(fault));
  }
  const uploadId = parameter(request, "upload_id");
  const end = new AbortController();
  const { fileBytesPerSecondMin } = http.edge.limits;
  const form = formEvents(arrivingBody(request.raw, limits, fileBytesPerSecondMin, end.signal), boundary);
  // In a sandbox a business costs nothing, so what counts is where it comes from.
  const source = authentication.grantSigner === null ? null : sourceOfRequest(request.raw, http.edge);
  const takeRoom: FileRequest["takeRoom"] = (business) =>
    http.edge.takeFile(source === null ? business : addressBlock(source), () => end.abort()) ?? noPlace;
  const outcome = await bulk.receiveFile({ uploadId, form, takeRoom, hash: createHash("sha256") });
  if (hasBody(request.raw) && !request.raw.complete) closeUnread(request, reply);
  return send(reply, outcome);
}

const noPlace = refusedWith("unavailable", "Too many files are being sent; send this one again later.", {
  reason: "files_in_flight",
  retry_after_seconds: 2,
});

const notAForm = refusedWith(
  "media_type_unsupported",
  "The body must be multipart/form-data with one boundary.",
  {
    pointer: "/headers/content-type",
  },
);

/** The events of a form as it arrives. */
async function* formEvents(
  pieces: AsyncIterable<BodyPiece>,
  boundary: string,
): AsyncGenerator<FormEvent, void> {
  const reader = new MultipartReader(boundary);
  try {
    for await (const piece of pieces) {
      if (piece.kind === "fault") return yield piece;
      yield* reader.take(piece.bytes);
    }
    reader.end();
  } catch (error) {
    if (!(error instanceof MultipartFault)) throw error;
    yield {
      kind: "fault",
      problem: problem("request_invalid", error.message, { reason: "form_malformed" }),
    };
  }
}

// A body that is taken in as it arrives, for a handler that keeps none of it.
//   A1. It must keep arriving: at every moment, as much must have arrived as the time that was waited for it requires
//       (`bodyTimeMs`). The time that the handler takes itself does not count.
//   A2. No more is read ahead than the platform buffers.
//   A3. Reading ends at the first byte over the limit; a longer declared body is not read at all.
//   A4. It ends when it has to make room for others.

type BodyPiece =
  | { readonly kind: "bytes"; readonly bytes: Uint8Array }
  /** The body does not arrive whole: the last piece. */
  | { readonly kind: "fault"; readonly problem: Problem };

async function* arrivingBody(
  request: IncomingMessage,
  limits: BodyLimits,
  bytesPerSecondMin: number,
  /** Aborted when the body must make room for others (A4). */
  signal: AbortSignal,
): AsyncGenerator<BodyPiece, void> {
  const fault = lengthFault(request, limits);
  if (fault !== null) return yield { kind: "fault", problem: fault };
  const { edge, bytesMax } = limits;
  // Leaving the loop must not destroy the connection: the answer is still to be sent.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer, void>;
  let length = 0;
  let waitedMs = 0;
  try {
    for (;;) {
      const beganAtMs = performance.now();
      const leftMs = bodyTimeMs(edge.limits, length, bytesPerSecondMin) - waitedMs;
      const step = await within(chunks.next(), leftMs, signal);
      if (signal.aborted) return yield { kind: "fault", problem: gaveWay };
      waitedMs += performance.now() - beganAtMs;
      if (step === "late") {
        edge.refused("slow_bodies");
        return yield { kind: "fault", problem: late };
      }
      if (step.done === true) return;
      length += step.value.length;
      if (length > bytesMax) return yield { kind: "fault", problem: tooLarge(bytesMax) };
      yield { kind: "bytes", bytes: step.value };
    }
  } catch {
    yield { kind: "fault", problem: lost };
  } finally {
    request.pause();
  }
}

const late = problem("request_timeout", "The body did not arrive in time.");
const gaveWay = problem(
  "unavailable",
  "Others wait to send a file, and you send several: send this one again later.",
  { reason: "files_in_flight", retry_after_seconds: 10 },
);
const lost = problem("request_timeout", "The connection ended before the body did.");

function tooLarge(bytesMax: number): Problem {
  return problem("record_too_large", `The body is at most ${bytesMax} bytes.`);
}

async function within<T>(work: Promise<T>, ms: number, signal: AbortSignal): Promise<T | "late"> {
  const late = Promise.withResolvers<"late">();
  const end = (): void => late.resolve("late");
  const timer = setTimeout(end, Math.max(0, Math.ceil(ms)));
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  // Abandoned work may still fail, and nobody waits for that.
  work.catch(() => {});
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
  }
}
