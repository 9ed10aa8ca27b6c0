// What the transparency log has of a seal: the seal itself, and the registration of the key that made it.

import { keyAddedEntry, sealEntry, sealLeafOf } from "../protocol/log/leaves.ts";
import { parseRecordSeal } from "../protocol/seal.ts";
import type { Trust } from "../verifier/trust.ts";
import { findInLog, type LogFinding, type ProvingLog } from "./log-proofs.ts";
import type { Standing } from "./standing.ts";
import type { Claimed, VerifyInput } from "./verify-evidence.ts";

export interface LoggedSeal {
  readonly seal: LogFinding;
  readonly keyEvent: LogFinding;
}

const absent: LoggedSeal = { seal: { kind: "absent" }, keyEvent: { kind: "absent" } };

/** The log is asked about a seal as it was given, whatever else is wrong with it: other signatures make it another leaf. */
export async function findLoggedSeal(
  { log, trust }: { readonly log: ProvingLog; readonly trust: Trust },
  input: Pick<VerifyInput, "seal">,
  { claimed, standing }: { readonly claimed: Claimed; readonly standing: Standing | null },
): Promise<LoggedSeal> {
  const parsed = input.seal === null ? null : parseRecordSeal(input.seal);
  if (standing === null || claimed.seal === null || parsed?.ok !== true) return absent;
  const { sha256 } = trust;
  const [seal = absent.seal, keyEvent = absent.keyEvent] = await findInLog(log, trust, [
    sealEntry(standing.uuid, sealLeafOf(parsed.value.envelope, sha256)),
    keyAddedEntry(standing.uuid, claimed.seal.key_id, sha256),
  ]);
  return { seal, keyEvent };
}
