// Does this still stand? A seal was judged whole when the service received it; of all that was judged, only what the register
// says of its key, its certificate and its mandate may change afterwards, and only for the worse: a moment of compromise or an
// end is replaced by an earlier one, never by a later one. So what does not stand any more never stands again.
//   ST1. The rules are the verifier's own (protocol/keys/signatures.ts, certificate.ts, mandate.ts), in the order of verifySeal:
//        for a seal that was accepted, both give the same reason at any later moment (standing.property.test.ts).
//   ST2. An ordinary end of a key or of a mandate takes nothing back that was received before it.

import { earliest, type KeyWindow, windowFault } from "../protocol/keys/signatures.ts";
import type { ReasonCode } from "../protocol/reason-codes.ts";
import { type Refusal, refuse } from "../protocol/result.ts";
import { certificateAt, type Issuances } from "./certificate.ts";
import { mandateEndFault } from "./mandate.ts";

/** What remains to be known of a seal that the service accepted. */
export interface AcceptedSeal {
  readonly key_id: string;
  readonly cert_id: string;
  readonly sealed_at: string;
  readonly received_at: string;
  /** The mandate under which a system sealed; null for a person and a hosted key. */
  readonly mandate_id: string | null;
  /** Whether a sidecar states `received_at`: then everybody knows that the seal was made by then, whatever it says itself. */
  readonly isStated: boolean;
  /** Set for a withdrawal or deletion, which may name a certificate that has ended. */
  readonly mayBeEnded?: true;
}

/** What the register says now of that seal's key, certificate and mandate. */
export interface StandingFacts {
  /** Null for a key that the register does not have. */
  readonly key: KeyWindow | null;
  readonly certificates: Issuances;
  /** Null where the register has none of that id: then the authority is what the sidecar states. */
  readonly mandate: StandingMandate | null;
}

export interface StandingMandate {
  readonly valid_from: string;
  readonly revoked_at: string | null;
  /** The key that sealed the mandate; null for one that the register does not have. */
  readonly sealer: KeyWindow | null;
}

/** Why something does not stand any more. */
export type StandingFault = Refusal<ReasonCode>;

/** Null while it stands. */
export function standingFault(
  seal: AcceptedSeal,
  { key, certificates, mandate }: StandingFacts,
): StandingFault | null {
  const { sealed_at: at, received_at: received } = seal;
  const by = seal.isStated && received < at ? received : at;
  if (key === null) return refuse("key_unknown", "The sealing key is not one of the business.");
  const ended = windowFault(key, at, by) ?? ageFault(key, { stated: received });
  if (ended !== null) return ended;
  const certificate = certificateAt(certificates, seal, by, { mayBeEnded: seal.mayBeEnded === true });
  if (!certificate.ok) return certificate;
  return mandate === null || seal.mandate_id === null ? null : mandateFault(mandate, by);
}

/** A mandate stands by its own seal as well: a passkey that was in other hands before has authorised nothing. */
function mandateFault({ sealer, valid_from, revoked_at }: StandingMandate, by: string): StandingFault | null {
  if (sealer === null)
    return refuse("key_unknown", "The key that sealed the mandate is not one of the business.");
  return windowFault(sealer, valid_from) ?? mandateEndFault(revoked_at, by);
}

// How old a seal is when its key ended afterwards. A thief can write anything into `sealed_at`: once a key is declared
// compromised, only what the service received before that moment is known to come from the business.

/** What is known about when the service received a seal. */
export interface SealAge {
  /** The time stated by a sidecar that counts; null without one. */
  readonly stated: string | null;
  /** The time in the service's own records, null if it has none; absent if the service was not asked. */
  readonly received?: { readonly at: string | null } | undefined;
}

/**
 * Null when the key has not ended, or the seal was received before the end. Otherwise a seal of a compromised key is
 * `key_compromised`. A seal of a key that was only revoked, with no claim that it was ever in other hands, is
 * `key_not_valid`, and only if the service was asked and never received it: it receives nothing from a key that is not in
 * force, and its clocks may differ by more than the moment between a receipt and a revocation.
 */
export function ageFault(
  key: KeyWindow,
  { stated, received }: SealAge,
): Refusal<"key_compromised" | "key_not_valid"> | null {
  const at = earliest(stated, received?.at ?? null);
  const isNotBefore = (end: string | null): end is string => end !== null && (at === null || at >= end);
  const why =
    at === null ? "nothing shows that the seal was received before" : `the seal was received at ${at}`;
  const { compromised_from: compromised, revoked_at: revoked = null } = key;
  if (isNotBefore(compromised))
    return refuse("key_compromised", `The key is compromised from ${compromised} on, and ${why}.`);
  return received !== undefined && at === null && revoked !== null
    ? refuse("key_not_valid", `The key was revoked at ${revoked}, and ${why}.`)
    : null;
}
