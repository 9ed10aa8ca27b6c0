// Accepting an AI policy: everything that a verifier judges is judged by the verifier's own functions, in addition to
// what only the receiver of a seal can know. What is stored verifies for everybody.

import type { PolicyFacts, PublishingFacts } from "../../actors/messages/business.ts";
import type { RegisterAct } from "../../actors/messages/protocol.ts";
import type { Actors } from "../../actors/system/definition.ts";
import type { Platform } from "../../crypto/port.ts";
import { parseAiPolicy, policyBits } from "../../protocol/ai-policy.ts";
import { toBase64, utf8 } from "../../protocol/bytes.ts";
import type { Envelope } from "../../protocol/dsse.ts";
import { formatTimestamp, recordIdOf } from "../../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { openSeal, type SealV2 } from "../../protocol/seal.ts";
import { verifySeal } from "../../verifier/seal.ts";
import type { Trust } from "../../verifier/trust.ts";
import {
  judgeKnown,
  judgeVerified,
  keysOf,
  mayBind,
  namesWhatIsInForce,
  readEntry,
  readIssuances,
  readSigner,
  receivedInTime,
  type Sealed,
} from "./home-evidence.ts";

/** What registrations are judged by. */
export interface RegisteringServices extends Platform, Actors {
  readonly trust: () => Trust;
  /** The secret for record ids: it makes them unguessable and never rotates. */
  readonly recordIdKey: Uint8Array;
}

export interface PolicyRequest {
  readonly uuid: string;
  /** The exact bytes of the AI policy record. */
  readonly record: Uint8Array;
  readonly seal: Envelope;
  /**
   * A timestamp from which the policy has been in force, instead of now. It is for opening a business that was in
   * force elsewhere before, as the samples were; refused once the business has published anything, because that would
   * invalidate what was published under another version.
   */
  readonly inForceSince?: string;
  /** The person who sealed it at the portal. */
  readonly act?: RegisterAct;
}

/** What the register is to accept, or has accepted before; otherwise the reason of the seal, or why the business may not. */
export async function judgePolicy(
  deps: RegisteringServices,
  request: PolicyRequest,
  facts: PublishingFacts,
): Promise<Result<{ readonly policy: PolicyFacts; readonly isKnown: boolean }>> {
  const opened = openSeal(request.seal);
  if (!opened.ok) return opened;
  const seal = opened.value;
  if (seal.v !== 2) return refuse("version_unknown", "An AI policy must be sealed in format 2.");
  const name = `policy/${request.uuid}/${seal.ai_policy_version}`;
  const known = await readEntry<PolicyFacts>(deps.actors, request.uuid, name);
  const key = await readSigner(deps.actors, request.uuid, request.seal);
  const sealed = { seal, key };
  const { newest } = facts.policy;
  if (known !== null) return judgeAgain(deps, request, { ...sealed, policy: known, newest });
  const judged = await judgeNew(deps, request, { ...sealed, facts });
  if (!judged.ok) return judged;
  const policy = policyFacts(deps, request, seal);
  return policy.ok ? ok({ policy: policy.value, isKnown: false }) : policy;
}

/**
 * The same record under any seal of the business has already been accepted; the first seal is kept. If that one does not stand any
 * more, the record is sealed as a version of its own.
 */
function judgeAgain(
  deps: RegisteringServices,
  { uuid, record, seal: envelope }: PolicyRequest,
  { policy, newest, ...sealed }: Sealed & { readonly policy: PolicyFacts; readonly newest: number },
): Result<{ readonly policy: PolicyFacts; readonly isKnown: true }> {
  const known = judgeKnown(deps, { uuid, record, envelope }, sealed);
  if (!known.ok) return known;
  const { version } = policy;
  if (policy.record_base64 !== toBase64(record))
    return refuse(
      "ai_policy_version_used",
      `AI policy version ${version} is a different record; the next version is ${newest + 1}.`,
    );
  if (policy.fallen_at === undefined) return ok({ policy, isKnown: true });
  const detail = `AI policy version ${version} does not stand any more, by its seal; seal the record again as version ${newest + 1}.`;
  return refuse("ai_policy_version_used", detail);
}

async function judgeNew(
  deps: RegisteringServices,
  { uuid, record, seal: envelope }: PolicyRequest,
  { seal, key, facts }: Sealed & { readonly facts: PublishingFacts },
): Promise<Result<unknown>> {
  const verified = judgeVerified(facts);
  if (!verified.ok || facts.certificate === null) return verified;
  const nowMs = deps.clock.now();
  const verdict = verifySeal(deps.trust(), {
    document: "ai_policy",
    bytes: record,
    seal: envelope,
    certificates: await readIssuances(deps.actors, uuid, facts.certificate, seal.cert_id),
    keys: { ...keysOf(uuid, [key]), cert_id: facts.certificate.cert_id },
    received: { at: formatTimestamp(nowMs) },
  });
  if (!verdict.ok || key === null) return verdict;
  const inTime = receivedInTime(seal, nowMs);
  if (!inTime.ok) return inTime;
  const allowed = mayBind(key, nowMs);
  if (!allowed.ok) return allowed;
  const next = facts.policy.newest + 1;
  // Its seal names the version that it creates; everything else must be what is in force.
  const named = { cert_id: seal.cert_id, ai_policy_version: seal.ai_policy_version };
  return namesWhatIsInForce(named, { ...facts, policy: { ...facts.policy, version: next } });
}

function policyFacts(
  deps: RegisteringServices,
  { uuid, record, seal: envelope }: PolicyRequest,
  seal: SealV2,
) {
  const parsed = parseAiPolicy(record);
  if (!parsed.ok) return parsed;
  const { use, action, blocked } = policyBits(parsed.value);
  return ok({
    business_uuid: uuid,
    version: seal.ai_policy_version,
    record_id: recordIdOf(
      "ai_policy",
      deps.crypto.hmacSha256(deps.recordIdKey, utf8(`${uuid}\nai_policy\n`)),
    ),
    record_base64: toBase64(record),
    seal: JSON.stringify(envelope),
    // The exact time is decided by the business's home.
    live_from: formatTimestamp(deps.clock.now()),
    bits: { use, action, blocked },
  });
}
