// What a business can account for of the entries in its name: the registrations of its own keys, and the seals that it made. What
// else is there lets somebody else act as the business, or is something that it forgot: the log makes it visible.

import { sha256 } from "../protocol/hash.ts";
import type { LogEntry } from "../protocol/log/entries.ts";
import { keyAddedEntry } from "../protocol/log/leaves.ts";

export interface OwnActs {
  readonly businessUuid: string;
  readonly keyIds: readonly string[];
  /** Leaves of its seals, and of whatever else was looked at and found to be its own. */
  readonly leaves: ReadonlySet<string>;
  /** Leaves about keys that the service says it holds for the business. */
  readonly hosted?: ReadonlySet<string>;
}

/**
 * `to_look_at`: a certificate or a key that the service holds, which no file of the business foretells. `unaccounted`: a seal that it did
 * not make, or a `key_event` of none of its keys: the log has only a hash, so a custody statement that is not among its leaves is one too.
 */
export type Standing = "other" | "accounted" | "to_look_at" | "unaccounted";

export function accountOfEntries({
  businessUuid,
  keyIds,
  leaves,
  hosted,
}: OwnActs): (entry: LogEntry) => Standing {
  const keys = new Set(keyIds.map((keyId) => keyAddedEntry(businessUuid, keyId, sha256).leaf));
  return ({ subject, leaf_type, leaf }) => {
    if (subject !== businessUuid) return "other";
    if (leaves.has(leaf) || (leaf_type === "key_event" && keys.has(leaf))) return "accounted";
    if (leaf_type === "key_event" && hosted?.has(leaf)) return "to_look_at";
    return leaf_type === "certificate" ? "to_look_at" : "unaccounted";
  };
}
