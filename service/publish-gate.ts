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
import { judgeVerified } from "./publish-standing.ts";

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

/** Without a `collection`, what the mandate covers is judged elsewhere (remove-record.ts, V2). */
export async function passGate(
  deps: GateDeps,
  request: Omit<GateRequest, "collection"> & { readonly collection: string | null },
): Promise<Gate | Refused> {
  const { actors, clock } = deps;
  const { party, key } = request.caller;
  const question = { type: "publishing.facts", key_id: key.key_id } as const;
  const facts = await actors.ask(businessRef(party.uuid), question);
  const inForce = await findMandates(deps, party.uuid, { facts, nowMs: clock.now() });
  if (isRefused(inForce)) return inForce;
  const { collection, sourceIp } = request;
  const covering = collection === null ? inForce : ofType(inForce, collection);
  if (isRefused(covering)) return covering;
  const mandates = fromSource(covering, sourceIp, deps.asTable());
  if (isRefused(mandates)) return mandates;
  const caps = capsOf(mandates);
  const bytes = request.body.length;
  const capped = await actors.ask(keyRef(party.uuid, key.key_id), {
    type: "caps.check",
    digest: request.contentDigest,
    content_length: bytes,
    caps,
  });
  if (capped.status === "over") return capRefused(capped, { bytes, caps });
  const verified = judgeVerified(facts);
  return verified.ok ? { facts, mandates, caps } : refusedAs(verified);
}
