// The checks of a publishing request that precede its content, for batches and for imports of a file: key, mandate,
// what that covers, its caps, and whether the business may publish at all. The table in publish.ts shows them in order.

import type { PublishingFacts } from "../actors/messages/business.ts";
import { businessRef, keyRef } from "../actors/messages/refs.ts";
import type { Clock } from "../crypto/port.ts";
import { isRefused, type Refused, refusedAs } from "./answer.ts";
import type { Caller } from "./caller.ts";
import { capRefused } from "./charge-refused.ts";
import { type FindMandateDeps, findMandate, type StandingMandate } from "./find-mandate.ts";
import { checkSource, checkType } from "./mandate-scope.ts";
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
  readonly mandate: StandingMandate;
}

/** What is known of a request that may remove: without a mandate only from a business whose certificate has ended. */
export interface RemovalGate extends Omit<Gate, "mandate"> {
  readonly mandate: StandingMandate | null;
}

export async function passGate(deps: GateDeps, request: GateRequest): Promise<Gate | Refused> {
  const { facts, mandate } = await readGate(deps, request);
  if (isRefused(mandate)) return mandate;
  const outside =
    checkType(mandate.sealed, request.collection) ?? (await outsideMandate(deps, request, mandate));
  if (outside) return outside;
  const verified = judgeVerified(facts);
  return verified.ok ? { facts, mandate } : refusedAs(verified);
}

/**
 * What the mandate covers is judged elsewhere (remove-record.ts, V2), and no certificate in force is asked for: what was published,
 * is taken back. Where the certificate has ended, nobody seals mandates any more, so a key without one may deliver the document.
 */
export async function passRemovalGate(
  deps: GateDeps,
  request: Omit<GateRequest, "collection">,
): Promise<RemovalGate | Refused> {
  const { facts, mandate } = await readGate(deps, request);
  const { certificate } = facts;
  const verified = judgeCertified(facts);
  if (isRefused(mandate)) {
    const hasEnded = verified.ok && certificate?.status !== "active" && facts.key === "live";
    return hasEnded ? { facts, mandate: null } : mandate;
  }
  const outside = await outsideMandate(deps, request, mandate);
  if (outside) return outside;
  return verified.ok ? { facts, mandate } : refusedAs(verified);
}

type GateCall = Omit<GateRequest, "collection">;

async function readGate(deps: GateDeps, { caller: { party, key } }: GateCall) {
  const question = { type: "publishing.facts", key_id: key.key_id } as const;
  const facts = await deps.actors.ask(businessRef(party.uuid), question);
  return { facts, mandate: await findMandate(deps, party.uuid, { facts, nowMs: deps.clock.now() }) };
}

/** The source of the request, and the caps. */
async function outsideMandate(
  deps: GateDeps,
  request: GateCall,
  mandate: StandingMandate,
): Promise<Refused | null> {
  const outside = checkSource(mandate.sealed, request.sourceIp, deps.asTable());
  if (outside) return outside;
  const { party, key } = request.caller;
  const { caps } = mandate.sealed.scope;
  const bytes = request.body.length;
  const capped = await deps.actors.ask(keyRef(party.uuid, key.key_id), {
    type: "caps.check",
    digest: request.contentDigest,
    content_length: bytes,
    caps,
  });
  return capped.status === "over" ? capRefused(capped, { bytes, caps }) : null;
}
