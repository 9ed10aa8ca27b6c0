// What all actors in memory do, counted, and those of them that need a look: one walk over all of them, for every question.
//   SV1. What was found of an actor is kept until it changes, so a walk costs what changed since the last, and a comparison for
//        each of the others. What was found goes with the actor, and nothing is found while nobody asks.
//   SV2. Asking again and again, as for a live view, takes at most a hundredth of the node's time: a survey is kept for a hundred
//        times as long as it took. It is kept for a minute at most: a node that stood still while it looked seems to have looked for long.

import type { ActorGlance } from "../../actors/system/definition.ts";
import type { ActorRow } from "../../ops/inspection-shapes.ts";
import { byUrgency, rowOf, type Where } from "./look.ts";
import { createPushTally, type KeyPushes } from "./pushes-under-way.ts";

type Reason = NonNullable<ActorRow["attention"]>["reason"];

export interface OwnCounts {
  readonly kinds: readonly {
    readonly kind: string;
    readonly active: number;
    readonly states: readonly { readonly state: string; readonly count: number }[];
  }[];
  readonly attention: readonly { readonly reason: Reason; readonly count: number }[];
  readonly pushes: readonly KeyPushes[];
}

export interface Survey {
  counts(): OwnCounts;
  /** Those that need a look, the most urgent first. */
  urgent(): readonly ActorRow[];
}

export interface SurveyDeps {
  readonly glances: () => Iterable<ActorGlance>;
  readonly where: () => Where;
  readonly elapsedMs: () => number;
}

/** See SV2. */
const keptTimes = 100;
const keptMaxMs = 60_000;

/** The actors of one kind in the same states, for the same reason of a look or none. */
interface Group {
  readonly kind: string;
  readonly states: readonly string[];
  readonly reason: Reason | null;
  /** In the walk that is under way, or was the last. */
  count: number;
}

interface Finding {
  readonly revision: number;
  readonly group: Group;
  /** Its row if it needs a look. */
  readonly row: ActorRow | null;
}

export function createSurvey({ glances, where, elapsedMs }: SurveyDeps): Survey {
  const findings = new WeakMap<ActorGlance, Finding>();
  // There are no more groups than the machines have states.
  const groups = new Map<string, Group>();
  let kept: { readonly counts: OwnCounts; readonly urgent: readonly ActorRow[]; readonly untilMs: number } = {
    ...{ counts: { kinds: [], attention: [], pushes: [] }, urgent: [] },
    untilMs: Number.NEGATIVE_INFINITY,
  };
  const find = (glance: ActorGlance): Finding => {
    const known = findings.get(glance);
    if (known !== undefined && known.revision === glance.revision) return known;
    const row = rowOf(glance, nowhere);
    const finding = { revision: glance.revision, group: groupOf(groups, row), row: row.attention && row };
    findings.set(glance, finding);
    return finding;
  };
  const survey = (): typeof kept => {
    const beganMs = elapsedMs();
    if (beganMs < kept.untilMs) return kept;
    const urgent: ActorRow[] = [];
    const { region, node } = where();
    for (const group of groups.values()) group.count = 0;
    const tally = createPushTally();
    for (const glance of tally.look(glances())) {
      const { group, row } = find(glance);
      group.count += 1;
      if (row !== null) urgent.push({ ...row, region, node, mailbox: glance.mailbox });
    }
    urgent.sort(byUrgency);
    const counts = { ...countsOf(groups.values()), pushes: tally.most() };
    const endedMs = elapsedMs();
    kept = { counts, urgent, untilMs: endedMs + Math.min(keptMaxMs, (endedMs - beganMs) * keptTimes) };
    return kept;
  };
  return { counts: () => survey().counts, urgent: () => survey().urgent };
}

/** A node's name may change while its actors stay. */
const nowhere: Where = { region: null, node: null };

function groupOf(groups: Map<string, Group>, { kind, states, attention }: ActorRow): Group {
  const reason = attention?.reason ?? null;
  const name = `${kind} ${reason} ${states.join(" ")}`;
  const group = groups.get(name) ?? { kind, states, reason, count: 0 };
  groups.set(name, group);
  return group;
}

function countsOf(groups: Iterable<Group>): Omit<OwnCounts, "pushes"> {
  const kinds = new Map<string, { active: number; readonly states: Map<string, number> }>();
  const reasons = new Map<Reason, number>();
  for (const { kind, states, reason, count } of groups) {
    if (count === 0) continue;
    const known = kinds.get(kind) ?? { active: 0, states: new Map<string, number>() };
    kinds.set(kind, known);
    known.active += count;
    for (const state of states) add(known.states, state, count);
    if (reason !== null) add(reasons, reason, count);
  }
  return {
    kinds: [...kinds].map(([kind, { active, states }]) => ({
      kind,
      active,
      states: [...states].map(([state, count]) => ({ state, count })),
    })),
    attention: [...reasons].map(([reason, count]) => ({ reason, count })),
  };
}

function add<K>(sums: Map<K, number>, name: K, count: number): void {
  sums.set(name, (sums.get(name) ?? 0) + count);
}
