// A policy file of a log (C2SP tlog-policy): by which keys the log signs, and whose cosignatures its checkpoints have. Programs that
// were written for other logs take it as it is.

import type { Sha256 } from "../hash.ts";
import type { WitnessPolicy } from "./cosignatures.ts";
import { type NoteKey, verifierKeyOf } from "./note.ts";

/** `logs` are the log's keys under its origin as their name, which is how a policy tells what a checkpoint is of. */
export function formatPolicy(
  { logs, policy }: { readonly logs: readonly NoteKey[]; readonly policy: WitnessPolicy },
  sha256: Sha256,
): string {
  const lines = logs.map((key) => `log ${verifierKeyOf(key, sha256)}`);
  // The names are only of this file; those of the keys could be words that a policy has a meaning for.
  const names = policy.witnesses.map((_, at) => `w${at + 1}`);
  for (const [at, key] of policy.witnesses.entries())
    lines.push(`witness ${names[at]} ${verifierKeyOf(key, sha256)}`);
  if (policy.quorum > 0) lines.push(`group witnesses ${policy.quorum} ${names.join(" ")}`);
  lines.push(`quorum ${policy.quorum > 0 ? "witnesses" : "none"}`);
  return `${lines.join("\n")}\n`;
}
