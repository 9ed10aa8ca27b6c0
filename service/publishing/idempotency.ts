// Idempotency-Key: a request is answered once, and its answer replayed (specification, «Endpoints»).
//   I1. Answers are stored only for final outcomes: what was done, and of refusals those that follow from the request alone. Any other
//       refusal says what the service knew at that moment (no mandate yet, a certificate that is replaced, a cap, an outage): nothing was
//       done, and after it the key is free again.
//   I2. While the request is being answered, the claim on its key is renewed, whatever delays the answer; a claim that
//       is not renewed expires, so the claim of a process that died or stalled soon passes to another.
//   I3. A renewal delays nothing: neither the answer nor the settlement waits for one.

import type { IdempotentAnswer, IntegrationKeyCommand } from "../../actors/messages/integration-key.ts";
import { pushRef } from "../../actors/messages/refs.ts";
import type { ActorSystem, Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { toBase64Url } from "../../protocol/bytes.ts";
import { idempotencyKeyPattern } from "../../protocol/limits.ts";
import type { ProblemCode } from "../../protocol/problem.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { invalidAt, type Outcome, type Refused, refusedWith, type SentRequest } from "../answer.ts";
import { wholeStatus } from "./push-status.ts";

interface IdempotentRequest {
  /** The actor of the key that signed the request. */
  readonly key: ActorRef<"integration-key">;
  /** The route and the Idempotency-Key. */
  readonly scope: string;
  /** The Content-Digest of the request. */
  readonly digest: string;
  /** Called with an answer that is replayed. */
  readonly replayed: (answer: IdempotentAnswer) => void;
}

/** A third of the lifetime of a claim: one renewal may be lost, and the next is still in time. */
const renewEveryMs = 2_000;
const renewalTimeoutMs = 1_000;
/** Ten minutes: far longer than any request takes to answer. */
const renewalsMax = 300;
const tokenBytes = 16;
/** The wait suggested to anyone who resends a request in the meantime. */
const retrySeconds = 1;

/** Answers the request, replays its stored answer, or refuses it. */
export async function answerOnce(
  deps: Actors & Platform,
  request: IdempotentRequest,
  answer: () => Promise<Outcome>,
): Promise<Outcome> {
  const { key, scope, digest, replayed } = request;
  const token = toBase64Url(deps.crypto.randomBytes(tokenBytes));
  const begin = { type: "idempotency.begin", scope, digest, token } as const;
  const begun = await deps.actors.ask(key, begin);
  if (begun.status === "replay") {
    replayed(begun.answer);
    return { kind: "answer", ...begun.answer };
  }
  if (begun.status !== "fresh") return refusal(begun.status);
  const stopRenewing = renewClaim(deps, key, begin);
  let outcome: Outcome | null = null;
  try {
    outcome = await answer();
    return outcome;
  } finally {
    stopRenewing();
    const kept = outcome && keptAnswer(outcome);
    if (kept) await deps.actors.ask(key, { type: "idempotency.settle", scope, digest, answer: kept });
    else await deps.actors.ask(key, { type: "idempotency.release", scope, token }).catch(() => {});
  }
}

function refusal(status: "conflict" | "in_progress"): Outcome {
  if (status === "conflict") {
    return refusedWith("idempotency_key_reused", "This Idempotency-Key was used for a different request.");
  }
  const detail = "The same request is being answered; send it again in a moment.";
  return refusedWith(
    "idempotency_in_progress",
    detail,
    { retry_after_seconds: retrySeconds },
    {
      "retry-after": String(retrySeconds),
    },
  );
}

/** Renews the claim periodically (I2); the returned function stops it. */
function renewClaim(
  { actors, timers }: Actors & Platform,
  key: ActorRef<"integration-key">,
  begin: Extract<IntegrationKeyCommand, { type: "idempotency.begin" }>,
): () => void {
  let isStopped = false;
  let renewals = 0;
  let cancel = (): void => {};
  const once = async (): Promise<void> => {
    renewals += 1;
    try {
      const { status } = await actors.ask(key, { ...begin, renewal: true }, { timeoutMs: renewalTimeoutMs });
      // Another worker took it over: two workers are in progress, and each of their steps is idempotent.
      if (status !== "fresh") return;
    } catch {
      // The next renewal may succeed; none does when the key's actor is unreachable for longer than the claim lasts.
    }
    arm();
  };
  const arm = (): void => {
    if (!isStopped && renewals < renewalsMax) cancel = timers.schedule(renewEveryMs, () => void once());
  };
  arm();
  return () => {
    isStopped = true;
    cancel();
  };
}

/** Refusals of a request that can never be accepted, whatever becomes of the caller and of what the service knows (I1). */
const finalRefusals: ReadonlySet<ProblemCode> = new Set([
  "request_invalid",
  "record_too_large",
  "media_type_unsupported",
  "type_not_publishable",
]);

function keptAnswer(outcome: Outcome): IdempotentAnswer | null {
  if (outcome.kind === "problem") {
    if (!finalRefusals.has(outcome.problem.code)) return null;
    return {
      status: outcome.problem.status,
      headers: { ...outcome.headers, "content-type": "application/problem+json" },
      body: JSON.stringify(outcome.problem),
    };
  }
  return typeof outcome.body === "string" && outcome.status < 400
    ? { status: outcome.status, headers: outcome.headers, body: outcome.body }
    : null;
}

// The Idempotency-Key of a publish request.

export interface ClaimedRequest extends Pick<SentRequest, "caller" | "idempotencyKey" | "contentDigest"> {
  readonly collection: string;
}

/** What the key's actor is asked to answer once; refuses a malformed key. */
export function claimOf(
  actors: ActorSystem,
  request: ClaimedRequest,
  key: ActorRef<"integration-key">,
): IdempotentRequest | Refused {
  const { caller, collection } = request;
  return claimFor(request, {
    key,
    route: `publish/${collection}`,
    replayed: (answer) => nudge(actors, caller.party.uuid, answer),
  });
}

/** The same for any route: a key is used for one request of one route. */
export function claimFor(
  { idempotencyKey, contentDigest: digest }: Pick<ClaimedRequest, "idempotencyKey" | "contentDigest">,
  { key, route, replayed }: Pick<IdempotentRequest, "key" | "replayed"> & { readonly route: string },
): IdempotentRequest | Refused {
  if (idempotencyKey === null || !idempotencyKeyPattern.test(idempotencyKey)) {
    const wanted = idempotencyKey === null ? "is required:" : "must be";
    return invalidAt(
      "/headers/idempotency-key",
      `Idempotency-Key ${wanted} 1 to 255 printable ASCII characters.`,
    );
  }
  return { key, scope: `${route} ${idempotencyKey}`, digest, replayed };
}

/**
 * A replay also continues a push that is not finished, like any other resend: being asked for its status activates the
 * push's actor if no node has it in memory, and the actor does what is left. The replayed answer does not wait for that.
 */
function nudge(actors: ActorSystem, businessUuid: string, { status, body }: IdempotentAnswer): void {
  if (status !== 200 && status !== 202) return;
  const { batch_id } = JSON.parse(body) as { readonly batch_id: string };
  actors.ask(pushRef(businessUuid, batch_id), wholeStatus).catch(() => {});
}
