// Check 7: a nonce is used once with its key, in the region that received the request.

import type { IntegrationKeyCommand, NonceReply } from "../actors/messages/integration-key.ts";
import { nonceRef } from "../actors/messages/refs.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import { problem } from "../protocol/problem.ts";
import type { CommitOutcome } from "../storage/actor-store.ts";
import { type Refused, refused } from "./answer.ts";
import type { Caller } from "./caller.ts";

export interface NonceClaim {
  /** Resolves to null once the nonce is claimed. */
  readonly claimed: Promise<Refused | null>;
  /** The outcome of the claim unless its commit fails: for work that takes effect only with that commit. */
  readonly decided: Promise<NonceDecided>;
}

export interface NonceDecided {
  readonly refused: Refused | null;
  /** The commit of the claim, while it is in progress. */
  readonly commit: Promise<CommitOutcome> | null;
}

/** The claim of a request that comes without a nonce. */
export const noNonce: NonceClaim = {
  claimed: Promise.resolve(null),
  decided: Promise.resolve({ refused: null, commit: null }),
};

/** Check 7: claims the nonce in the region that received the request. */
export function claimNonce(
  deps: { readonly actors: ActorSystem; readonly region: string },
  caller: Caller,
): NonceClaim {
  const command: IntegrationKeyCommand = {
    type: "nonce.claim",
    nonce: caller.nonce,
    expires_ms: caller.expiresMs,
  };
  const asked = deps.actors.askSpeculative(nonceRef(caller.key.key_id, deps.region), command);
  const claimed = asked.reply.then(refusalOf);
  const decided = asked.decided.then(({ reply, commit }) => ({ refused: refusalOf(reply), commit }));
  // A caller that stops waiting, because its own work failed, has answered with that failure; nobody handles the
  // claim's.
  claimed.catch(() => {});
  decided.catch(() => {});
  return { claimed, decided };
}

function refusalOf({ status }: NonceReply): Refused | null {
  if (status === "claimed") return null;
  return status === "expired"
    ? refused(problem("signature_expired", "The signature has expired; sign the request again."))
    : refused(
        problem(
          "nonce_reused",
          "This nonce was used with this key before; sign the request again with a fresh one.",
        ),
      );
}
