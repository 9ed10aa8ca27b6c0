// A signer for callers that sign one message per request: the messages of a turn are signed together (turn-lists.ts), in the signing
// thread (worker-signer.ts) if there are enough of them.

import { packMessages } from "../protocol/signed-version.ts";
import { ed25519Library } from "./ed25519.ts";
import type { Signer } from "./port.ts";
import { type PrivateJwk, privateKeyOf } from "./private-jwk.ts";
import { createTurnLists } from "./turn-lists.ts";
import { createWorkerSigner, type SigningThread } from "./worker-signer.ts";

/** Like {@link createWorkerSigner}, it takes only an Ed25519 key and throws for any other. */
export function createCoalescingSigner(jwk: PrivateJwk, thread?: SigningThread): Signer {
  const signer = createWorkerSigner(jwk, thread);
  const sign = createTurnLists({
    here: ed25519Library().signerOf(privateKeyOf(jwk)),
    away: (messages: readonly Uint8Array[]) => signer.signMany(packMessages(messages)),
    // Whose turn it is was decided before the answer was made.
    awayMax: Number.POSITIVE_INFINITY,
  });
  return { ...signer, sign: async (message) => sign("", message) };
}
