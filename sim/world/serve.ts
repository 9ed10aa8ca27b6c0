// A request within a node: what an HTTP surface does around the service, without HTTP. Checks 1 to 4, then 5 to 7, then the
// route; a transient failure becomes 429 or 503, and anything else is a bug that the run reports.

import { problem } from "../../protocol/problem.ts";
import { type Outcome, refused } from "../../service/answer.ts";
import {
  type Authenticated,
  authenticateBody,
  authenticateHead,
  judgeSignature,
} from "../../service/authenticate.ts";
import { cancelPush } from "../../service/cancel-push.ts";
import { failureAnswer } from "../../service/failure.ts";
import { publishBatch } from "../../service/publish.ts";
import { readPush } from "../../service/push-status.ts";
import { removeRecord } from "../../service/remove-record.ts";
import { validateBatch } from "../../service/validate-batch.ts";
import { Unavailable } from "../../std/unavailable.ts";
import { authority, type SimRequest } from "../workload/signed-request.ts";
import type { SimNode } from "./sim-node.ts";

export interface ServeWitness {
  /** Check 7 passed for the request at that node. */
  nonceAccepted(node: SimNode, request: SimRequest): void;
  /** Rows or a record are about to be served. */
  servedRecords(node: SimNode, request: SimRequest): void;
  /** The outcome is neither an answer nor a transient failure. */
  bug(node: SimNode, request: SimRequest, error: unknown): void;
}

export async function serve(node: SimNode, request: SimRequest, witness: ServeWitness): Promise<Outcome> {
  try {
    const arrivedAtMs = node.authentication.clock.now();
    const accepted = { authorities: [authority], tags: [request.tag], roles: [request.role], bearer: false };
    const candidate = await authenticateHead(node.authentication, accepted, request.head);
    if (candidate.kind === "problem") return candidate;
    const judged = judgeSignature(node.authentication, candidate);
    const digest = node.authentication.crypto.sha256(request.body);
    const authenticated = await authenticateBody(node.authentication, judged, digest);
    if (authenticated.kind === "problem") return authenticated;
    const watched = watchClaim(authenticated, () => witness.nonceAccepted(node, request));
    const outcome = await answer(node, request, watched, arrivedAtMs);
    if (outcome.kind === "answer" && (request.route === "search" || request.route === "fetch"))
      witness.servedRecords(node, request);
    return outcome;
  } catch (error) {
    const failure = failureAnswer(error);
    if (failure !== null) return failure;
    if (!isPassing(error)) witness.bug(node, request, error);
    return refused(problem("internal_error", "The request failed."));
  }
}

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
  const { body, idempotencyKey, contentDigest } = request;
  if (request.route === "withdraw" || request.route === "delete") {
    return removeRecord(node.publishing, {
      ...{ caller, body, idempotencyKey, contentDigest, action: request.route },
      collection: "products",
      sourceIp: "192.0.2.1",
    });
  }
  const answerBatch = request.route === "validate" ? validateBatch : publishBatch;
  return answerBatch(node.publishing, {
    ...{ caller, body, idempotencyKey, contentDigest },
    collection: "products",
    sourceIp: "192.0.2.1",
  });
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
