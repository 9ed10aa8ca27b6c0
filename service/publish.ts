// POST /v1/publish/{type}: a sealed batch becomes a push, at most once.
//   W1. Checks are made in the specification's order, and nothing is stored before the mandate, the seal and seq have been
//       judged. The last ones (charge, verified business, fair use) are judged once the batch is staged, by the actors that count:
//       what they refuse is never accepted, its staged bytes are dropped, and one that fair use refuses is given back its charge.
//   W2. Record bytes are stored before seq is used up, and seq before the push exists; each step is idempotent, so a
//       resend repairs a crash between any two.
//   W3. An existing push skips seq, skew, certificate, AI policy version and, in the same body, caps: it is resumed
//       under any key.
//   W4. A batch of up to 50 records is answered once its records are settled: stored, with their versions. An index is
//       waited for briefly and never required (C3 in actors/push/process-chunk.ts). A batch that is not settled in time
//       is refused as unavailable, and sending it again continues it.
//
// The table lists what is asked of which actor, and what each step refuses. The signature and its key have already been
// judged (authenticate.ts). {@link publishBatch} proceeds in this order, with the steps that it shares with the import of
// a file (publish-gate.ts, accept-batch.ts) and with a validation (judge-batch.ts).
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
//   | the charge, of one not admitted   | key      | push.uncharge                           | |
//   | acceptance                        | push     | push.accept                             | unavailable |
//   | settlement, of up to 50 records   | push     | push.await                              | unavailable |
//   | what was refused, for its attempts | business | refusal.keep                            | |
//   | the answer                        | key      | idempotency.settle, or .release         | |

import { keyRef } from "../actors/messages/refs.ts";
import { type AcceptDeps, acceptBatch } from "./accept-batch.ts";
import { isRefused, type Outcome } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { type JudgeDeps, judgeBatch } from "./judge-batch.ts";
import { answerBatch } from "./publish-answer.ts";
import { claimOf } from "./publish-claim.ts";
import { keepRefused } from "./refused-batch.ts";
import { type StagingDeps, stageBatch } from "./staged-batch.ts";

export interface PublishDeps extends JudgeDeps, AcceptDeps, StagingDeps, Pick<IdempotencyDeps, "timers"> {}

export interface PublishRequest {
  readonly caller: Caller;
  /** The collection named in the path, already mapped: `products`, `business_files`… */
  readonly collection: string;
  readonly idempotencyKey: string | null;
  /** The value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  /** The address that the request comes from; null if it cannot be determined, which no allow-list contains. */
  readonly sourceIp: string | null;
}

export async function publishBatch(deps: PublishDeps, request: PublishRequest): Promise<Outcome> {
  const { actors } = deps;
  const { party, key } = request.caller;
  const claim = claimOf(actors, request, keyRef(party.uuid, key.key_id));
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    const judged = await judgeBatch(deps, request);
    if (isRefused(judged)) return keepRefused(deps, request, judged);
    const { gate, body, batch, push } = judged;
    const records = body.records.length;
    const accepted = await acceptBatch(deps, request, gate, {
      sealed: batch,
      source: { source: "api" },
      bytes: request.body.length,
      stage: () => stageBatch(deps, push, { body, batch }),
      records: body.records,
    });
    if (isRefused(accepted)) return keepRefused(deps, { ...request, sealed: batch, records }, accepted);
    return answerBatch(deps, push, { records, report: accepted.report });
  });
}
