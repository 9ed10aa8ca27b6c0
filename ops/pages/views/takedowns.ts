// What is taken down, and the acts that take a record or a business out of serving and bring it back.

import { type ComponentChild, h } from "preact";
import { dataTable, section, shortTime } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { TakedownList } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { actorPath, takedownsPath } from "./frame.ts";
import { liveBadge, usePolled } from "./live.ts";

export interface TakedownsProps {
  readonly language: Language;
  readonly list: TakedownList;
}

export function Takedowns({ language, list: first }: TakedownsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { takedowns } = texts;
  const { data, state } = usePolled("/ops/takedowns", first);
  const more = data.total - data.takedowns.length;
  return h(
    "div",
    null,
    h("div", { class: "title" }, h("h1", null, takedowns.title), liveBadge(state, texts)),
    h("p", { class: "quiet" }, takedowns.help),
    section("in-force", takedowns.inForce, listTable(data, takedowns)),
    more <= 0 ? null : h("p", { class: "quiet small" }, takedowns.more(String(more))),
    section(
      "acts",
      takedowns.acts,
      h(ActForm, {
        choices: takedownChoices(takedowns),
        help: takedowns.actsHelp,
        page: takedownsPath,
        texts: texts.acts,
      }),
    ),
  );
}

function listTable(
  { takedowns: list }: TakedownList,
  takedowns: Texts["operations"]["takedowns"],
): ComponentChild {
  if (list.length === 0) return h("p", { class: "quiet" }, takedowns.none);
  const columns = [
    { name: takedowns.since, kind: "nowrap" as const },
    { name: takedowns.business },
    { name: takedowns.record },
    { name: takedowns.statement },
  ];
  const rows = list.map(({ business_uuid: uuid, record_id: id, taken_down_at, statement_of_reasons }) => ({
    key: id ?? uuid,
    cells: [
      shortTime(taken_down_at),
      h("a", { href: actorPath("business", uuid) }, h("code", null, uuid)),
      id === null ? takedowns.everything : h("code", null, id),
      statement_of_reasons,
    ],
  }));
  return dataTable(takedowns.caption, columns, rows);
}

export function takedownChoices({
  impose,
  lift,
  subject,
  statement,
}: Texts["operations"]["takedowns"]): readonly ActChoice[] {
  const field = { name: "subject", label: subject, options: null };
  const addressOf = (named: string) => `/ops/takedowns/${encodeURIComponent(named.trim())}`;
  return [
    {
      key: "impose",
      words: impose,
      fields: [field, { name: "statement", label: statement, options: null }],
      request: ({ subject: named = "", statement: statement_of_reasons = "" }) => ({
        address: `${addressOf(named)}/impose`,
        look: addressOf(named),
        members: { statement_of_reasons },
        subject: named.trim(),
      }),
    },
    {
      key: "lift",
      words: lift,
      fields: [field],
      request: ({ subject: named = "" }) => ({
        address: `${addressOf(named)}/lift`,
        look: addressOf(named),
        members: {},
        subject: named.trim(),
      }),
    },
  ];
}
