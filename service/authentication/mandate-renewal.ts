// Sandbox: before a mandate of the maximum lifetime ends, it is succeeded by another one of the same scope, so that a
// key in use stays in use. There is no portal in the sandbox, so the key that it holds for the business seals the
// successor.
//   M1. Only the newest mandate of a live key is succeeded, and only if it was not revoked and was given for the maximum
//       lifetime: one given for less is meant to end.
//   M2. The successor's name is derived from the mandate before it, so nodes that renew at the same time create only
//       one.
//   M3. A request waits only if its mandate has ended, or for the first check of its key in this process; otherwise it
//       proceeds in parallel.

import type { MandateFacts, PublishingFacts } from "../../actors/messages/business.ts";
import { payloadTypes } from "../../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../../protocol/identifiers.ts";
import { mandateLifeMaxMs, sealedAtSkewMs } from "../../protocol/limits.ts";
import { mandatePayload } from "../../protocol/mandate.ts";
import { BoundedMap } from "../../std/bounded-map.ts";
import { RegisterRefused } from "../register/parties.ts";
import { signEnvelope } from "../register/service-keys.ts";
import { ensureHostedKey, type SandboxKeysDeps } from "./sandbox-grants.ts";

/** A mandate that ends sooner than this is renewed. */
export const renewedBeforeEndMs = 30 * 86_400_000;
/** The time between two checks of a key that has no mandate to renew, or whose check failed. */
const lookAgainMs = 60_000;
const keysKeptMax = 10_000;

type Mandate = Omit<MandateFacts, "envelope">;

/** When the newest mandate in force ends, in Unix milliseconds; null if none is in force. */
export type RenewMandate = (uuid: string, keyId: string) => Promise<number | null>;

/** Renews the key's newest mandate if that is due (M1, M2); idempotent. */
export function createMandateRenewal(deps: SandboxKeysDeps): RenewMandate {
  return async (uuid, keyId) => {
    const facts = await deps.parties.facts(uuid, keyId);
    const nowMs = deps.clock.now();
    const due = mandateToFollow(facts, nowMs);
    if (due === null) return endInForce(facts, nowMs);
    await follow(deps, due, nowMs);
    return endInForce(await deps.parties.facts(uuid, keyId), nowMs);
  };
}

function mandateToFollow(facts: PublishingFacts, nowMs: number): Mandate | null {
  const [newest] = facts.mandates;
  if (facts.key !== "live" || facts.certificate?.status !== "active") return null;
  if (newest === undefined || newest.revoked_at !== null) return null;
  const untilMs = parseTimestamp(newest.valid_until) ?? 0;
  const isOfLongestLife = untilMs - (parseTimestamp(newest.valid_from) ?? untilMs) === mandateLifeMaxMs;
  return isOfLongestLife && untilMs - nowMs < renewedBeforeEndMs ? newest : null;
}

function endInForce({ key, mandates }: PublishingFacts, nowMs: number): number | null {
  const ends = mandates
    .filter((each) => each.revoked_at === null && (parseTimestamp(each.valid_from) ?? nowMs + 1) <= nowMs)
    .map((each) => parseTimestamp(each.valid_until) ?? 0)
    .filter((untilMs) => untilMs > nowMs);
  return key === "live" && ends.length > 0 ? Math.max(...ends) : null;
}

async function follow(deps: SandboxKeysDeps, before: Mandate, nowMs: number): Promise<void> {
  // What was sealed a moment ago is still in flight, and is judged by the newest mandate.
  const fromMs = nowMs - sealedAtSkewMs;
  const hosted = await ensureHostedKey(deps, before.business_uuid, fromMs);
  const payload = mandatePayload({
    v: 1,
    mandate_id: successorOf(before),
    business_uuid: before.business_uuid,
    key_id: before.key_id,
    scope: before.scope,
    valid_from: formatTimestamp(fromMs),
    valid_until: formatTimestamp(fromMs + mandateLifeMaxMs),
  });
  try {
    await deps.parties.acceptMandate(await signEnvelope(payloadTypes["mandate.v1"], payload, [hosted]));
  } catch (error) {
    // Another node has created it, or the key has ended: the next check sees either.
    if (!(error instanceof RegisterRefused)) throw error;
  }
}

/** `mdt_<key_id>_<YYYYMMDDhhmmssSSS>`: the time is when the previous mandate ends. */
function successorOf({ key_id: keyId, valid_until: until }: Mandate): string {
  return `mdt_${keyId}_${until.replaceAll(/[^0-9]/g, "")}`;
}

/** Maintains the mandate of a key that is about to publish; null if there is nothing to wait for (M3). */
export type KeepMandate = (uuid: string, keyId: string) => Promise<void> | null;

interface Known {
  /** When to check again. */
  readonly dueMs: number;
  /** When the mandate ends; from then on a request waits for the check. */
  readonly endsMs: number;
}

/** Has the mandate of a key renewed before it ends (M1, M2). */
export function createMandateKeeper(renew: RenewMandate, clock: SandboxKeysDeps["clock"]): KeepMandate {
  const known = new BoundedMap<string, Known>(keysKeptMax);
  const looking = new Map<string, Promise<void>>();
  const look = async (uuid: string, keyId: string): Promise<void> => {
    // If nothing was learned here, what publishing finds out determines the answer.
    const endsMs = await renew(uuid, keyId).catch(() => null);
    const nowMs = clock.now();
    const againMs = nowMs + lookAgainMs;
    if (endsMs === null) known.set(keyId, { dueMs: againMs, endsMs: againMs });
    else known.set(keyId, { dueMs: Math.max(againMs, endsMs - renewedBeforeEndMs), endsMs });
  };
  return (uuid, keyId) => {
    const nowMs = clock.now();
    const state = known.get(keyId);
    if (state !== undefined && nowMs < state.dueMs) return null;
    const begun = looking.get(keyId) ?? look(uuid, keyId).finally(() => looking.delete(keyId));
    looking.set(keyId, begun);
    return state === undefined || nowMs >= state.endsMs ? begun : null;
  };
}
