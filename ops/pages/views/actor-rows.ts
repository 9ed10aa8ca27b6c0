// A list of actors, as the overview, the lists and the search show it.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, shortTime, shownNumber, type Tone } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { ActorRow, MissingNode } from "../../inspection-shapes.ts";
import { actorPath } from "./frame.ts";

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
