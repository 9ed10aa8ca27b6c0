// The page of a party: its certificate, keys, mandates, blocks and account, everything that operators did to it, and the acts on it.

import { type ComponentChild, h } from "preact";
import { useState } from "preact/hooks";
import type { Of } from "../../../protocol/shape.ts";
import type { Account } from "../../../protocol/wire/allowance.ts";
import { badge, dataTable, type Fact, facts, section, shortTime, time } from "../../../web/parts.ts";
import { type Language, type Texts, textsOf } from "../../../web/texts/catalogue.ts";
import type { blockState, PartyActs, partyState } from "../../shapes.ts";
import { type ActChoice, ActForm } from "./act-form.ts";
import { actorPath, keyPath, partyPath, searchPath } from "./frame.ts";
import { historyOf, stateBadge } from "./key.ts";
import { liveBadge, usePolled } from "./live.ts";

type PartyTexts = Texts["operations"]["party"];
type PartyState = Of<typeof partyState>;
type BlockState = Of<typeof blockState>;

export interface PartyProps {
  readonly language: Language;
  readonly shown: { readonly party: PartyState };
  /** Null for an AI company. */
  readonly blocks: { readonly blocks: BlockState } | null;
  /** Null for a business, and for a company for which nothing was ever paid in. */
  readonly account: Account | null;
  readonly acts: PartyActs;
}

export function Party({ language, account, ...first }: PartyProps): ComponentChild {
  const texts = textsOf(language).operations;
  const { party: words } = texts;
  const { uuid } = first.shown.party;
  const [done, setDone] = useState(0);
  const live = usePolled(`/ops/parties/${uuid}`, first.shown, done);
  const { data: acts } = usePolled(`/ops/acts/${uuid}`, first.acts, done);
  const { party } = live.data;
  const onDone = () => setDone(done + 1);
  return h(
    "div",
    null,
    h(
      "div",
      { class: "title" },
      h("h1", null, party.legal_name),
      certificateBadge(party, words),
      liveBadge(live.state, texts),
    ),
    h(
      "div",
      { class: "columns" },
      section("facts", words.facts, factsOf(party, words)),
      section(
        "acts",
        texts.acts.title,
        h(ActForm, {
          choices: partyChoices(party, words),
          help: words.acts.help,
          page: partyPath(uuid),
          texts: texts.acts,
          onDone,
        }),
      ),
    ),
    section("keys", words.keys, keysTable(party, texts)),
    party.kind === "business" ? section("mandates", words.mandates, mandatesTable(party, words)) : null,
    first.blocks === null ? null : h(Blocked, { first: first.blocks, texts, done }),
    party.kind === "business" ? null : h(AccountOf, { party, first: account, texts }),
    section(
      "history",
      words.history,
      historyOf(acts, texts.key, { caption: words.historyCaption, entry: words.historyEntry }),
    ),
  );
}

function certificateBadge({ certificate }: PartyState, { certificates }: PartyTexts): ComponentChild {
  if (certificate === null) return badge("warn", certificates.none);
  return badge(certificate.status === "active" ? "good" : "bad", certificates[certificate.status]);
}

function factsOf({ uuid, kind, country, certificate }: PartyState, words: PartyTexts): ComponentChild {
  const rows: readonly Fact[] = [
    ["UUID", h("code", null, uuid)],
    [words.kind, words.kinds[kind]],
    [words.country, country],
    ...(certificate === null
      ? []
      : ([
          [words.certificate, h("code", null, certificate.cert_id)],
          [words.issued, time(certificate.issued_at)],
          [words.effective, time(certificate.status_effective_from)],
          [words.statusReason, certificate.status_reason ?? "–"],
        ] satisfies readonly Fact[])),
  ];
  return [
    facts(rows),
    h("p", null, h("a", { href: actorPath("business", uuid) }, words.actor)),
    kind === "business" ? h("p", null, h("a", { href: searchPath(uuid) }, words.everything)) : null,
  ];
}

function keysTable({ keys }: PartyState, texts: Texts["operations"]): ComponentChild {
  const words = texts.party;
  if (keys.length === 0) return h("p", { class: "quiet" }, words.noKeys);
  const rows = keys.map((key) => ({
    key: key.key_id,
    cells: [
      h("a", { href: keyPath(key.key_id) }, h("code", null, key.key_id)),
      key.role,
      shortTime(key.valid_from),
      stateBadge(key, texts.key),
    ],
  }));
  return dataTable(words.keysCaption, words.keyColumns, rows);
}

function mandatesTable({ mandates, older_mandates }: PartyState, words: PartyTexts): ComponentChild {
  if (mandates.length === 0) return h("p", { class: "quiet" }, words.noMandates);
  const rows = mandates.map((each) => ({
    key: each.mandate_id,
    cells: [
      h("code", null, each.mandate_id),
      h("a", { href: keyPath(each.key_id) }, h("code", null, each.key_id)),
      shortTime(each.valid_from),
      shortTime(each.valid_until),
      mandateBadge(each, words),
    ],
  }));
  const table = dataTable(words.mandatesCaption, words.mandateColumns, rows);
  return older_mandates === 0
    ? table
    : [table, h("p", { class: "quiet" }, words.olderMandates(older_mandates))];
}

function mandateBadge(
  { revoked_at, valid_until }: PartyState["mandates"][number],
  { mandateStates: words }: PartyTexts,
): ComponentChild {
  if (revoked_at !== null) return badge("bad", words.revoked);
  return Date.parse(valid_until) <= Date.now() ? badge("", words.ended) : badge("good", words.live);
}

/** Which groups of AI companies a business blocks, and the acts that change it. */
function Blocked({
  first,
  texts,
  done: doneAbove,
}: {
  readonly first: { readonly blocks: BlockState };
  readonly texts: Texts["operations"];
  readonly done: number;
}): ComponentChild {
  const { party: words } = texts;
  const [done, setDone] = useState(0);
  const { business_uuid: uuid } = first.blocks;
  const { data } = usePolled(`/ops/blocks/${uuid}`, first, `${doneAbove} ${done}`);
  const { blocked } = data.blocks;
  const rows = blocked.map(({ group, companies }) => ({
    key: group,
    cells: [h("code", null, group), companies.map(({ legal_name }) => legal_name).join(", ")],
  }));
  return section(
    "blocks",
    words.blocks,
    rows.length === 0
      ? h("p", { class: "quiet" }, words.noBlocks)
      : dataTable(words.blocksCaption, words.blockColumns, rows),
    h(ActForm, {
      choices: blockChoices(data.blocks, words),
      help: words.acts.blockHelp,
      page: partyPath(uuid),
      texts: texts.acts,
      onDone: () => setDone(done + 1),
    }),
  );
}

/** What an AI company has paid in, and the acts that add to it. */
function AccountOf({
  party,
  first,
  texts,
}: {
  readonly party: Pick<PartyState, "uuid" | "legal_name">;
  readonly first: Account | null;
  readonly texts: Texts["operations"];
}): ComponentChild {
  const { party: words } = texts;
  const [done, setDone] = useState(0);
  return section(
    "account",
    words.account,
    // Nobody asks for an account again and again that there is not.
    first === null && done === 0
      ? h("p", { class: "quiet" }, words.noAccount)
      : h(AccountNow, { uuid: party.uuid, first, done, words }),
    h(ActForm, {
      choices: accountChoices(party, first?.currency ?? null, words),
      help: words.entry.help,
      page: partyPath(party.uuid),
      texts: texts.acts,
      onDone: () => setDone(done + 1),
    }),
  );
}

interface AccountNowProps {
  readonly uuid: string;
  readonly first: Account | null;
  readonly done: number;
  readonly words: PartyTexts;
}

function AccountNow({ uuid, first, done, words }: AccountNowProps): ComponentChild {
  const { account } = usePolled(`/ops/ledgers/${uuid}`, { account: first }, done).data;
  if (account === null) return null;
  const { balance, reserved, available, currency } = account;
  return facts([
    [words.balance, `${balance} ${currency}`],
    [words.reserved, `${reserved} ${currency}`],
    [words.available, `${available} ${currency}`],
  ]);
}

/** An account has one currency, that of its first entry. */
export function accountChoices(
  { uuid, legal_name }: Pick<PartyState, "uuid" | "legal_name">,
  known: string | null,
  { entry: words }: PartyTexts,
): readonly ActChoice[] {
  return (["top_up", "correction"] as const).map((kind) => ({
    key: kind,
    words: words.names[kind],
    fields: [
      { name: "amount", label: words.amount, options: null },
      { name: "currency", label: words.currency, options: known === null ? null : [[known, known]] },
      { name: "entry_id", label: words.id, options: null },
    ],
    request: ({ amount = "", currency = "", entry_id = "" }) => {
      const members = { amount: amount.trim(), currency: currency.trim(), entry_id: entry_id.trim() };
      return {
        address: `/ops/ledgers/${uuid}/entries`,
        members: { kind, ...members },
        subject: words.subject(legal_name, `${members.amount} ${members.currency}`, members.entry_id),
      };
    },
  }));
}

/** What can be done to a party as it is; keys have pages of their own. */
export function partyChoices(
  { uuid, kind, legal_name, country, certificate, mandates }: PartyState,
  { acts: words }: PartyTexts,
): readonly ActChoice[] {
  const subject = `${legal_name}, ${uuid}`;
  const live = mandates.filter((each) => each.revoked_at === null);
  const endings =
    kind === "business" ? (["revoke", "close", "withdraw"] as const) : (["revoke", "withdraw"] as const);
  const end = endings.map(
    (last): ActChoice => ({
      key: last,
      words: words.names[last],
      fields: [
        { name: "status_reason", label: words.statusReason, options: null },
        { name: "effective_from", label: words.effectiveFrom, options: null, isOptional: true },
      ],
      request: ({ status_reason = "", effective_from = "" }) => ({
        address: `/ops/certificates/${uuid}/${last}`,
        members: {
          cert_id: certificate?.cert_id,
          status_reason: status_reason.trim(),
          ...(effective_from.trim() === "" ? {} : { effective_from: effective_from.trim() }),
        },
        subject,
        consequences: kind === "business" ? words.endFollows : words.endFollowsCompany,
      }),
    }),
  );
  const certify: ActChoice = {
    key: "certify",
    words: words.names.certify,
    fields: [],
    request: () => ({
      address: `/ops/parties/${uuid}/certify`,
      members: { kind, legal_name, country, cert_id: certificate?.cert_id ?? null },
      subject,
    }),
  };
  const revokeMandate: ActChoice = {
    key: "mandate",
    words: words.names.mandate,
    fields: [
      {
        name: "mandate_id",
        label: words.mandate,
        options: live.map(({ mandate_id: id }) => [id, id] as const),
      },
    ],
    request: ({ mandate_id = "" }) => ({
      address: `/ops/mandates/${uuid}/${encodeURIComponent(mandate_id)}/revoke`,
      members: {},
      subject: `${mandate_id}, ${legal_name}`,
    }),
  };
  const registerKey: ActChoice = {
    key: "key",
    words: words.names.key,
    fields: [
      { name: "proven", label: words.proven, options: null, maxLength: provenLengthMax },
      { name: "valid_until", label: words.validUntil, options: null, isOptional: true },
    ],
    fault: ({ proven = "" }) => {
      const read = provenIn(proven);
      if (read === null) return words.notProven;
      return read.party_uuid === uuid ? null : words.provenByOther;
    },
    request: ({ proven = "", valid_until = "" }) => {
      const { public_key, proof, key_id = "" } = provenIn(proven) ?? {};
      const until = valid_until.trim() === "" ? {} : { valid_until: valid_until.trim() };
      return {
        address: `/ops/parties/${uuid}/keys`,
        members: { public_key, proof, ...until },
        subject: `${key_id}, ${legal_name}`,
        consequences: words.keyFollows,
      };
    },
  };
  const reissue = (cert_id: string): ActChoice => ({
    key: "reissue",
    words: words.names.reissue,
    fields: [],
    request: () => ({
      address: `/ops/parties/${uuid}/reissue`,
      members: { cert_id },
      subject,
      consequences: words.reissueFollows,
    }),
  });
  return [
    ...(live.length === 0 ? [] : [revokeMandate]),
    ...(certificate?.status === "active" ? [registerKey, reissue(certificate.cert_id)] : [certify]),
    ...(certificate === null ? [] : end),
  ];
}

/** A proof of possession and the public key, with room for a passkey's. */
const provenLengthMax = 16_384;

interface ProvenText {
  readonly party_uuid: unknown;
  readonly public_key: unknown;
  readonly proof: unknown;
  /** As the proof names it: a node refuses a proof that names another key than the one that made it. */
  readonly key_id: string;
}

/** What `svc prove-key` printed; null for anything else. Whether it proves anything is judged by the node. */
function provenIn(text: string): ProvenText | null {
  try {
    const { party_uuid, public_key, proof } = JSON.parse(text);
    const key_id: unknown = proof.signatures[0].keyid;
    const isWhole = typeof key_id === "string" && typeof public_key === "object";
    return isWhole ? { party_uuid, public_key, proof, key_id } : null;
  } catch {
    return null;
  }
}

export function blockChoices(
  { business_uuid: uuid, blocked, change }: BlockState,
  { acts: words }: PartyTexts,
): readonly ActChoice[] {
  const choice = (last: "block" | "unblock", options: ActChoice["fields"][number]["options"]): ActChoice => ({
    key: last,
    words: words.names[last],
    fields: [{ name: "group", label: words.group, options }],
    request: ({ group = "" }) => ({
      address: `/ops/blocks/${uuid}/${last}`,
      members: { group: group.trim(), expected: change },
      subject: group.trim(),
    }),
  });
  return [
    choice("block", null),
    ...(blocked.length === 0
      ? []
      : [
          choice(
            "unblock",
            blocked.map(({ group }) => [group, group] as const),
          ),
        ]),
  ];
}
