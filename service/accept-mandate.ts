// Accepting a mandate: it is judged by the verifier's own function, so that whatever the register holds verifies for
// everybody.

import type { ListedMandate, MandateFacts } from "../actors/messages/business.ts";
import type { ActorSystem } from "../actors/system/definition.ts";
import type { Clock } from "../crypto/port.ts";
import type { JsonValue } from "../protocol/canonical-json.ts";
import type { Envelope } from "../protocol/dsse.ts";
import { formatTimestamp } from "../protocol/identifiers.ts";
import { openMandate } from "../protocol/mandate.ts";
import { ok, type Result } from "../protocol/result.ts";
import { verifyMandate } from "../verifier/mandate.ts";
import type { Trust } from "../verifier/trust.ts";
import { readSigner } from "./home-evidence.ts";
import { keysOf } from "./published-keys.ts";
import { mayBind } from "./sealing-key.ts";

export interface AcceptMandateDeps {
  readonly actors: ActorSystem;
  readonly clock: Clock;
  readonly trust: () => Trust;
}

/**
 * The other mandates of the key that have neither ended nor been revoked, the newest first: a further one stands beside them and
 * takes nothing away from them.
 */
export function besides(
  mandates: readonly ListedMandate[],
  mandateId: string,
  nowMs: number,
): readonly ListedMandate[] {
  const now = formatTimestamp(nowMs);
  return mandates.filter(
    ({ mandate_id, revoked_at, valid_until }) =>
      mandate_id !== mandateId && revoked_at === null && valid_until > now,
  );
}

/** What the register is to accept; otherwise the reason its seal is refused, or why its sealer may not seal it. */
export async function judgeMandate(
  { actors, clock, trust }: AcceptMandateDeps,
  envelope: Envelope,
): Promise<Result<MandateFacts>> {
  const opened = openMandate(envelope);
  if (!opened.ok) return opened;
  const uuid = opened.value.business_uuid;
  const key = await readSigner(actors, uuid, envelope);
  const verified = verifyMandate(trust(), keysOf(uuid, [key]), envelope as unknown as JsonValue);
  if (!verified.ok) return verified;
  const nowMs = clock.now();
  const allowed = key === null ? ok(undefined) : mayBind(key, nowMs);
  if (!allowed.ok) return allowed;
  const { v: _version, ...mandate } = verified.value;
  const accepted_at = formatTimestamp(nowMs);
  return ok({ ...mandate, revoked_at: null, accepted_at, envelope: JSON.stringify(envelope) });
}
