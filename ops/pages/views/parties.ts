// The page of all parties, and the acts that need no page of a party: one is opened, and in a sandbox a grant is revoked.

import { type ComponentChild, h } from "preact";
import { useRef, useState } from "preact/hooks";
import { grantLengthMax } from "../../../protocol/limits.ts";
import { dataTable, section } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { ActorPage, ActorRow } from "../../inspection-shapes.ts";
import { type ActAnswer, type ActChoice, ActForm } from "./act-form.ts";
import { missingNodes } from "./actor-facts.ts";
import { keyPath, partiesPath, partyPath } from "./frame.ts";

type PartyTexts = Texts["operations"]["party"];

/** The parties of a page, complete without a script. `query` is empty where all are listed. */
export function partyList(
  {
    query,
    found,
  }: { readonly query: string; readonly found: Pick<ActorPage, "actors" | "next_after" | "missing"> },
  texts: Texts["operations"],
): ComponentChild {
  const { party: words } = texts;
  const next = found.next_after;
  return [
    h("div", { class: "title" }, h("h1", null, words.title)),
    section(
      "filter",
      words.find,
      h(
        "form",
        { class: "row", method: "get", action: partiesPath },
        h("label", null, words.nameOrUuid, h("input", { name: "q", value: query, maxLength: 200 })),
        h("button", { type: "submit" }, words.find),
      ),
    ),
    missingNodes(found.missing, texts),
    section(
      "found",
      words.title,
      found.actors.length === 0 ? h("p", { class: "quiet" }, words.none) : listTable(found.actors, words),
      next === null
        ? null
        : h(
            "p",
            null,
            h("a", { href: `${partiesPath}?${new URLSearchParams({ after: next })}` }, words.next),
          ),
    ),
  ];
}

function listTable(actors: readonly ActorRow[], words: PartyTexts): ComponentChild {
  const rows = actors.map(({ id, party, region }) => ({
    key: id,
    cells: [
      h("a", { href: partyPath(id) }, party?.legal_name ?? words.unnamed),
      party === null ? "" : words.kinds[party.kind],
      h("code", null, id),
      region ?? "",
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

export interface PartyActsProps {
  readonly language: Language;
  /** Whether this is a sandbox, which has grants. */
  readonly hasGrants: boolean;
}

export function PartyActs({ language, hasGrants }: PartyActsProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { opening: words } = texts.party;
  // Of one that is being opened: sent again after no answer came, it opens no second one.
  const uuid = useRef<string | null>(null);
  const [done, setDone] = useState<ActAnswer | null>(null);
  const newUuid = (): string => {
    uuid.current ??= crypto.randomUUID();
    return uuid.current;
  };
  return section(
    "acts",
    words.title,
    h(ActForm, {
      choices: openingChoices(texts.party, { hasGrants, newUuid }),
      help: hasGrants ? `${words.help} ${words.grantHelp}` : words.help,
      page: partiesPath,
      texts: texts.acts,
      onDone: (answer) => {
        uuid.current = null;
        setDone(answer);
      },
    }),
    done === null ? null : h("p", null, linkTo(done, words)),
  );
}

function linkTo(answer: ActAnswer, words: PartyTexts["opening"]): ComponentChild {
  const { party, key } = "changed" in answer ? answer : {};
  if (party !== undefined) return h("a", { href: partyPath(party.uuid) }, words.toParty(party.legal_name));
  return key === undefined ? null : h("a", { href: keyPath(key.key_id) }, words.toKey(key.key_id));
}

export function openingChoices(
  { opening: words, kinds }: PartyTexts,
  { hasGrants, newUuid }: { readonly hasGrants: boolean; readonly newUuid: () => string },
): readonly ActChoice[] {
  const open: ActChoice = {
    key: "open",
    words: words.open,
    fields: [
      { name: "kind", label: words.kind, options: [["", words.choose], ...Object.entries(kinds)] },
      { name: "legal_name", label: words.legalName, options: null, maxLength: 256 },
      { name: "country", label: words.country, options: null },
    ],
    request: ({ kind = "", legal_name = "", country = "" }) => {
      const members = { kind, legal_name: legal_name.trim(), country: country.trim(), cert_id: null };
      return {
        address: `/ops/parties/${newUuid()}/certify`,
        members,
        subject: words.named(members.legal_name, members.country, kinds[kind as keyof typeof kinds]),
        consequences: words.openFollows,
      };
    },
  };
  const revokeGrant: ActChoice = {
    key: "grant",
    words: words.revokeGrant,
    fields: [{ name: "grant", label: words.grant, options: null, maxLength: grantLengthMax }],
    request: ({ grant = "" }) => ({
      address: "/ops/grants/revoke",
      members: { grant: grant.trim() },
      subject: words.thisGrant,
    }),
  };
  return hasGrants ? [open, revokeGrant] : [open];
}
