// The lists of operators: what is in force of each, since when, by whom and why; and the act that sets one.

import { type ComponentChild, h } from "preact";
import { badge, dataTable, section, shortTime } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ListState } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { listsPath } from "./frame.ts";
import { liveBadge, usePolled } from "./live.ts";

export interface OperatorListsProps {
  readonly language: Language;
  readonly shown: { readonly lists: readonly ListState[] };
}

export function OperatorLists({ language, shown: first }: OperatorListsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { lists } = texts;
  const { data, state } = usePolled("/ops/lists", first);
  return h(
    "div",
    null,
    h("div", { class: "title" }, h("h1", null, lists.title), liveBadge(state, texts)),
    h("p", { class: "quiet" }, lists.help),
    section(
      "in-force",
      lists.inForce,
      dataTable(
        lists.caption,
        lists.columns,
        data.lists.map((each) => rowOf(each, lists)),
      ),
    ),
    section(
      "acts",
      lists.acts,
      h(ActForm, {
        choices: [listChoice(data.lists, lists)],
        help: lists.actsHelp,
        page: listsPath,
        texts: texts.acts,
      }),
    ),
  );
}

function rowOf(
  { list, source, version, since, by, reason, holds, bytes, sha256, unused_file, fault }: ListState,
  lists: Texts["operations"]["lists"],
) {
  const who = source === "act" ? lists.byAct(String(version), by ?? "") : lists.sources[source];
  return {
    key: list,
    cells: [
      lists.names[list],
      unused_file ? [who, " ", badge("", lists.unusedFile)] : who,
      shortTime(since),
      reason,
      fault === null ? holds : [holds, " ", badge("bad", fault)],
      bytes === null
        ? null
        : h("a", { href: `/ops/lists/${list}/text`, download: list }, lists.save(String(bytes))),
      sha256 === null ? null : h("code", null, sha256),
    ],
  };
}

/** What is set takes the place of what the page shows now, and of nothing else. */
export function listChoice(
  shown: readonly ListState[],
  { set, list, file, names, subject }: Texts["operations"]["lists"],
): ActChoice {
  return {
    key: "set",
    words: set,
    fields: [
      { name: "list", label: list, options: shown.map((each) => [each.list, names[each.list]]) },
      { name: "text", label: file, options: null, isFile: true },
    ],
    request: ({ list: named = "", text = "" }) => {
      const before = shown.find((each) => each.list === named);
      return {
        address: `/ops/lists/${encodeURIComponent(named)}/set`,
        members: { text, expected: before?.version ?? null },
        subject: subject(before === undefined ? named : names[before.list], String(text.length)),
      };
    },
  };
}
