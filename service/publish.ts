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
// judged (authenticate.ts). {@link publishBatch} proceeds in this order.
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

import { businessRef, keyRef, pushRef } from "../actors/messages/refs.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { problem } from "../protocol/problem.ts";
import { acceptPush } from "./accept-push.ts";
import { isRefused, type Outcome, refused, refusedAs } from "./answer.ts";
import type { AsTable } from "./as-table.ts";
import type { Caller } from "./caller.ts";
import { capRefused, notCharged, seqRefused } from "./charge-refused.ts";
import { type FindMandateDeps, findMandate } from "./find-mandate.ts";
import { readIssuances } from "./home-evidence.ts";
import { answerOnce, type IdempotencyDeps } from "./idempotency.ts";
import { checkScope } from "./mandate-scope.ts";
import { decideOwnNames } from "./own-names.ts";
import { type AdmitDeps, admit, notAdmitted } from "./publish-admit.ts";
import { answerBatch } from "./publish-answer.ts";
import { openBatch, publishedType } from "./publish-batch.ts";
import { type Pause, parsePublishBody } from "./publish-body.ts";
import { claimOf } from "./publish-claim.ts";
import { checkStanding, judgeVerified } from "./publish-standing.ts";
import { batchFacts } from "./push-facts.ts";
import { wholeStatus } from "./push-status.ts";
import { sealRefused } from "./seal-refused.ts";
import { type StagingDeps, stageBatch } from "./staged-batch.ts";

export interface PublishDeps
  extends FindMandateDeps,
    AdmitDeps,
    StagingDeps,
    Pick<IdempotencyDeps, "timers"> {
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /** The maximum time from staging to acceptance (default 1 h; A1 in accept-push.ts). */
  readonly acceptWithinMs?: number | undefined;
  /** The operator's table of autonomous systems as it is now; null if there is none. */
  readonly asTable: () => AsTable | null;
  /** The pause between two steps of reading a body (B1 in publish-body.ts). */
  readonly pause: Pause;
}

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
  const { actors, clock } = deps;
  const { party, key } = request.caller;
  const { contentDigest: digest, body: sent } = request;
  const [home, own] = [businessRef(party.uuid), keyRef(party.uuid, key.key_id)];
  const claim = claimOf(actors, request, own);
  if (isRefused(claim)) return claim;
  return answerOnce(deps, claim, async () => {
    if (request.collection !== publishedType) return notPublishable;
    // The key, its mandate and what that covers.
    const askedAtMs = clock.now();
    const facts = await actors.ask(home, { type: "publishing.facts", key_id: key.key_id });
    const mandate = await findMandate(deps, party.uuid, { facts, nowMs: clock.now() });
    if (isRefused(mandate)) return mandate;
    const { caps, countries } = mandate.sealed.scope;
    const outside = checkScope(mandate.sealed, request, deps.asTable());
    if (outside) return outside;
    const capped = await actors.ask(own, { type: "caps.check", digest, content_length: sent.length, caps });
    if (capped.status === "over") return capRefused(capped);
    const verified = judgeVerified(facts);
    if (!verified.ok) return refusedAs(verified);
    // The body: batch seal and Merkle root.
    const body = await parsePublishBody(sent, deps.pause);
    if (isRefused(body)) return body;
    const batch = await openBatch(deps, request, body);
    if (isRefused(batch)) return batch;
    const { seal, pushId } = batch;
    const push = pushRef(party.uuid, pushId);
    const records = body.records.length;
    const known = await actors.ask(push, wholeStatus);
    if (known !== null) return answerBatch(actors, push, { records, report: known });
    // For a batch that was not accepted before (W3): the moment of sealing, and seq.
    if (seal.key_id !== key.key_id) return sealRefused("key_mismatch", notTheCallers);
    const issuances = await readIssuances(actors, party.uuid, facts.certificate, seal.cert_id);
    const question = { facts, issuances, mandate: mandate.sealed, key, nowMs: clock.now() };
    const fallen = checkStanding(seal, question);
    const use = { seq: seal.seq, push_id: pushId };
    const used = await actors.ask(own, { type: "seq.check", ...use });
    // Charged before a crash and resent: the standing was judged when it was charged.
    if (fallen && used.status !== "known") return fallen;
    if (used.status === "seq_not_increasing") return seqRefused(used);
    // All checks have passed: the batch is stored, charged, admitted and accepted (W2).
    const staged = await stageBatch(deps, push, { body, batch });
    const charge = { ...use, digest, records, bytes: sent.length, caps };
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
    const receivedAtMs = facts.at_ms ?? askedAtMs;
    const accepted = batchFacts(request, { batch, mandate, receivedAtMs, ownNames, number });
    const within = { stagingAtMs: staged.stagingAtMs, acceptWithinMs: deps.acceptWithinMs };
    const report = await acceptPush(actors, push, { facts: accepted, held_reasons, ...within });
    return answerBatch(actors, push, { records, report });
  });
}

const notPublishable = refused(
  problem("type_not_publishable", "Only products are published through this interface."),
);
const notTheCallers =
  "The seal's key_id is not the key that signed the request, and this batch was not accepted before.";
