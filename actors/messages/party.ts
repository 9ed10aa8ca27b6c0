// What is in force of a party: who it is, its certificate and its AI policy.

import type { KeyFacts, PersonRole } from "./business.ts";
import type { TermsAgreement } from "./company.ts";

export type Standing = "active" | "revoked" | "closed" | "withdrawn";

export interface CertificateInForce {
  readonly cert_id: string;
  readonly status: Standing;
  readonly status_effective_from: string;
  readonly status_reason: string | null;
  readonly issued_at: string;
}

export interface PolicyInForce {
  readonly version: number;
  readonly record_id: string | null;
  readonly live_from: string | null;
}

export interface Party {
  readonly uuid: string;
  readonly kind: "business" | "ai_company";
  readonly legal_name: string;
  readonly country: string;
  readonly group: string;
  /** The groups that an AI company was in before, in the order in which it left them; absent until it left one. */
  readonly former_groups?: readonly string[];
  /** Whether an AI company chose to be in the key directory; absent until it did. */
  readonly listed?: boolean;
  /** The terms that an AI company agreed to, by version; absent until it agreed to any. */
  readonly agreements?: readonly TermsAgreement[];
}

// The role of the person behind a passkey. It stays in the register: nothing that is published names a person.

/** Returns null for a key that is not a passkey. One without a role counts as the owner's. */
export function personRole(key: KeyFacts): PersonRole | null {
  return key.role === "sealing" ? (key.person_role ?? "owner") : null;
}

/**
 * Whether the key may seal what binds the whole business: mandates and AI policies. For a key that is not a passkey there
 * is no person to check.
 */
export function bindsBusiness(key: KeyFacts): boolean {
  return personRole(key) !== "developer";
}
