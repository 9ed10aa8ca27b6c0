// What a look at an actor says to operators: pure, from what the actor system shows.

import { partsOf, placementOf } from "../../actors/messages/refs.ts";
import type { ActorGlance, ActorReport } from "../../actors/system/definition.ts";
import { leavesOf } from "../../machines/chart.ts";
import { explainWaits, type Wait } from "../../machines/waits/waits.ts";
import { type ActorRow, attentionReasons, type WaitState } from "../../ops/inspection-shapes.ts";
import type { ActorRef } from "../../storage/actor-store.ts";

/** Where an actor was found. */
export interface Where {
  readonly region: string | null;
  readonly node: string | null;
}

type Looked = Pick<
  ActorReport,
  "ref" | "status" | "state" | "context" | "timers" | "outbox" | "failure" | "crash"
>;

export function rowOf(
  glance: Looked & Pick<ActorGlance, "head" | "mailbox">,
  { region, node }: Where,
): ActorRow {
  const { ref, status, state, head, mailbox, outbox } = glance;
  const waits = waitsOf(glance);
  return {
    kind: ref.kind,
    id: ref.id,
    business_uuid: partyOf(ref),
    region,
    node,
    status,
    // The node that answers an operator knows who it is.
    party: null,
    states: leavesOf(state),
    head,
    mailbox,
    outbox: outbox.length,
    waits: waits.length === 0 ? null : waits.map(({ words }) => words).join(" "),
    attention: attentionOf(waits),
  };
}

/** Why it waits, with what keeps it from running at all. */
export function waitsOf(looked: Looked): readonly WaitState[] {
  const { ref, status, state, context, timers, outbox } = looked;
  const crash = crashOf(looked);
  // Nothing of it goes on before it is released: what its states wait for would say that it does.
  if (status === "quarantined") return crash.map(toState);
  const isKnown = context !== null && state !== null;
  const effects = redactEffects(outbox);
  const waits = isKnown
    ? explainWaits({ kind: ref.kind, id: ref.id, state, context, timers, outbox: effects })
    : [];
  return [...crash, ...waits].map(toState);
}

/** The most urgent reason for a look; null if there is none. */
export function attentionOf(waits: readonly WaitState[]): ActorRow["attention"] {
  const found = waits.flatMap(({ attention }) => (attention === null ? [] : [attention]));
  return found.sort((a, b) => urgency(a.reason) - urgency(b.reason))[0] ?? null;
}

/** Most urgent first; the same reason by how long it lasts. */
export function byUrgency(a: ActorRow, b: ActorRow): number {
  const [one, other] = [a.attention, b.attention];
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return (
    urgency(one.reason) - urgency(other.reason) ||
    compareTexts(one.since ?? "", other.since ?? "") ||
    compareTexts(nameOf(a), nameOf(b))
  );
}

export function nameOf({ kind, id }: ActorRef): string {
  return `${kind}/${id}`;
}

export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The party that the actor belongs to; null for one of a region, or whose name is not understood. */
export function partyOf(ref: ActorRef): string | null {
  try {
    const place = placementOf(ref);
    return "party" in place ? place.party : partsOf(ref.id).party || null;
  } catch {
    return null;
  }
}

function urgency(reason: (typeof attentionReasons)[number]): number {
  return attentionReasons.indexOf(reason);
}

function crashOf({ status, failure, crash }: Looked): readonly Wait[] {
  const words = { next: null, attention: null };
  const sinceMs = crash?.atMs ?? null;
  if (status === "quarantined")
    return [
      {
        ...words,
        code: "release",
        words: `It crashed too often and is quarantined until it is released: ${failure ?? "unknown"}.${crashWords(crash)}`,
        attention: { reason: "quarantined", sinceMs },
      },
    ];
  if (status === "backing_off")
    return [
      {
        ...words,
        code: "restart",
        words: `It crashed and is started again in a moment: ${failure ?? "unknown"}.${crashWords(crash)}`,
        attention: { reason: "backing_off", sinceMs },
      },
    ];
  if (failure === null) return [];
  return [
    {
      ...words,
      code: "release_of_the_service",
      words: `Its journal cannot be read by this release: ${failure}.`,
      attention: { reason: "unreadable", sinceMs: null },
    },
  ];
}

function crashWords(crash: Looked["crash"]): string {
  if (crash === null) return "";
  const what = crash.command === null ? "it was loaded" : `it handled ${crash.command}`;
  return ` The last time was at ${timeOf(crash.atMs)}, while ${what}.`;
}

function toState({ code, words, next, attention }: Wait): WaitState {
  return {
    code,
    words,
    until: timeOf(next?.atMs ?? null),
    next: next?.what ?? null,
    attention: attention === null ? null : { reason: attention.reason, since: timeOf(attention.sinceMs) },
  };
}

export function timeOf(ms: number | null): string | null {
  return ms === null || !Number.isFinite(ms) ? null : new Date(ms).toISOString();
}

// What operators are not shown: secrets, the bytes and texts of records, and the sessions of people. It is applied where a node
// reads its own actors, so that nothing of it crosses to another node.
//   RD1. A member with one of these names is replaced, whatever it contains; so is every long text and everything binary.
//        What says why something failed is shown whatever its length, up to its first 2,000 characters: an engine says a lot.
//   RD2. Of a command that crashed an actor only its type and the names of its members are shown.
//   RD3. What is left is bounded in depth and length.
//   RD4. An effect for a conversation that is shown ads does not name it: the mark would say to which conversation a pool was served.

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
function redactEffects<E extends { readonly to: string }>(outbox: readonly E[]): readonly E[] {
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
