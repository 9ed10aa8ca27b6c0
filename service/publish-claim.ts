// The Idempotency-Key of a publish request.

import type { IdempotentAnswer } from "../actors/messages/integration-key.ts";
import { type ActorRef, pushRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { idempotencyKeyPattern } from "../protocol/limits.ts";
import { problem } from "../protocol/problem.ts";
import { type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";
import type { IdempotentRequest } from "./idempotency.ts";
import { wholeStatus } from "./push-status.ts";

export interface ClaimedRequest {
  readonly caller: Caller;
  readonly collection: string;
  readonly idempotencyKey: string | null;
  readonly contentDigest: string;
}

/** What the key's actor is asked to answer once; refuses a malformed key. */
export function claimOf(
  actors: Pick<ActorSystem, "ask">,
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
    return refused(
      problem("request_invalid", `Idempotency-Key ${wanted} 1 to 255 printable ASCII characters.`, {
        pointer: "/headers/idempotency-key",
      }),
    );
  }
  return { key, scope: `${route} ${idempotencyKey}`, digest, replayed };
}

/**
 * A replay also continues a push that is not finished, like any other resend: being asked for its status activates the
 * push's actor if no node has it in memory, and the actor does what is left. The replayed answer does not wait for that.
 */
function nudge(
  actors: Pick<ActorSystem, "ask">,
  businessUuid: string,
  { status, body }: IdempotentAnswer,
): void {
  if (status !== 200 && status !== 202) return;
  const { batch_id } = JSON.parse(body) as { readonly batch_id: string };
  actors.ask(pushRef(businessUuid, batch_id), wholeStatus).catch(() => {});
}
