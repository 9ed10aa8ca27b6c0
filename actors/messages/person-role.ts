// The role of the person behind a passkey. It stays in the register: nothing that is published names a person.

import type { KeyFacts, PersonRole } from "./business.ts";

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
