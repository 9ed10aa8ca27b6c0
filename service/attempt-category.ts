// Why a record was rejected, by the codes of its errors.

import type { AttemptCategory } from "../actors/messages/attempts.ts";
import type { RecordFault } from "../protocol/wire/push.ts";

/**
 * The codes that end a push or a record for another reason than what the record says. Null: nobody who publishes is at
 * fault, or it was decided so.
 */
const others: ReadonlyMap<string, AttemptCategory | null> = new Map<string, AttemptCategory | null>([
  ["seal_invalid", "seal"],
  ["certificate_not_in_force", "seal"],
  ["ai_policy_version_mismatch", "seal"],
  ["out_of_scope", "authority"],
  ["key_revoked", "authority"],
  ["mandate_revoked", "authority"],
  ["business_not_verified", "authority"],
  ["cancelled", null],
  ["hold_rejected", null],
  ["hold_expired", null],
  ["processing_failed", null],
  ["superseded", null],
]);

/** Of several, what the record says counts first: that is what its sender can mend. */
export function categoryOf(errors: readonly Pick<RecordFault, "code">[]): AttemptCategory | null {
  const found = errors.map(({ code }) => (others.has(code) ? (others.get(code) ?? null) : "validation"));
  return found.includes("validation") ? "validation" : (found[0] ?? null);
}
