// POST /v1/publish/{type}: a sealed batch becomes a push, at most once.
//   W1. Checks are made in the specification's order, and nothing is stored before the last of them.
//   W2. Record bytes are stored before seq is used up, and seq before the push exists; each step is idempotent, so a
//       resend repairs a crash between any two.
//   W3. An existing push skips seq, skew, certificate, AI policy version and, in the same body, caps: it is resumed
//       under any key.
//   W4. A batch of up to 50 records is answered once its records are settled: stored, with their versions. An index is
//       waited for briefly and never required (C3 in actors/push/process-chunk.ts). A batch that is not settled in time
//       is refused as unavailable, and sending it again continues it.
//
// The table lists what is asked of which actor, and what each step refuses. The signature and its key have already been
// judged (authenticate.ts). {@link publishBatch} proceeds in this order; up to the seq it is `judgeBatch` (judge-batch.ts),
// which a validation makes as well.
//   | step                              | asked of | command                                 | refused as |
//   |-----------------------------------|----------|-----------------------------------------|------------|
//   | Idempotency-Key                   | key      | idempotency.begin                       | request_invalid, idempotency_key_reused, idempotency_in_progress |
//   | type                              |          |                                         | type_not_publishable |
//   | key and mandate                   | business | publishing.facts, register.read         | key_unknown, mandate_missing |
//   | what the mandate covers, and whom |          |                                         | out_of_scope, source_not_allowed |
//   | caps of the mandate               | key      | caps.check                              | rate_limited |
//   | verified business                 |          |                                         | business_not_verified |
//   | body                              |          |                                         | request_invalid, record_too_large, seal_invalid |
//   | batch seal, Merkle root           | business | register.read, of another key           | seal_invalid |
//   | whether the push is known (W3)    | push     | push.status                             | |
//   | key, certificate, AI policy       | business | register.read, of an older certificate  | seal_invalid |
//   | seq                               | key      | seq.check                               | seq_not_increasing |
//   | charge, once the batch is stored  | key      | push.charge                             | rate_limited, seq_not_increasing, key_unknown |
//   | fair use and hold                 | business | push.admit                              | rate_limited, business_not_verified |
//   | acceptance                        | push     | push.accept                             | unavailable |
//   | settlement, of up to 50 records   | push     | push.await                              | unavailable |
//   | the answer                        | key      | idempotency.settle, or .release         | |

import { keyRef } from "../actors/messages/refs.ts";
import { acceptPush } from "./accept-push.ts";
import { isRefused, type Outcome } from "./answer.ts";
import { notCharged } from "./charge-refused.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { type JudgeDeps, judgeBatch, type SentBatch } from "./judge-batch.ts";
import { decideOwnNames } from "./own-names.ts";
import { type AdmitDeps, admit, notAdmitted } from "./publish-admit.ts";
import { answerBatch } from "./publish-answer.ts";
import { claimOf } from "./publish-claim.ts";
import { batchFacts } from "./push-facts.ts";
import { type StagingDeps, stageBatch } from "./staged-batch.ts";

export interface PublishDeps extends JudgeDeps, AdmitDeps, StagingDeps, Pick<IdempotencyDeps, "timers"> {
  /** The maximum time from staging to acceptance (default 1 h; A1 in accept-push.ts). */
  readonly acceptWithinMs?: number | undefined;
}

export interface PublishRequest extends SentBatch {
  readonly idempotencyKey: string | null;
}

export async function publishBatch(deps: PublishDeps, request: PublishRequest): Promise<Outcome> {
  const { actors } = deps;
  const { party, key } = request.caller;
  const { contentDigest: digest, body: sent } = request;
  const own = keyRef(party.uuid, key.key_id);
  const claim = claimOf(actors, request, own);
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const judged = await judgeBatch(deps, request);
    if (isRefused(judged)) return judged;
    const { facts, mandate, body, batch, push, receivedAtMs, known } = judged;
    const records = body.records.length;
    if (known !== null) return answerBatch(actors, push, { records, report: known });
    // All checks have passed: the batch is stored, charged, admitted and accepted (W2).
    const { pushId } = batch;
    const { caps, countries } = mandate.sealed.scope;
    const staged = await stageBatch(deps, push, { body, batch });
    const charge = { seq: batch.seal.seq, push_id: pushId, digest, records, bytes: sent.length, caps };
    const charged = await actors.ask(own, { type: "push.charge", ...charge });
    if (charged.status !== "accepted" && charged.status !== "known") return notCharged(staged, charged);
    const ownNames = decideOwnNames(deps.lists, party.uuid, facts);
    const { listings, pending } = facts;
    const admission = {
      businessUuid: party.uuid,
      pushId,
      keyId: key.key_id,
      records: body.records,
      countries,
    };
    const admitted = await admit(deps, { ...admission, ownNames, mayHold: true, listings, pending });
    if (admitted.status !== "admitted") return notAdmitted(staged, admitted);
    const { number, held_reasons } = admitted;
    const accepted = batchFacts(request, { batch, mandate, receivedAtMs, ownNames, number });
    const within = { stagingAtMs: staged.stagingAtMs, acceptWithinMs: deps.acceptWithinMs };
    const report = await acceptPush(actors, push, { facts: accepted, held_reasons, ...within });
    return answerBatch(actors, push, { records, report });
  });
}
