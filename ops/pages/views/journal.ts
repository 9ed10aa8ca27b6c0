// The journal of an actor as a table, the newest event first.

import { type ComponentChild, h } from "preact";
import { dataTable, shortTime, shownNumber } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { JournalPage } from "../../inspection-shapes.ts";
import { type ActorName, actorPath, apiOf, signInPath } from "./frame.ts";

export interface JournalTable {
  readonly journal: JournalPage;
  readonly actor: ActorName;
  readonly texts: Texts["operations"];
  /** Reads the page before an event; null reads the newest. */
  readonly read: (before: number | null) => void;
}

export function journalTable({ journal, actor: ref, texts, read }: JournalTable): ComponentChild {
  const { actor } = texts;
  const columns = [
    { name: actor.seq, kind: "number" as const },
    { name: actor.time, kind: "nowrap" as const },
    { name: actor.event },
    { name: actor.from },
    { name: actor.to_ },
    { name: actor.commit, kind: "number" as const },
    { name: actor.epoch, kind: "number" as const },
  ];
  const rows = journal.events.toReversed().map(({ seq, at: time, type, event, from, to, commit, epoch }) => ({
    key: String(seq),
    cells: [
      shownNumber(seq),
      shortTime(time),
      h(
        "details",
        null,
        h("summary", null, h("code", null, type)),
        h("pre", null, JSON.stringify(event, null, 2)),
      ),
      statesOf(from, texts),
      String(from) === String(to) && from !== null
        ? h("span", { class: "quiet" }, actor.same)
        : statesOf(to, texts),
      shownNumber(commit),
      shownNumber(epoch),
    ],
  }));
  return [
    journal.unreadable === null
      ? null
      : h("p", { class: "badge bad" }, `${actor.unreadable}: ${journal.unreadable}`),
    rows.length === 0
      ? h("p", { class: "quiet" }, actor.noEvents)
      : dataTable(actor.journalCaption, columns, rows),
    journal.pruned_up_to === 0 ? null : h("p", { class: "quiet small" }, actor.pruned(journal.pruned_up_to)),
    h(
      "p",
      { class: "pager" },
      pageButton(journal.next_before !== null, actor.earlier, () => read(journal.next_before)),
      pageButton(true, actor.newest, () => read(null)),
    ),
    exportOf(ref, texts),
  ];
}

/** The kinds whose journals the simulator starts from. */
const exported = ["business", "integration-key", "push"];

/** The command that takes the file; it is the same in every language. */
const simulate = "npm run sim -- --journal FILE --seed 1";

/** A journal holds what businesses published, so it takes a session with the right to act. */
function exportOf(ref: ActorName, { actor, acts }: Texts["operations"]): ComponentChild {
  if (!exported.includes(ref.kind)) return null;
  const signIn = signInPath(actorPath(ref.kind, ref.id));
  return h(
    "details",
    null,
    h("summary", { class: "quiet small" }, actor.export),
    h("p", { class: "quiet small" }, actor.exportWords, " ", h("a", { href: signIn }, acts.signIn)),
    h("p", null, h("a", { href: apiOf(ref, "/export") }, actor.exportFile)),
    h("pre", { tabIndex: 0, "aria-label": actor.export }, simulate),
  );
}

function statesOf(states: readonly string[] | null, { unknown }: Texts["operations"]): ComponentChild {
  return states === null ? unknown : states.map((each) => h("div", null, each));
}

function pageButton(enabled: boolean, name: string, onClick: () => void): ComponentChild {
  return h("button", { type: "button", disabled: !enabled, onClick }, name);
}
