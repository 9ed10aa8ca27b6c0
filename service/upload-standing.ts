// What the key that asked for an upload may still publish while its file arrives: the key, its mandate, the caps and the
// standing of the business, as for any publishing request. Only the source is not judged: the token may be used anywhere.

import { businessRef, keyRef } from "../actors/messages/refs.ts";
import { isRefused, type Refused, refusedAs } from "./answer.ts";
import { capRefused } from "./charge-refused.ts";
import { findMandates } from "./find-mandate.ts";
import { capsOf, ofType } from "./mandate-scope.ts";
import type { GateDeps } from "./publish-gate.ts";
import { judgeVerified } from "./publish-standing.ts";

export interface Bearer {
  readonly business: string;
  readonly uploadId: string;
  /** The key that asked for the upload. */
  readonly keyId: string;
  readonly collection: string;
  /** How much of the file has arrived. */
  readonly bytes: number;
}

export interface Allowance {
  /** How long the file may become. */
  readonly bytesLeft: number;
}

export async function judgeBearer(
  deps: GateDeps,
  { business, uploadId, keyId, collection, bytes }: Bearer,
): Promise<Allowance | Refused> {
  const { actors, clock } = deps;
  const facts = await actors.ask(businessRef(business), { type: "publishing.facts", key_id: keyId });
  const inForce = await findMandates(deps, business, { facts, nowMs: clock.now() });
  if (isRefused(inForce)) return inForce;
  const mandates = ofType(inForce, collection);
  if (isRefused(mandates)) return mandates;
  const caps = capsOf(mandates);
  const capped = await actors.ask(keyRef(business, keyId), {
    type: "caps.check",
    digest: uploadId,
    content_length: bytes,
    caps,
  });
  if (capped.status === "over") return capRefused(capped, { bytes, caps });
  const verified = judgeVerified(facts);
  return verified.ok ? { bytesLeft: capped.bytes_left } : refusedAs(verified);
}
