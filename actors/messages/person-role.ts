// The role of the person behind a passkey. It stays in the register: nothing that is published names a person.

import type { KeyFacts, PersonRole } from "./business.ts";

/** Null for a key that is no passkey. Passkeys that were registered before there were roles are owners'. */
export function personRole(key: KeyFacts): PersonRole | null {
  return key.role === "sealing" ? (key.person_role ?? "owner") : null;
}

/** Whether the key may seal what binds the whole business: mandates and AI policies. A key that is no passkey has no person to ask about. */
export function bindsBusiness(key: KeyFacts): boolean {
  return personRole(key) !== "developer";
}
