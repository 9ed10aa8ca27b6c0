// What a look at an actor says to operators: pure, from what the actor system shows.

import { partsOf, placementOf } from "../../actors/messages/refs.ts";
import type { ActorGlance, ActorReport } from "../../actors/system/definition.ts";
import { leavesOf } from "../../machines/chart.ts";
import { explainWaits, type Wait } from "../../machines/waits/waits.ts";
import { type ActorRow, attentionReasons, type WaitState } from "../../ops/inspection-shapes.ts";
import type { ActorRef } from "../../storage/actor-store.ts";
import { redactEffects } from "./redact.ts";

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
    ...{ kind: ref.kind, id: ref.id, business_uuid: partyOf(ref), region, node, status },
    // The node that answers an operator knows who it is.
    party: null,
    ...{ states: leavesOf(state), head, mailbox, outbox: outbox.length },
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

/** A node of an earlier release does not say it. */
function crashWords(crash: Looked["crash"] | undefined): string {
  if (crash == null) return "";
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
