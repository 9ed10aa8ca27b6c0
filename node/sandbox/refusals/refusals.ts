// Every refusal that can be tried in a sandbox, and those that cannot, with the reason.

import { adRefusals } from "./ads.ts";
import { companyRefusals } from "./company.ts";
import { evidenceRefusals } from "./evidence.ts";
import { holdRefusals } from "./holds.ts";
import { imageRefusals } from "./images.ts";
import { publishingRefusals } from "./publishing.ts";
import { requestRefusals } from "./requests.ts";
import type { Refusal, Refused } from "./trial.ts";

export const refusals: readonly Refusal[] = [
  ...requestRefusals,
  ...publishingRefusals,
  ...holdRefusals,
  ...imageRefusals,
  ...adRefusals,
  ...companyRefusals,
  ...evidenceRefusals,
];

/** Names in the form that {@link Refusal} uses. */
export const untried: Readonly<Record<string, string>> = {
  allowance_exhausted: "A sandbox bills nothing, so no allowance is ever spent.",
  internal_error: "It is a fault of the service, which nobody can request.",
  ad_expired: "Ten minutes have to pass between a pool and its render.",
  unavailable: "A part of the node has to be unavailable, which nobody outside can cause.",
  right_missing: "It needs a token that an operator gave the right to read alone.",
  state_changed: "It needs the operators' token, and an actor that goes on meanwhile.",
  deletion_rejected:
    "An operator has to reject a deletion that was received after a revocation for compromise.",
  region_misdirected: "It needs several regions, and a setting that binds keys to theirs.",
  "record/cancelled":
    "A push has to be cancelled before anything of it is published: while it is held, or waits.",
  "record/processing_failed": "It is a fault of the service, which nobody can request.",
  "record/refused_before": "The content lists of the node have to change between a crash and the next start.",
  "record/superseded":
    "A withdrawal has to overtake a push that is still being processed, which nobody can arrange.",
  "record/hold_expired": "Nobody may decide for thirty days.",
  "verify/checkpoint_invalid":
    "Save evidence with --proofs, which takes two minutes, and change a character of its checkpoint.",
  "verify/consistency_invalid": "The log would have to take something back.",
};

/** Whether it was refused as the name says: with its code and, if the name gives a reason, with that reason. */
export function isAsNamed(name: string, { code, reason }: Refused): boolean {
  const [kind, part] = name.split("/");
  if (kind === "verify" || kind === "record") return code === part;
  return code === kind && (reason === undefined || part === undefined || reason === part);
}
