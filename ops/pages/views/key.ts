// The page of a key: whose it is, since when it is revoked or compromised, which operator did that and why, which refused requests
// named it, and the acts that end it.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import {
  badge,
  dataTable,
  type Fact,
  facts,
  section,
  shortTime,
  type Tone,
  time,
} from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { RefusedRequests } from "../../inspection-shapes.ts";
import type { KeyShown, PartyActs } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { actorPath, keyPath, partyPath, searchPath } from "./frame.ts";
import { liveBadge, usePolled } from "./live.ts";
import { refusedBy, refusedTable } from "./refusals.ts";

export interface KeyProps {
  readonly language: Language;
  readonly shown: KeyShown;
  readonly acts: PartyActs;
  readonly refused: RefusedRequests;
}

type KeyState = KeyShown["key"];
type KeyTexts = Texts["operations"]["key"];

export function Key({ language, ...first }: KeyProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { key_id: id, party_uuid: party } = first.shown.key;
  const [done, setDone] = useState(0);
  const live = usePolled(`/ops/keys/${encodeURIComponent(id)}`, first.shown, done);
  const { data: acts } = usePolled(actsOn({ party, id }), first.acts, done);
  const { data: refused } = usePolled(refusedBy({ key_id: id }), first.refused);
  const { key } = live.data;
  return h(
    "div",
    null,
    h(
      "div",
      { class: "title" },
      h("h1", null, texts.refusals.key, " ", h("code", null, id)),
      stateBadge(key, texts.key),
      liveBadge(live.state, texts),
    ),
    h(
      "div",
      { class: "columns" },
      section("facts", texts.key.facts, factsOf(key, texts.key), linksOf(key, texts.key)),
      section(
        "acts",
        texts.acts.title,
        h(ActForm, {
          choices: keyChoices(key, texts.key),
          help: texts.key.acts.help,
          page: keyPath(id),
          texts: texts.acts,
          onDone: () => setDone(done + 1),
        }),
      ),
    ),
    section(
      "history",
      texts.key.history,
      historyOf(acts, texts.key, { caption: texts.key.historyCaption, entry: null }),
    ),
    section(
      "refused",
      texts.key.refused,
      h("p", { class: "quiet small" }, texts.refusals.help),
      refusedTable(refused, texts),
    ),
  );
}

/** The address of the API for what operators did to a key. */
function actsOn({ party, id }: { readonly party: string; readonly id: string }): string {
  return `/ops/acts/${party}?${new URLSearchParams({ entry: `key/${id}` })}`;
}

export function stateBadge({ revoked_at, compromised_from, valid_until }: KeyState, { states }: KeyTexts) {
  const isOver = valid_until !== null && Date.parse(valid_until) <= Date.now();
  const [tone, words]: readonly [Tone | "", string] =
    compromised_from !== null
      ? ["bad", states.compromised]
      : revoked_at !== null
        ? ["bad", states.revoked]
        : isOver
          ? ["", states.ended]
          : ["good", states.live];
  return badge(tone, words);
}

function factsOf(key: KeyState, texts: KeyTexts): ComponentChild {
  const rows: readonly Fact[] = [
    [texts.party, h("a", { href: partyPath(key.party_uuid) }, key.legal_name)],
    ["UUID", h("code", null, key.party_uuid)],
    [texts.role, key.role],
    [texts.validFrom, time(key.valid_from)],
    [texts.validUntil, time(key.valid_until, texts.open)],
    [texts.revoked, time(key.revoked_at, texts.no)],
    [texts.compromised, time(key.compromised_from, texts.no)],
  ];
  return facts(rows);
}

/** Keys of other roles have no actor of their own. */
function linksOf({ role, party_uuid: party, key_id: id }: KeyState, texts: KeyTexts): ComponentChild {
  const actor = actorPath("integration-key", `${party}.${id}`);
  return [
    role === "integration" ? h("p", null, h("a", { href: actor }, texts.actor)) : null,
    role === "retrieval" ? null : h("p", null, h("a", { href: searchPath(party) }, texts.everything)),
  ];
}

/** What operators did to a key, or to all of a party: then `entry` is what the entry of the register is called. */
export function historyOf(
  { acts, next_after }: PartyActs,
  texts: KeyTexts,
  { caption, entry: entryName }: { readonly caption: string; readonly entry: string | null },
): ComponentChild {
  if (acts.length === 0) return h("p", { class: "quiet" }, texts.noHistory);
  const ofEntry = <T>(cell: T): readonly T[] => (entryName === null ? [] : [cell]);
  const columns = [
    { name: texts.at, kind: "nowrap" as const },
    { name: texts.act, kind: "nowrap" as const },
    ...ofEntry(entryName ?? ""),
    texts.by,
    { name: texts.reason, kind: "words" as const },
  ];
  const rows = acts.map(({ change, at, act, entry, by, reason }) => ({
    key: String(change),
    cells: [shortTime(at), h("code", null, act), ...ofEntry(h("code", null, entry)), by, reason],
  }));
  return [
    dataTable(caption, columns, rows),
    next_after === null ? null : h("p", { class: "quiet" }, texts.moreHistory),
  ];
}

/** The acts that there are on a key as it is: one that is revoked may only turn out to have been compromised before. */
export function keyChoices(
  { key_id: id, revoked_at }: Pick<KeyState, "key_id" | "revoked_at">,
  { acts: { names, since } }: KeyTexts,
): readonly ActChoice[] {
  const address = `/ops/keys/${encodeURIComponent(id)}/revoke`;
  const revoke: ActChoice = {
    key: "revoke",
    words: names.revoke,
    fields: [],
    request: () => ({ address, members: {}, subject: id }),
  };
  return [
    ...(revoked_at === null ? [revoke] : []),
    {
      key: "compromise",
      words: names.compromise,
      fields: [{ name: "since", label: since, options: null }],
      request: ({ since: at = "" }) => ({
        address,
        members: { compromised_from: at.trim() },
        subject: `${id}, ${at.trim()}`,
      }),
    },
  ];
}
