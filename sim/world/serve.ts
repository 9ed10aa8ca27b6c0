// A request within a node: what an HTTP surface does around the service, without HTTP. Checks 1 to 4, then 5 to 7, then the
// route; a transient failure becomes 429 or 503, and anything else is a bug that the run reports.

import { concatBytes, utf8 } from "../../protocol/bytes.ts";
import { problem } from "../../protocol/problem.ts";
import type { BulkUpload } from "../../protocol/wire/bulk.ts";
import { type Outcome, refused } from "../../service/answer.ts";
import {
  type Authenticated,
  authenticateBody,
  authenticateHead,
  judgeSignature,
} from "../../service/authentication/authenticate.ts";
import { failureAnswer } from "../../service/failure.ts";
import { type FormEvent, receiveFile } from "../../service/publishing/bulk-file.ts";
import { importFile } from "../../service/publishing/bulk-import.ts";
import { issueUpload } from "../../service/publishing/bulk-upload.ts";
import { listCatalogue } from "../../service/publishing/catalogue.ts";
import { cancelPush } from "../../service/publishing/decide-hold.ts";
import { paceOfBatch, publishBatch } from "../../service/publishing/publish.ts";
import { readPushAttempts } from "../../service/publishing/push-attempts.ts";
import { readPush } from "../../service/publishing/push-status.ts";
import { removeRecord } from "../../service/publishing/remove-record.ts";
import { validateBatch } from "../../service/publishing/validate-batch.ts";
import { validateImport } from "../../service/publishing/validate-import.ts";
import { NotAnswered } from "../../service/retrieval/receipts.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { authority, type SimRequest } from "../workload/signed-request.ts";
import type { SimNode } from "./sim-node.ts";

export interface ServeWitness {
  begun(node: SimNode, request: SimRequest): void;
  refused(node: SimNode, request: SimRequest): void;
  /** Check 7 passed for the request at that node. */
  nonceAccepted(node: SimNode, request: SimRequest): void;
  /** Rows or a record are about to be served. */
  servedRecords(node: SimNode, request: SimRequest): void;
  /** The outcome is neither an answer nor a transient failure. */
  bug(node: SimNode, request: SimRequest, error: unknown): void;
}

/** Null if the node ends the connection without an answer. */
export async function serve(
  node: SimNode,
  request: SimRequest,
  witness: ServeWitness,
): Promise<Outcome | null> {
  const outcome = await outcomeOf(node, request, witness);
  if (outcome?.kind === "problem") witness.refused(node, request);
  return outcome;
}

async function outcomeOf(node: SimNode, request: SimRequest, witness: ServeWitness): Promise<Outcome | null> {
  witness.begun(node, request);
  try {
    const arrivedAtMs = node.authentication.clock.now();
    const accepted = { authorities: [authority], tags: [request.tag], roles: [request.role], bearer: false };
    const candidate = await authenticateHead(node.authentication, accepted, request.head);
    if (candidate.kind === "problem") return candidate;
    const judged = await judgeSignature(node.authentication, candidate, "");
    const digest = node.authentication.crypto.sha256(request.body);
    const authenticated = await authenticateBody(node.authentication, judged, digest);
    if (authenticated.kind === "problem") return authenticated;
    const watched = watchClaim(authenticated, () => witness.nonceAccepted(node, request));
    const outcome = await answer(node, request, watched, arrivedAtMs);
    if (outcome.kind === "answer" && (request.route === "search" || request.route === "fetch"))
      witness.servedRecords(node, request);
    return outcome;
  } catch (error) {
    if (error instanceof NotAnswered) return null;
    const failure = failureAnswer(error);
    if (failure !== null) return failure;
    if (!isPassing(error)) witness.bug(node, request, error);
    return refused(problem("internal_error", "The request failed."));
  }
}

/** The file of an upload, which no signature covers. */
export async function serveFile(node: SimNode, upload: BulkUpload, file: Uint8Array): Promise<Outcome> {
  const { crypto } = node.bulk;
  let sent = new Uint8Array();
  const hash = {
    update: (bytes: Uint8Array) => {
      sent = concatBytes(sent, bytes) as typeof sent;
    },
    digest: () => crypto.sha256(sent),
  };
  try {
    return await receiveFile(node.bulk, {
      uploadId: upload.upload_id,
      form: formOf(upload, file),
      takeRoom: () => () => {},
      hash,
    });
  } catch (error) {
    const failure = failureAnswer(error);
    if (failure !== null) return failure;
    if (!isPassing(error)) throw error;
    return refused(problem("internal_error", "The request failed."));
  }
}

export async function* formOf({ fields }: BulkUpload, file: Uint8Array): AsyncGenerator<FormEvent, void> {
  for (const [name, value] of Object.entries(fields)) {
    yield { kind: "part", name };
    yield { kind: "bytes", bytes: utf8(value) };
  }
  yield { kind: "part", name: "file" };
  for (let at = 0; at < file.length; at += pieceBytes) {
    yield { kind: "bytes", bytes: file.subarray(at, at + pieceBytes) };
  }
}

/** Small, so that lines are cut. */
const pieceBytes = 700;

/** The same, with a notification once the nonce was claimed. */
function watchClaim(authenticated: Authenticated, accepted: () => void): Authenticated {
  let isWatched = false;
  return {
    ...authenticated,
    claimNonce: () => {
      const claim = authenticated.claimNonce();
      if (!isWatched) {
        isWatched = true;
        claim.claimed.then(
          (reused) => {
            if (reused === null) accepted();
          },
          () => {},
        );
      }
      return claim;
    },
  };
}

async function answer(
  node: SimNode,
  request: SimRequest,
  authenticated: Authenticated,
  arrivedAtMs: number,
): Promise<Outcome> {
  if (request.route === "search")
    return node.search({ authenticated, body: request.body, collection: "products" });
  if (request.route === "fetch")
    return node.fetch({ authenticated, recordId: request.subject, arrivedAtMs, isDelivered: true });
  const reused = await authenticated.claimNonce().claimed;
  if (reused !== null) return reused;
  const { caller } = authenticated;
  if (request.route === "push") {
    return readPush(node.actors, { caller, pushId: request.subject, outcome: null, cursor: null });
  }
  if (request.route === "cancel")
    return cancelPush(node.publishing, { caller, pushId: request.subject, sourceIp: "192.0.2.1" });
  const cursor = request.subject === "" ? null : request.subject;
  if (request.route === "catalogue") return listCatalogue(node.reads, { caller, type: null, cursor });
  if (request.route === "attempts")
    return readPushAttempts(node.reads, { caller, from: null, to: null, status: null, cursor });
  const { body, idempotencyKey, contentDigest } = request;
  const sent = { caller, body, idempotencyKey, contentDigest, sourceIp: "192.0.2.1" };
  const collection = "products";
  const { paces } = node.publishing;
  const { uuid } = caller.party;
  if (request.route === "withdraw" || request.route === "delete")
    return removeRecord(node.publishing, { ...sent, action: request.route, collection });
  if (request.route === "upload") return issueUpload(node.bulk, sent);
  if (request.route === "import") return importFile(node.bulk, sent);
  if (request.route === "validate-import")
    return validateImport(
      { ...node.bulk, pace: paces.inline(uuid) },
      { ...sent, outcome: null, cursor: null, owner: uuid },
    );
  if (request.route === "validate")
    return validateBatch({ ...node.publishing, pace: paces.queued(uuid) }, { ...sent, collection });
  return publishBatch({ ...node.publishing, pace: paceOfBatch(paces, sent) }, { ...sent, collection });
}

/** Failures of other nodes, which a surface answers with 503 as well. */
function isPassing(error: unknown): boolean {
  return error instanceof Unavailable;
}

export function statusOf(outcome: Outcome): number {
  return outcome.kind === "answer" ? outcome.status : outcome.problem.status;
}

/** The problem's code, or `ok`. */
export function codeOf(outcome: Outcome): string {
  return outcome.kind === "answer" ? "ok" : outcome.problem.code;
}
