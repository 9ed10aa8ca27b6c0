// The checks of a sealed batch that come before anything of it is stored (W1 in publish.ts), for publishing and for
// validating alike. They change nothing.

import type { PublishingFacts } from "../actors/messages/business.ts";
import type { PushReport } from "../actors/messages/push.ts";
import { type ActorRef, businessRef, keyRef, pushRef } from "../actors/messages/refs.ts";
import type { Clock, CryptoPort } from "../crypto/port.ts";
import { problem } from "../protocol/problem.ts";
import { isRefused, type Refused, refused, refusedAs } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { capRefused, seqRefused } from "./charge-refused.ts";
import { type FindMandateDeps, findMandate, type StandingMandate } from "./find-mandate.ts";
import { readIssuances } from "./home-evidence.ts";
import { checkScope } from "./mandate-scope.ts";
import { type Batch, openBatch, publishedType } from "./publish-batch.ts";
import { type Pause, type PublishBody, parsePublishBody } from "./publish-body.ts";
import { checkStanding, judgeVerified } from "./publish-standing.ts";
import { wholeStatus } from "./push-status.ts";
import { sealRefused } from "./seal-refused.ts";

export interface JudgeDeps extends FindMandateDeps {
  readonly crypto: CryptoPort;
  readonly clock: Clock;
  /** The pause between two steps of reading a body (B1 in publish-body.ts). */
  readonly pause: Pause;
}

export interface SentBatch {
  readonly caller: Caller;
  /** The collection named in the path, already mapped: `products`, `business_files`… */
  readonly collection: string;
  /** The value of the verified Content-Digest header. */
  readonly contentDigest: string;
  readonly body: Uint8Array;
  /** The address that the request comes from; null if it cannot be determined, which no allow-list contains. */
  readonly sourceIp: string | null;
}

export interface JudgedBatch {
  readonly facts: PublishingFacts;
  readonly mandate: StandingMandate;
  readonly body: PublishBody;
  readonly batch: Batch;
  readonly push: ActorRef<"push">;
  /** When the request was received, in Unix milliseconds, by the home's clock. */
  readonly receivedAtMs: number;
  /** The push, if this batch was accepted before; the checks after it were not made then (W3). */
  readonly known: PushReport | null;
}

export async function judgeBatch(deps: JudgeDeps, request: SentBatch): Promise<JudgedBatch | Refused> {
  const { actors, clock } = deps;
  const { party, key } = request.caller;
  const { contentDigest: digest, body: sent } = request;
  const [home, own] = [businessRef(party.uuid), keyRef(party.uuid, key.key_id)];
  if (request.collection !== publishedType) return notPublishable;
  // The key, its mandate and what that covers.
  const askedAtMs = clock.now();
  const facts = await actors.ask(home, { type: "publishing.facts", key_id: key.key_id });
  const mandate = await findMandate(deps, party.uuid, { facts, nowMs: clock.now() });
  if (isRefused(mandate)) return mandate;
  const { caps } = mandate.sealed.scope;
  const outside = checkScope(mandate.sealed, request);
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
  const known = await actors.ask(push, wholeStatus);
  const receivedAtMs = facts.at_ms ?? askedAtMs;
  const judged: JudgedBatch = { facts, mandate, body, batch, push, receivedAtMs, known };
  if (known !== null) return judged;
  // For a batch that was not accepted before (W3): the moment of sealing, and seq.
  if (seal.key_id !== key.key_id) return sealRefused("key_mismatch", notTheCallers);
  const issuances = await readIssuances(actors, party.uuid, facts.certificate, seal.cert_id);
  const question = { facts, issuances, mandate: mandate.sealed, key, nowMs: clock.now() };
  const fallen = checkStanding(seal, question);
  const used = await actors.ask(own, { type: "seq.check", seq: seal.seq, push_id: pushId });
  // Charged before a crash and resent: the standing was judged when it was charged.
  if (fallen && used.status !== "known") return fallen;
  if (used.status === "seq_not_increasing") return seqRefused(used);
  return judged;
}

const notPublishable = refused(
  problem("type_not_publishable", "Only products are published through this interface."),
);
const notTheCallers =
  "The seal's key_id is not the key that signed the request, and this batch was not accepted before.";
