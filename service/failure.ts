// Infrastructure failures as answers: the caller may try again, and is told when.

import { SigningUnavailable } from "../crypto/port.ts";
import { problem } from "../protocol/problem.ts";
import { StoreError } from "../storage/actor-store.ts";
import { IndexUnavailable } from "../storage/row-index.ts";
import { RemoteFailure } from "../transport/actor-transport.ts";
import { type Refused, refused } from "./answer.ts";
import { rateLimited } from "./rate-limited.ts";
import { LeaseLost } from "./receipts.ts";

const retrySecondsDefault = 1;

/** 429 or 503 with Retry-After for a failure that passes; null for anything else, which is a bug. */
export function failureAnswer(error: unknown): Refused | null {
  if (error instanceof StoreError) return unavailable("store", retrySecondsDefault);
  if (error instanceof IndexUnavailable) return unavailable("index", Math.ceil(error.retryAfterSeconds));
  if (error instanceof LeaseLost) return unavailable("lease", retrySecondsDefault);
  if (error instanceof SigningUnavailable) return unavailable(error.reason, error.retryAfterSeconds);
  if (error instanceof RemoteFailure) return remoteAnswer(error);
  const actor = actorUnavailable(error);
  if (actor === null) return null;
  const { reason, retryAfterSeconds: seconds } = actor;
  return reason === "overloaded" ? limited(seconds) : unavailable(reason, seconds);
}

/** What another node refused for good is a bug, here or there. */
function remoteAnswer({ reason, retryAfterSeconds }: RemoteFailure): Refused | null {
  if (reason === "refused") return null;
  const seconds = Math.max(1, Math.ceil(retryAfterSeconds));
  return reason === "overloaded" ? limited(seconds) : unavailable(reason, seconds);
}

/** Told by its name, for the actor system is known here by its types only. */
function actorUnavailable(
  error: unknown,
): { readonly reason: string; readonly retryAfterSeconds: number } | null {
  if (!(error instanceof Error) || error.name !== "ActorUnavailable") return null;
  const { reason, retryAfterSeconds } = error as { reason?: unknown; retryAfterSeconds?: unknown };
  return {
    reason: typeof reason === "string" ? reason : "restarting",
    retryAfterSeconds:
      typeof retryAfterSeconds === "number" ? Math.max(1, Math.ceil(retryAfterSeconds)) : retrySecondsDefault,
  };
}

function limited(seconds: number): Refused {
  const detail = "Too much is waiting for this key; send the request again later, signed afresh.";
  return rateLimited(detail, { retry_after_seconds: seconds });
}

function unavailable(reason: string, seconds: number): Refused {
  const detail = "The service cannot answer this now; send the request again later, signed afresh.";
  return refused(problem("unavailable", detail, { reason, retry_after_seconds: seconds }), {
    "retry-after": String(seconds),
  });
}
