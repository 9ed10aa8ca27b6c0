// What is in force of a party: who it is, its certificate and its AI policy.

import type { CertificateStatus } from "../../protocol/keys/certificate.ts";
import type { TermsAgreement } from "./company.ts";

export interface CertificateInForce {
  readonly cert_id: string;
  readonly status: CertificateStatus;
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
  /** Companies of one group are blocked together. Defaults to an AI company's own UUID. */
  readonly group: string;
  /** The groups that an AI company was in before, whose blocks it still meets, in the order in which it left them; absent until it left one. */
  readonly former_groups?: readonly string[];
  /** Whether an AI company chose to be in the key directory; absent until it did. */
  readonly listed?: boolean;
  /** The terms that an AI company agreed to, by version; absent until it agreed to any. */
  readonly agreements?: readonly TermsAgreement[];
}

// The roles of a party's keys and people. That of the person behind a passkey stays in the register: nothing that is published names a
// person.

/**
 * Role of a registered key: `integration` publishes under a mandate, `retrieval` searches, `sealing` is a person's
 * passkey, and `hosted` is held by the service on behalf of the business.
 */
export type KeyRole = "integration" | "retrieval" | "sealing" | "hosted";

/** What a person may do for the business. A developer registers keys; an owner or admin also seals mandates and AI policies. */
export type PersonRole = "owner" | "admin" | "developer";

export interface RoledKey {
  readonly role: KeyRole;
  /** Only passkeys have one, and it is never published. */
  readonly person_role?: PersonRole;
}

/** Returns null for a key that is not a passkey. One without a role counts as the owner's. */
export function personRole(key: RoledKey): PersonRole | null {
  return key.role === "sealing" ? (key.person_role ?? "owner") : null;
}

/**
 * Whether the key may seal what binds the whole business: mandates and AI policies. For a key that is not a passkey there
 * is no person to check.
 */
export function bindsBusiness(key: RoledKey): boolean {
  return personRole(key) !== "developer";
}
