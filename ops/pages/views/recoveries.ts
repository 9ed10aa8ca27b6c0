// Who lost all passkeys and asks for the place of an owner, and the acts by which two operators decide together.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import type { Of } from "../../../protocol/shape.ts";
import { badge, dataTable, section, shortTime } from "../../../web/parts.ts";
import type { Texts } from "../../../web/texts/catalogue.ts";
import type { recoveryList } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { applicationsPath } from "./frame.ts";
import { slowPollMs, usePolled } from "./live.ts";

type RecoveryList = Of<typeof recoveryList>;
type RecoveryTexts = Texts["operations"]["recoveries"];

export interface RecoveriesProps {
  /** The recovery after which the list begins; empty for the first. */
  readonly after: string;
  readonly list: RecoveryList;
  readonly texts: Texts["operations"];
}

export function Recoveries({ after, list: first, texts }: RecoveriesProps): ComponentChild {
  const words = texts.recoveries;
  const [done, setDone] = useState(0);
  const address = `/ops/recoveries${after === "" ? "" : `?${new URLSearchParams({ after })}`}`;
  const { data } = usePolled(address, first, done, slowPollMs);
  const next = data.next_after;
  return h(
    "div",
    null,
    section("recoveries", words.list, h("p", { class: "quiet" }, words.help), listTable(data, words)),
    next === null
      ? null
      : h(
          "p",
          null,
          h("a", { href: `${applicationsPath}?${new URLSearchParams({ recoveries: next })}` }, words.more),
        ),
    section(
      "recovery-acts",
      words.acts,
      h(ActForm, {
        choices: recoveryChoices(data, words),
        help: words.actsHelp,
        page: applicationsPath,
        onDone: () => setDone(done + 1),
        texts: texts.acts,
      }),
    ),
  );
}

function listTable({ recoveries }: RecoveryList, words: RecoveryTexts): ComponentChild {
  if (recoveries.length === 0) return h("p", { class: "quiet" }, words.none);
  const rows = recoveries.map((each) => ({
    key: each.recovery_id,
    cells: [
      shortTime(each.filed_at),
      h("span", null, each.legal_name ?? words.noBusiness, h("br", null), h("code", null, each.uuid)),
      h(
        "span",
        null,
        each.applicant_name,
        h("br", null),
        h("code", null, each.applicant),
        h("p", null, words.passkey, " ", h("code", null, each.key_id)),
      ),
      each.approvals.map(({ by, replaces }) =>
        h("p", null, words.approvedBy(by), " ", h("code", null, replaces)),
      ),
      h(
        "span",
        null,
        badge(
          each.state === "done" ? "good" : ["refused", "stopped"].includes(each.state) ? "bad" : "warn",
          words.states[each.state],
        ),
        each.due_at === null ? null : [" ", shortTime(each.due_at)],
        each.failure === null ? null : h("p", null, each.failure),
      ),
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

/** What can be decided: an approval names the owner, and a second one the same; until the owner is replaced it can be refused. */
export function recoveryChoices({ recoveries }: RecoveryList, words: RecoveryTexts): readonly ActChoice[] {
  const undecided = recoveries.filter(({ state }) => state === "waiting" || state === "approved");
  const pairs = undecided.flatMap((each) =>
    each.owners
      .filter(({ person_id }) => each.approvals.every(({ replaces }) => replaces === person_id))
      .map(
        ({ person_id, name }) =>
          [
            `${each.recovery_id} ${person_id} ${each.key_id}`,
            words.pair(each.applicant_name, name, each.legal_name ?? each.uuid, person_id),
          ] as const,
      ),
  );
  const open = recoveries.filter(({ state }) => ["waiting", "approved", "announced"].includes(state));
  const named = open.map(
    ({ recovery_id, applicant_name, legal_name, uuid, key_id }) =>
      [`${recovery_id} ${key_id}`, words.named(applicant_name, legal_name ?? uuid, recovery_id)] as const,
  );
  const choose = ["", words.choose] as const;
  const [approving, refusing] = [
    [choose, ...pairs],
    [choose, ...named],
  ];
  const wordsOf = (options: readonly (readonly [string, string])[], key: string) =>
    options.find(([each]) => each === key)?.[1] ?? key;
  const approve: ActChoice = {
    key: "approve",
    words: words.approve,
    fields: [{ name: "pair", label: words.replaced, options: approving }],
    request: ({ pair = "" }) => {
      const [recovery = "", replaces = "", key_id = ""] = pair.split(" ");
      return {
        address: `/ops/recoveries/${recovery}/approve`,
        members: { replaces, key_id },
        subject: wordsOf(approving, pair),
        consequences: words.approveFollows,
      };
    },
  };
  const refuse: ActChoice = {
    key: "refuse",
    words: words.refuse,
    fields: [
      { name: "recovery", label: words.recovery, options: refusing },
      { name: "statement", label: words.statement, options: null },
    ],
    request: ({ recovery: chosen = "", statement = "" }) => {
      const [recovery = "", key_id = ""] = chosen.split(" ");
      return {
        address: `/ops/recoveries/${recovery}/refuse`,
        members: { statement: statement.trim(), key_id },
        subject: wordsOf(refusing, chosen),
      };
    },
  };
  return [...(pairs.length === 0 ? [] : [approve]), ...(named.length === 0 ? [] : [refuse])];
}
