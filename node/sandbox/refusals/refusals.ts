// Every refusal that can be tried in a sandbox, and those that cannot, with the reason. refusals.json names them all; what is tried is
// there as well where one of the recipes below makes it.

import { adRefusals } from "./ads.ts";
import { companyRefusals } from "./company.ts";
import { evidenceRefusals } from "./evidence.ts";
import { holdRefusals } from "./holds.ts";
import { imageRefusals } from "./images.ts";
import { publishAs, publishingRefusals, recordText, recordWith, sealedWith } from "./publishing.ts";
import table from "./refusals.json" with { type: "json" };
import { requestRefusals, searchWith } from "./requests.ts";
import type { Attempts, Refusal, Refused, SealChanges } from "./trial.ts";

interface Recipe {
  /** A batch by the integration key whose note has these words. */
  readonly publish_as?: string;
  /** A product that differs in these members. */
  readonly record?: Readonly<Record<string, unknown>>;
  readonly record_text?: string;
  /** A search that differs in these members. */
  readonly search?: Readonly<Record<string, unknown>>;
  /** A batch whose seal differs in these members. */
  readonly seal?: SealChanges;
}

const attempts: Attempts = {
  ...requestRefusals,
  ...publishingRefusals,
  ...holdRefusals,
  ...imageRefusals,
  ...adRefusals,
  ...companyRefusals,
  ...evidenceRefusals,
};

export const refusals: readonly Refusal[] = table.map(({ name, how, ...recipe }) => {
  const attempt = attempts[name] ?? attemptOf(recipe as Recipe);
  if (attempt === null) throw new Error(`Nothing says how ${name} is tried.`);
  return { name, how, attempt };
});

function attemptOf({ publish_as, record, record_text, search, seal }: Recipe): Refusal["attempt"] | null {
  if (publish_as !== undefined) return publishAs(publish_as);
  if (record !== undefined) return recordWith(record);
  if (record_text !== undefined) return recordText(record_text);
  if (search !== undefined) return searchWith(search);
  return seal === undefined ? null : sealedWith(seal);
}

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
