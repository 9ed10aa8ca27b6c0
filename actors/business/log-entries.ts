// What a business's changes put into the transparency log: every certificate, every key of its register, every custody statement,
// and the seals of its AI policies and removals. Its pushes append their own.

import type { JsonValue } from "../../protocol/canonical-json.ts";
import { sha256 } from "../../protocol/hash.ts";
import type { LogEntry } from "../../protocol/log/entries.ts";
import {
  certificateEntry,
  contentHash,
  custodyEntry,
  keyAddedEntry,
  sealEntry,
} from "../../protocol/log/leaves.ts";
import type { RegisterCommand } from "../messages/business.ts";
import { logRef } from "../messages/refs.ts";
import { type Effect, tell } from "../system/definition.ts";
import type { BusinessView } from "./view.ts";

/** The effect of a change of the register that was just decided. */
export function logChange(command: RegisterCommand, view: BusinessView): readonly Effect[] {
  const entry = entryOf(command, view);
  return entry === null ? [] : [append(entry)];
}

/** The effect of a removal, whose seal is JSON text. */
export function logSeal(seal: string, { id }: BusinessView): Effect {
  return append(sealEntry(id, textHash(seal)));
}

function append(entry: LogEntry): Effect {
  return tell(logRef(), { type: "log.append", entries: [entry] });
}

function entryOf(command: RegisterCommand, view: BusinessView): LogEntry | null {
  const { id } = view;
  switch (command.type) {
    case "certificate.issue":
      return certificateEntry(id, textHash(command.certificate.envelope));
    case "key.register":
      // An AI company's keys sign requests; they are no business's.
      return view.snapshot.context.party?.kind === "business"
        ? keyAddedEntry(id, command.key.key_id, sha256)
        : null;
    case "custody.state":
      return custodyEntry(id, textHash(command.custody.envelope));
    case "policy.accept":
      return sealEntry(id, textHash(command.policy.seal));
    default:
      return null;
  }
}

/** The hash of JSON text that the service wrote itself. */
function textHash(text: string): string {
  return contentHash(JSON.parse(text) as JsonValue, sha256);
}
