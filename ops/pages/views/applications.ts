// Who applied at the portal, and the acts that let them in or refuse them. An operator decides about those who applied, and names nobody.
// Below is who lost all passkeys and asks to come back.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import type { Of } from "../../../protocol/shape.ts";
import { badge, dataTable, section, shortTime, shownNumber } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { applicationList } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { applicationsPath } from "./frame.ts";
import { liveBadge, slowPollMs, usePolled } from "./live.ts";
import { Recoveries, type RecoveriesProps } from "./recoveries.ts";

type ApplicationList = Of<typeof applicationList>;

export interface ApplicationsProps {
  readonly language: Language;
  /** The application after which the page begins; empty for the first. */
  readonly after: string;
  readonly list: ApplicationList;
  readonly recoveries: Omit<RecoveriesProps, "texts">;
}

export function Applications({
  language,
  after,
  list: first,
  recoveries,
}: ApplicationsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const words = texts.applications;
  const [done, setDone] = useState(0);
  const address = `/ops/applications${after === "" ? "" : `?${new URLSearchParams({ after })}`}`;
  const { data, state } = usePolled(address, first, done, slowPollMs);
  const next = data.next_after;
  return h(
    "div",
    null,
    h("div", { class: "title" }, h("h1", null, words.title), liveBadge(state, texts)),
    h("p", { class: "quiet" }, words.help),
    section("applications", words.list, listTable(data, words)),
    next === null
      ? null
      : h(
          "p",
          null,
          h("a", { href: `${applicationsPath}?${new URLSearchParams({ after: next })}` }, words.more),
        ),
    section("evidence", words.evidence, evidenceTable(data, words)),
    section(
      "acts",
      words.acts,
      h(ActForm, {
        choices: applicationChoices(data, words),
        help: words.actsHelp,
        page: applicationsPath,
        onDone: () => setDone(done + 1),
        texts: texts.acts,
      }),
    ),
    h(Recoveries, { ...recoveries, texts }),
  );
}

function listTable(
  { applications }: ApplicationList,
  words: Texts["operations"]["applications"],
): ComponentChild {
  if (applications.length === 0) return h("p", { class: "quiet" }, words.none);
  const rows = applications.map((each) => ({
    key: each.uuid,
    cells: [
      shortTime(each.filed_at),
      each.legal_name,
      each.country,
      words.kinds[each.kind],
      h("span", null, each.applicant_name, h("br", null), h("code", null, each.applicant)),
      h("code", null, each.uuid),
      badge(
        each.state === "refused" ? "bad" : each.state === "opened" ? "good" : "warn",
        words.states[each.state],
      ),
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

function evidenceTable(
  { applications }: ApplicationList,
  words: Texts["operations"]["applications"],
): ComponentChild {
  const rows = applications.flatMap(({ uuid, legal_name, evidence, evidence_views }) =>
    evidence.map(({ file, name, media_type, bytes, sha256, added_at }) => ({
      key: `${uuid}/${file}`,
      cells: [
        shortTime(added_at),
        legal_name,
        name,
        media_type,
        shownNumber(bytes),
        h("code", null, sha256.slice("sha256:".length)),
        evidence_views
          .filter((each) => each.file === file)
          .map(({ by, at }, index) => h("div", { key: `${index}` }, words.takenBy(by), shortTime(at))),
        h(
          "a",
          {
            href: `/ops/applications/${uuid}/evidence/${file}/download`,
            "aria-label": words.downloadNamed(name),
          },
          words.download,
        ),
      ],
    })),
  );
  if (rows.length === 0) return h("p", { class: "quiet" }, words.noEvidence);
  return [
    h("p", { class: "quiet", key: "help" }, words.evidenceHelp),
    h("div", { key: "files" }, dataTable(words.evidenceCaption, words.evidenceColumns, rows)),
  ];
}

/** What can be decided: what waits, and what was approved and is not open yet. */
export function applicationChoices(
  { applications }: ApplicationList,
  words: Texts["operations"]["applications"],
): readonly ActChoice[] {
  const open = applications.filter(({ state }) => state === "waiting" || state === "approved");
  if (open.length === 0) return [];
  // Two may have one name, so each says who applied. None is chosen before an operator does.
  const each = open.map(
    ({ uuid, legal_name, country, kind, applicant_name }) =>
      [uuid, words.named(legal_name, country, words.kinds[kind], applicant_name, uuid)] as const,
  );
  const options = [["", words.choose] as const, ...each];
  const field = { name: "uuid", label: words.application, options };
  const subjectOf = (uuid: string) => options.find(([key]) => key === uuid)?.[1] ?? uuid;
  return [
    {
      key: "approve",
      words: words.approve,
      fields: [field],
      request: ({ uuid = "" }) => ({
        address: `/ops/applications/${uuid}/approve`,
        members: {},
        subject: subjectOf(uuid),
        consequences: words.approveFollows,
      }),
    },
    {
      key: "refuse",
      words: words.refuse,
      fields: [field, { name: "statement", label: words.statement, options: null }],
      request: ({ uuid = "", statement = "" }) => ({
        address: `/ops/applications/${uuid}/refuse`,
        members: { statement: statement.trim() },
        subject: subjectOf(uuid),
      }),
    },
  ];
}
