// Sandbox: a mandate of the longest life is followed by another one of the same scope before it ends, so that a key which
// is in use stays in use. Nobody has a portal there, so the key that the sandbox holds for the business seals it.
//   M1. Only the newest mandate of a live key is followed, and only if it was not revoked and was given for the longest life
//       there is: one that was given for less is meant to end.
//   M2. The successor's name follows from the mandate that it follows, so nodes that renew at once make one and no more.
//   M3. A request waits only where its mandate has ended, and once in a process for each key; otherwise it goes on meanwhile.

import type { MandateFacts, PublishingFacts } from "../actors/messages/business.ts";
import { payloadTypes } from "../protocol/dsse.ts";
import { formatTimestamp, parseTimestamp } from "../protocol/identifiers.ts";
import { mandateLifeMaxMs, mandatePayload } from "../protocol/mandate.ts";
import { sealedAtSkewMs } from "../protocol/seal.ts";
import { BoundedMap } from "../std/bounded-map.ts";
import { RegisterRefused } from "./parties.ts";
import { ensureHostedKey, type SandboxKeysDeps } from "./sandbox-keys.ts";
import { signEnvelope } from "./sign-envelope.ts";

/** A mandate that ends sooner is followed by a new one. */
export const renewedBeforeEndMs = 30 * 86_400_000;
/** Between two looks at a key that has no mandate to follow, or whose look failed. */
const lookAgainMs = 60_000;
const keysKeptMax = 10_000;

type Mandate = Omit<MandateFacts, "envelope">;

/** When the newest mandate in force ends, in Unix milliseconds; null where none is in force. */
export type RenewMandate = (uuid: string, keyId: string) => Promise<number | null>;

/** Follows the key's newest mandate where that is due (M1, M2); repeatable. */
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
  // What was sealed a moment ago is still on its way, and is judged by the newest mandate.
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
    // Another node has made it, or the key has ended: both are seen when one looks again.
    if (!(error instanceof RegisterRefused)) throw error;
  }
}

/** `mdt_<key_id>_<YYYYMMDDhhmmssSSS>`: when the one before ends. */
function successorOf({ key_id: keyId, valid_until: until }: Mandate): string {
  return `mdt_${keyId}_${until.replaceAll(/[^0-9]/g, "")}`;
}

/** Sees to the mandate of a key that is about to publish; null where nothing is waited for (M3). */
export type KeepMandate = (uuid: string, keyId: string) => Promise<void> | null;

interface Known {
  /** When to look again. */
  readonly dueMs: number;
  /** When the mandate ends; from then on a request waits for the look. */
  readonly endsMs: number;
}

export function createMandateKeeper(renew: RenewMandate, clock: SandboxKeysDeps["clock"]): KeepMandate {
  const known = new BoundedMap<string, Known>(keysKeptMax);
  const looking = new Map<string, Promise<void>>();
  const look = async (uuid: string, keyId: string): Promise<void> => {
    // Where nothing was found out, what publishing finds out is the answer.
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
