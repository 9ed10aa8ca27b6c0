// The checks of a publishing request that precede its content, for batches and for imports of a file: key, mandate,
// what that covers, its caps, and whether the business may publish at all. The table in publish.ts shows them in order.

import type { PublishingFacts } from "../actors/messages/business.ts";
import { businessRef, keyRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import type { MandateCaps } from "../protocol/mandate.ts";
import { isRefused, type Refused, refusedAs } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { capRefused } from "./charge-refused.ts";
import { type FindMandateDeps, findMandates, type Mandates } from "./find-mandate.ts";
import { capsOf, fromSource, ofType } from "./mandate-scope.ts";
import { judgeCertified, judgeVerified } from "./publish-standing.ts";

export interface GateDeps extends FindMandateDeps {
  readonly clock: Clock;
}

export interface GateRequest {
  readonly caller: Caller;
  readonly collection: string;
  readonly contentDigest: string;
  readonly body: Uint8Array;
  readonly sourceIp: string | null;
}

/** What is known of a request that may publish. */
export interface Gate {
  readonly facts: PublishingFacts;
  /** Those that allow the type and the source. */
  readonly mandates: Mandates;
  /** The largest of these mandates. */
  readonly caps: MandateCaps;
}

type Allowed = Pick<Gate, "mandates" | "caps">;

/** What is known of a request that may remove: without a mandate only from a business whose certificate has ended. */
export interface RemovalGate extends Pick<Gate, "facts"> {
  readonly allowed: Allowed | null;
}

export async function passGate(deps: GateDeps, request: GateRequest): Promise<Gate | Refused> {
  const { facts, inForce } = await readGate(deps, request);
  if (isRefused(inForce)) return inForce;
  const covering = ofType(inForce, request.collection);
  if (isRefused(covering)) return covering;
  const allowed = await allowedNow(deps, request, covering);
  if (isRefused(allowed)) return allowed;
  const verified = judgeVerified(facts);
  return verified.ok ? { facts, ...allowed } : refusedAs(verified);
}

/**
 * What a mandate covers is judged elsewhere (remove-record.ts, V2), and no certificate in force is asked for: what was published,
 * is taken back. Where the certificate has ended, nobody seals mandates any more, so a key without one may deliver the document.
 */
export async function passRemovalGate(
  deps: GateDeps,
  request: Omit<GateRequest, "collection">,
): Promise<RemovalGate | Refused> {
  const { facts, inForce } = await readGate(deps, request);
  const { certificate } = facts;
  const verified = judgeCertified(facts);
  if (isRefused(inForce)) {
    const hasEnded = verified.ok && certificate?.status !== "active" && facts.key === "live";
    return hasEnded ? { facts, allowed: null } : inForce;
  }
  const allowed = await allowedNow(deps, request, inForce);
  if (isRefused(allowed)) return allowed;
  return verified.ok ? { facts, allowed } : refusedAs(verified);
}

type GateCall = Omit<GateRequest, "collection">;

async function readGate(deps: GateDeps, { caller: { party, key } }: GateCall) {
  const question = { type: "publishing.facts", key_id: key.key_id } as const;
  const facts = await deps.actors.ask(businessRef(party.uuid), question);
  return { facts, inForce: await findMandates(deps, party.uuid, { facts, nowMs: deps.clock.now() }) };
}

/** The mandates that allow the source of the request, if it is within their caps. */
async function allowedNow(deps: GateDeps, request: GateCall, covering: Mandates): Promise<Allowed | Refused> {
  const { party, key } = request.caller;
  const mandates = fromSource(covering, request.sourceIp, deps.asTable());
  if (isRefused(mandates)) return mandates;
  const caps = capsOf(mandates);
  const bytes = request.body.length;
  const capped = await deps.actors.ask(keyRef(party.uuid, key.key_id), {
    type: "caps.check",
    digest: request.contentDigest,
    content_length: bytes,
    caps,
  });
  return capped.status === "over" ? capRefused(capped, { bytes, caps }) : { mandates, caps };
}
