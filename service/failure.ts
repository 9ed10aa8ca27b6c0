// Infrastructure failures as answers: the caller may retry, and is informed when.

import { Unavailable } from "../std/unavailable.ts";
import { StoreError } from "../storage/actor-store.ts";
import { type Refused, rateLimited, refusedWith } from "./answer.ts";
import { LeaseLost } from "./retrieval/receipts.ts";

const retrySecondsDefault = 1;

/** 429 or 503 with Retry-After for a transient failure; null for anything else, which is a bug. */
export function failureAnswer(error: unknown): Refused | null {
  if (error instanceof StoreError) return unavailable("store", retrySecondsDefault);
  if (error instanceof LeaseLost) return unavailable("lease", retrySecondsDefault);
  if (!(error instanceof Unavailable)) return null;
  const seconds = Math.max(1, Math.ceil(error.retryAfterSeconds));
  if (error.reason === "refused") return isOlderNode(error) ? unavailable("upgrading", seconds) : null;
  return error.reason === "overloaded" ? limited(seconds) : unavailable(error.reason, seconds);
}

/** Whether another node did nothing because its release does not know the command. Any other refusal is a bug, here or there. */
export function isOlderNode({ reason, effect, retryAfterSeconds }: Unavailable): boolean {
  return reason === "refused" && effect === "not_applied" && retryAfterSeconds > 0;
}

function limited(seconds: number): Refused {
  const detail = "Too much is waiting for this key; send the request again later, with a new signature.";
  return rateLimited(detail, { retry_after_seconds: seconds });
}

function unavailable(reason: string, seconds: number): Refused {
  const detail = "The service cannot answer this now; send the request again later, with a new signature.";
  return refusedWith(
    "unavailable",
    detail,
    { reason, retry_after_seconds: seconds },
    {
      "retry-after": String(seconds),
    },
  );
}
