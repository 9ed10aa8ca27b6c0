// Whether enough witnesses cosigned a checkpoint, by a policy that its reader has chosen (C2SP tlog-cosignature).

import { equalBytes, hashOf, type Sha256, utf8 } from "../bytes.ts";
import type { Verdict } from "../reason-codes.ts";
import { ok, refuse } from "../result.ts";
import {
  keyHashOf,
  type Note,
  type NoteKey,
  parseVerifierKey,
  type VerifySignature,
  verifierKeyOf,
  verifyNote,
} from "./note.ts";

/** Whose cosignatures count, and how many of them a checkpoint needs. */
export interface WitnessPolicy {
  readonly witnesses: readonly NoteKey[];
  readonly quorum: number;
}

/** A witness that saw the checkpoint as the continuation of all that it had seen, at that time. */
export interface SeenBy {
  readonly name: string;
  /** Unix seconds. */
  readonly seconds: number;
}

/** One name for each policy: whose cosignatures count, in their order, and how many are needed. */
export function namePolicy({ witnesses, quorum }: WitnessPolicy, sha256: Sha256): string {
  const keys = witnesses.map((key) => verifierKeyOf(key, sha256));
  return hashOf(utf8([String(quorum), ...keys].join("\n")), sha256);
}

interface Tools {
  readonly verify: VerifySignature;
  readonly sha256: Sha256;
}

/** A policy by the verifier keys of its witnesses; null for one that is not a cosignature key, or occurs twice, or is too few. */
export function parseWitnessPolicy(
  { keys, quorum }: { readonly keys: readonly string[]; readonly quorum: number },
  sha256: Sha256,
): WitnessPolicy | null {
  const known = keys.flatMap((text) => {
    const key = parseVerifierKey(text, sha256);
    return key?.kind === "cosignature" ? [key] : [];
  });
  // A witness counts once, under whatever names it signs.
  const isDistinct =
    new Set(known.map(({ name }) => name)).size === known.length &&
    known.every((key, at) =>
      known.slice(0, at).every((other) => !equalBytes(other.publicKey, key.publicKey)),
    );
  const isEnough = Number.isSafeInteger(quorum) && quorum >= 0 && quorum <= known.length;
  return known.length === keys.length && isDistinct && isEnough ? { witnesses: known, quorum } : null;
}

/**
 * The witnesses of the policy that cosigned the note; `checkpoint_invalid` for fewer than it asks for, and for a line under the key
 * of one of them that is not its valid cosignature of exactly this text. Lines of other names and keys are ignored.
 */
export function judgeCosignatures(
  tools: Tools,
  note: Note,
  policy: WitnessPolicy,
): Verdict<readonly SeenBy[]> {
  const seen: SeenBy[] = [];
  const missing: string[] = [];
  for (const key of policy.witnesses) {
    const named = note.signatures.filter(({ name }) => name === key.name);
    const hash = keyHashOf(key, tools.sha256);
    const own = named.filter(({ keyHash }) => equalBytes(keyHash, hash));
    if (own.length === 0) {
      missing.push(named.length === 0 ? `${key.name} did not sign` : `${key.name} signed with another key`);
      continue;
    }
    if (own.some(({ bytes }) => bytes.length !== 72))
      return refuse(
        "checkpoint_invalid",
        `The line of ${key.name} is no cosignature: a time and a signature.`,
      );
    const verified = verifyNote(tools, note, key);
    if (verified?.seconds == null)
      return refuse(
        "checkpoint_invalid",
        `The cosignature of ${key.name} is not one of this checkpoint and time.`,
      );
    seen.push({ name: key.name, seconds: verified.seconds });
  }
  if (seen.length >= policy.quorum) return ok(seen);
  return refuse(
    "checkpoint_invalid",
    `${seen.length} of at least ${policy.quorum} witnesses cosigned the checkpoint: ${missing.join("; ")}.`,
  );
}

// A policy file of a log (C2SP tlog-policy): by which keys the log signs, and whose cosignatures its checkpoints have. Programs that
// were written for other logs take it as it is.

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
