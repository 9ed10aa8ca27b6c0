// An entitlement in a verification: judged now, with nothing but what is in it, as anyone can judge it. What the register knows
// that it does not say becomes a warning.

import type { JsonObject } from "../protocol/canonical-json.ts";
import type { Entitlement } from "../protocol/entitlement.ts";
import type { EntitlementSection } from "../protocol/wire/verify.ts";
import { verifyEntitlement } from "../verifier/entitlement.ts";
import type { Trust } from "../verifier/trust.ts";
import type { Register } from "./register.ts";

interface EntitlementJudgeDeps {
  readonly trust: Trust;
  readonly register: Pick<Register, "certificates" | "key">;
}

export async function judgeEntitlement(
  { trust, register }: EntitlementJudgeDeps,
  entitlement: JsonObject,
  at: string,
): Promise<{ readonly section: EntitlementSection; readonly warnings: readonly string[] }> {
  const verdict = verifyEntitlement(trust, entitlement, { at });
  if (!verdict.ok) {
    const { code: reason, detail, pointer } = verdict;
    const where = pointer === undefined ? {} : { pointer };
    return { section: { valid: false, reason, detail, ...where }, warnings: [] };
  }
  const { v: _version, sandbox: _mark, ...members } = verdict.value;
  const section = { valid: true, ...members } as const;
  return { section, warnings: await warningsOf(register, verdict.value, at) };
}

async function warningsOf(
  register: EntitlementJudgeDeps["register"],
  { ai_company_uuid: uuid, key_ids: keyIds }: Entitlement,
  at: string,
): Promise<readonly string[]> {
  const warnings: string[] = [];
  const [newest] = await register.certificates(uuid);
  if (newest === undefined) warnings.push("The company of the entitlement is not known here.");
  else if (newest.status !== "active")
    warnings.push(
      `The certificate of AI company ${uuid} is ${newest.status} from ${newest.status_effective_from} on.`,
    );
  for (const keyId of keyIds) {
    const key = await register.key(keyId);
    const end = [key?.revoked_at, key?.compromised_from].filter((each) => typeof each === "string").sort()[0];
    if (end !== undefined && end <= at) warnings.push(`Key ${keyId} is revoked from ${end} on.`);
  }
  return warnings;
}
