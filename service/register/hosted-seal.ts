// What a key that the service holds for a business may seal. The same checks guard the key wherever it is kept: in the sandbox, or in the
// issuance process.
//   HS1. One record, or the withdrawal or deletion of one: nothing that binds the business, as AI policies and campaigns do.
//   HS2. The seal names the key itself and the current time: nothing is backdated.

import { parsePayload } from "../../protocol/dsse.ts";
import { isCollectionName, parseTimestamp } from "../../protocol/identifiers.ts";
import { sealedAtSkewMs } from "../../protocol/limits.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { type SealV2, sealV2 } from "../../protocol/seal.ts";

/** Parses the payload of a seal that the key is asked for. */
export function judgeHostedSeal(
  payload: Uint8Array,
  { keyId, nowMs }: { readonly keyId: string; readonly nowMs: number },
): Result<SealV2, "issuance_refused"> {
  const seal = parsePayload(payload, sealV2);
  if (!seal.ok) return refused(`The seal cannot be read: ${seal.detail} (${seal.code})`);
  const { key_id, record_type, sealed_at } = seal.value;
  if (key_id !== keyId) return refused("The seal names another key than the business has here.");
  if (!isCollectionName(record_type)) return refused(`A hosted key seals no ${record_type}.`);
  const sealedMs = parseTimestamp(sealed_at) ?? Number.NaN;
  return Math.abs(sealedMs - nowMs) <= sealedAtSkewMs
    ? ok(seal.value)
    : refused(`sealed_at is ${sealed_at}; it must be now. Compare the clocks.`);
}

function refused(detail: string) {
  return refuse("issuance_refused", detail);
}
