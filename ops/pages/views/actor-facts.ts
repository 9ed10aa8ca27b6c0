// What is known of an actor besides its states: why it waits, where it lives, what it has set and sent, and who owned it.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, type Fact, facts, shortTime, shownNumber, type Tone } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorDetail, ActorRow, MissingNode } from "../../inspection-shapes.ts";
import { actorPath } from "./frame.ts";

export function waitsOf({ waits }: ActorDetail, texts: Texts["operations"]): ComponentChild {
  if (waits.length === 0) return h("p", { class: "quiet" }, texts.unknown);
  return h(
    "ul",
    { class: "waits" },
    waits.map(({ words, until, next, attention }) =>
      h(
        "li",
        null,
        attention === null ? null : [attentionBadge(attention.reason, texts), " "],
        words,
        until === null || next === null
          ? null
          : h("span", { class: "quiet" }, ` · ${texts.actor.nexts[next]} `, shortTime(until)),
      ),
    ),
  );
}

export function actorFacts(detail: ActorDetail, { actor, unknown }: Texts["operations"]): ComponentChild {
  const { place, epoch, head, mailbox, machine_version, stored_version, failure, crash } = detail;
  const [owner] = detail.activations;
  const where = { here: actor.here, node: place.node ?? unknown, nowhere: actor.nowhere }[place.at];
  const rows: readonly Fact[] = [
    [actor.place, [where, place.region === null ? "" : ` (${place.region})`]],
    ...(place.detail === null ? [] : [[actor.placeDetail, place.detail] as const]),
    [actor.epoch, shownNumber(epoch)],
    [actor.owner, owner === undefined ? unknown : h("code", null, owner.owner)],
    [actor.commits, shownNumber(head)],
    [actor.mailbox, shownNumber(mailbox)],
    [
      actor.version,
      [
        String(machine_version),
        stored_version === null || stored_version === machine_version
          ? ""
          : ` · ${actor.stored(stored_version)}`,
      ],
    ],
    ...(failure === null ? [] : [[actor.failure, failure] as const]),
    ...(crash?.stack == null ? [] : [[actor.stack, h("pre", null, crash.stack)] as const]),
  ];
  return facts(rows);
}

export function timersOf({ timers }: ActorDetail, { actor }: Texts["operations"]): ComponentChild {
  if (timers.length === 0) return h("p", { class: "quiet" }, actor.noTimers);
  const columns = [{ name: actor.timer }, { name: actor.due, kind: "nowrap" as const }];
  const rows = timers.map(({ id, dueMs }) => ({
    key: id,
    cells: [h("code", null, id.replace(/^xstate\./, "")), shortTime(instantOf(dueMs))],
  }));
  return dataTable(actor.timersCaption, columns, rows);
}

export function outboxOf({ outbox }: ActorDetail, { actor }: Texts["operations"]): ComponentChild {
  if (outbox.length === 0) return h("p", { class: "quiet" }, actor.noOutbox);
  const columns = [
    { name: actor.to },
    { name: actor.attempts, kind: "number" as const },
    { name: actor.lastError },
  ];
  const rows = outbox.map(({ seq, to, attempts, lastError }) => ({
    key: String(seq),
    cells: [h("code", null, to), shownNumber(attempts), lastError ?? "–"],
  }));
  return dataTable(actor.outboxCaption, columns, rows);
}

export function historyOf(
  { activations, refused_writes: refused }: ActorDetail,
  { actor }: Texts["operations"],
) {
  const columns = [
    { name: actor.epoch, kind: "number" as const },
    { name: actor.owner },
    { name: actor.since, kind: "nowrap" as const },
  ];
  const owners = activations.map(({ epoch, owner, since }) => ({
    key: String(epoch),
    cells: [shownNumber(epoch), h("code", null, owner), shortTime(since)],
  }));
  const writes = refused.map(({ epoch, superseded_by, owner, at }, index) => ({
    key: String(index),
    cells: [`${epoch}, ${actor.by} ${superseded_by}`, h("code", null, owner), shortTime(at)],
  }));
  return [
    dataTable(actor.historyCaption, columns, owners),
    h("h3", null, actor.refused),
    refused.length === 0
      ? h("p", { class: "quiet" }, actor.noRefused)
      : dataTable(actor.refused, columns, writes),
  ];
}

function instantOf(ms: number): string | null {
  return Number.isFinite(ms) && Math.abs(ms) < 8.64e15 ? new Date(ms).toISOString() : null;
}

// A list of actors, as the overview, the lists and the search show it.

type Attention = NonNullable<ActorRow["attention"]>;

const tones: Readonly<Record<Attention["reason"], Tone>> = {
  quarantined: "bad",
  unreadable: "bad",
  log_held: "bad",
  stalled: "bad",
  backing_off: "warn",
  outbox_failing: "warn",
  unwitnessed: "warn",
  index_lag: "warn",
  held: "warn",
};

export function attentionBadge(reason: Attention["reason"], texts: Texts["operations"]): ComponentChild {
  return badge(tones[reason], texts.attention[reason]);
}

/** `shownKind` is left out where all are of one kind. */
export function actorRows(actors: readonly ActorRow[], texts: Texts["operations"]): ComponentChild {
  const columns = [
    { name: texts.actors.kind, kind: "nowrap" as const },
    { name: texts.actors.id, kind: "id" as const },
    { name: texts.actors.state },
    { name: texts.actors.waits, kind: "words" as const },
    { name: texts.actors.where, kind: "nowrap" as const },
    { name: texts.actors.mailbox, kind: "number" as const },
    { name: texts.actors.outbox, kind: "number" as const },
  ];
  const rows = actors.map((actor) => ({
    key: `${actor.kind}/${actor.id}`,
    cells: [
      kindWords(actor, texts),
      [
        h("a", { href: actorPath(actor.kind, actor.id) }, h("code", null, actor.id)),
        actor.party === null ? null : h("div", { class: "small" }, actor.party.legal_name),
      ],
      stateBadges(actor, texts),
      [
        actor.waits ?? texts.unknown,
        actor.attention?.since == null
          ? ""
          : [" ", h("span", { class: "quiet" }, shortTime(actor.attention.since))],
      ],
      [actor.region ?? texts.unknown, h("div", { class: "quiet small" }, actor.node ?? texts.actors.passive)],
      shownNumber(actor.mailbox),
      shownNumber(actor.outbox),
    ],
  }));
  return dataTable(texts.actors.caption, columns, rows);
}

/** An AI company is an actor of the same kind as a business, and none. */
export function kindWords(
  { kind, party }: Pick<ActorRow, "kind" | "party">,
  { actors }: Texts["operations"],
): string {
  return kind === "business" && party?.kind === "ai_company" ? actors.company : kind;
}

function stateBadges({ attention, states, status }: ActorRow, texts: Texts["operations"]): ComponentChild {
  const names = states.length === 0 ? [texts.status[status]] : states;
  return h(
    "div",
    { class: "badges" },
    attention === null ? null : attentionBadge(attention.reason, texts),
    names.map((name) => badge(status === "active" ? "lit" : "", name)),
  );
}

export function missingNodes(missing: readonly MissingNode[], texts: Texts["operations"]): ComponentChild {
  return missing.map(({ incarnation, detail }) =>
    h("p", { class: "badge warn", role: "status" }, texts.overview.missing(incarnation, detail)),
  );
}
