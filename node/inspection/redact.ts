// What operators are not shown: secrets, the bytes and texts of records, and the sessions of people. It is applied where a node
// reads its own actors, so that nothing of it crosses to another node.
//   RD1. A member with one of these names is replaced, whatever it contains; so is every long text and everything binary.
//        What says why something failed is shown whatever its length, up to its first 2,000 characters: an engine says a lot.
//   RD2. Of a command that crashed an actor only its type and the names of its members are shown.
//   RD3. What is left is bounded in depth and length.
//   RD4. An effect for a conversation that is shown ads does not name it: the mark would say to which conversation a pool was served.

import type { ActorReport } from "../../actors/system/definition.ts";

/** Names of members that may contain what nobody is shown (RD1). */
const hiddenNames =
  /^(?:session|mark|marks|token|tokens|nonce|nonces|secret|signature|sig|seal|seals|envelope|document|bytes|body|payload|content|texts?|title|description|authorization|grant|password|private_?key|jwk|d|largest|leaves|listings|plan|rows|page|own_names|session_label)$/i;
/** Names of members that say why something failed. */
const causeNames = /^(?:detail|error|last_?error|failure|last_?failure|fault|cause|message)$/i;
const textLengthMax = 256;
const causeLengthMax = 2_000;
const itemsMax = 200;
const depthMax = 12;

const hidden = "(not shown)";

/** The value as operators see it. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === "string")
    return value.length <= textLengthMax ? value : `(${value.length} characters, not shown)`;
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Uint8Array) return `(${value.length} bytes, not shown)`;
  if (depth >= depthMax) return "(nested too deeply, not shown)";
  if (Array.isArray(value)) return cut(value.map((item) => redact(item, depth + 1)));
  const members = Object.entries(value).map(([name, member]): [string, unknown] => [
    name,
    name === "while_handling" ? outlineOf(member) : redactMember(name, member, depth),
  ]);
  return Object.fromEntries(members.slice(0, itemsMax));
}

/** The report of an actor as operators see it. */
export function redactReport(report: ActorReport): ActorReport {
  return {
    ...report,
    context: redact(report.context),
    lastEvents: report.lastEvents.map((event) => redact(event)),
    outbox: redactEffects(report.outbox).map((effect) => ({ ...effect, lastError: brief(effect.lastError) })),
    failure: brief(report.failure),
    crash: report.crash === null ? null : { ...report.crash, stack: brief(report.crash.stack) },
  };
}

/** RD4. */
export function redactEffects<E extends { readonly to: string }>(outbox: readonly E[]): readonly E[] {
  return outbox.map((effect) =>
    effect.to.startsWith("ad-session/") ? { ...effect, to: `ad-session/${hidden}` } : effect,
  );
}

/** The message of an error. */
function brief(text: string | null): string | null {
  return text === null || text.length <= causeLengthMax ? text : `${text.slice(0, causeLengthMax)}…`;
}

function redactMember(name: string, member: unknown, depth: number): unknown {
  // A number or a flag under such a name is a count or a setting.
  const isPlain = member === null || typeof member === "number" || typeof member === "boolean";
  if (typeof member === "string" && causeNames.test(name)) return brief(member);
  return hiddenNames.test(name) && !isPlain ? hidden : redact(member, depth + 1);
}

function cut(items: readonly unknown[]): readonly unknown[] {
  return items.length <= itemsMax
    ? items
    : [...items.slice(0, itemsMax), `(${items.length - itemsMax} more, not shown)`];
}

/** RD2. */
function outlineOf(command: unknown): object {
  if (typeof command !== "object" || command === null) return {};
  const type = "type" in command ? String(command.type).slice(0, textLengthMax) : "";
  return { type, members: Object.keys(command).slice(0, itemsMax) };
}
