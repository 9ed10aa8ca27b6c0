// The page of an AI company: its certificate, the keys of its systems, terms, listing, account, usage and receipts.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import { type ReceiptsAnswer, type UsageGroup, usageGroups } from "../../protocol/wire/receipts.ts";
import type { CompanyState, ReceiptFilter } from "../../service/portal/company.ts";
import type { OwnBusiness } from "../../service/portal/owner.ts";
import {
  code,
  dataTable,
  facts,
  link,
  paragraph,
  section,
  shortTime,
  shownNumber,
  withNumbers,
} from "../../web/parts.ts";
import { wording } from "../language.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import { type Form, type OwnVisit, ownForm, ownPage, type PageAnswer, page, problemPage } from "../visit.ts";
import { type AccountDeps, companyPath, confirmPage, ownerRefusedPage } from "./account.ts";
import { configText, keySection, type Place, partyCard } from "./business.ts";
import { statementsPath } from "./statements.ts";

const texts = () => wording().company;
const receiptsPath = "/companies/receipts";
const usagePath = "/companies/usage";

export function companyRoutes(deps: AccountDeps, place: Place): readonly Route[] {
  const { owner, company, challenges } = deps;
  const companyOf = async ({ who }: OwnVisit, uuid: string): Promise<OwnBusiness | null> => {
    const own = await owner.business(who, uuid);
    return own?.party.kind === "ai_company" ? own : null;
  };
  /** The company that a form names, for somebody who may bind it. */
  const bound = async (form: Form, visit: OwnVisit): Promise<OwnBusiness | PageAnswer> => {
    const own = await companyOf(visit, form("uuid"));
    if (own === null) return problemPage("not_there", 404);
    return bindingRoles.includes(own.member.role) ? own : problemPage("role_too_low", 403);
  };
  return [
    ownPage(deps, companyPath(":named"), "An AI company that one works for", async (visit) => {
      const own = await companyOf(visit, visit.named);
      if (own === null) return problemPage("not_there", 404);
      const form_code = challenges.formCode(visit.who.session.session);
      return page(
        own.party.legal_name,
        content(own, await company.state(visit.named), { ...place, form_code }),
      );
    }),
    ownForm(
      deps,
      "/companies/listing",
      "Asks for the directory to list a company or not",
      async (form, visit) => {
        const own = await bound(form, visit);
        if ("kind" in own) return own;
        const { uuid, legal_name } = own.party;
        const act = { act: "directory.choose", uuid, legal_name, listed: form("listed") === "yes" } as const;
        return confirmPage(deps, visit.who, act);
      },
    ),
    ownForm(deps, "/companies/terms", "Asks to agree to terms", async (form, visit) => {
      const own = await bound(form, visit);
      if ("kind" in own) return own;
      const { uuid, legal_name } = own.party;
      const terms = await company.terms(uuid);
      // What was read is agreed to: not what came into force since.
      if (terms === null || terms.sha256 !== form("sha256")) return problemPage("form_stale", 409);
      const { version, sha256 } = terms;
      return confirmPage(deps, visit.who, { act: "terms.agree", uuid, legal_name, version, sha256 });
    }),
    ownPage(deps, termsPath(":named"), "The terms of a version", async (visit) => {
      const own = await companyOf(visit, visit.named);
      const terms = own === null ? null : await company.terms(visit.named, visit.cursor ?? undefined);
      if (own === null || terms === null) return problemPage("not_there", 404);
      const title = texts().terms.version(terms.version);
      const { uuid, legal_name } = own.party;
      return page(
        title,
        h(
          "section",
          { class: "card" },
          h("h1", null, title),
          termsText(terms),
          paragraph(link(companyPath(uuid), legal_name)),
        ),
      );
    }),
    ownForm(deps, usagePath, "Shows the usage of a company in some days", async (form, visit) => {
      const own = await companyOf(visit, form("uuid"));
      if (own === null) return problemPage("not_there", 404);
      const { uuid, legal_name } = own.party;
      const by = usageGroups.filter((group) => form(`by_${group}`) === "on");
      const days = { from: form("from"), to: form("to"), by };
      const found = await company.usage(uuid, { ...days, group_by: by.join(",") });
      if (!found.ok) return ownerRefusedPage(found);
      const form_code = challenges.formCode(visit.who.session.session);
      const { title } = texts().usage;
      return page(
        title,
        h(
          "section",
          { class: "card" },
          h("h1", null, title),
          paragraph(link(companyPath(uuid), legal_name)),
          usageForm(uuid, form_code, days),
          usageTable(found.value, by),
        ),
      );
    }),
    ownForm(deps, receiptsPath, "Shows receipts of a company", async (form, visit) => {
      const own = await companyOf(visit, form("uuid"));
      if (own === null) return problemPage("not_there", 404);
      const filter = {
        from: form("from"),
        to: form("to"),
        key_id: form("key_id"),
        retrieval_id: form("retrieval_id").trim(),
        cursor: form("cursor"),
      };
      const found = await company.receipts(own.party.uuid, filter);
      if (!found.ok) return ownerRefusedPage(found);
      const form_code = challenges.formCode(visit.who.session.session);
      return page(texts().receipts.title, receiptsContent(own, found.value, { ...place, form_code, filter }));
    }),
  ];
}

interface Shown extends Place {
  readonly form_code: string;
}

function content(own: OwnBusiness, state: CompanyState, shown: Shown): ComponentChild {
  const { party, member } = own;
  const isBinding = bindingRoles.includes(member.role);
  return h(
    "div",
    null,
    h("h1", null, party.legal_name),
    partyCard(own),
    section("group", texts().group.title, paragraph(texts().group.words), paragraph(code(state.group ?? ""))),
    termsSection(own, state, isBinding ? shown.form_code : null),
    keySection(own, shown.form_code, texts().keys),
    askSection(shown),
    accountSection(party.uuid, state),
    section(
      "usage",
      texts().usage.ofMonth,
      usageTable(state.usage, usualGroups),
      usageForm(party.uuid, shown.form_code, { ...state.usage, by: usualGroups }),
    ),
    section("receipts", texts().receipts.title, paragraph(texts().receipts.words), receiptForm(own, shown)),
    section(
      "listing",
      texts().listing.title,
      paragraph(texts().listing.words(state.listed)),
      isBinding
        ? plainForm({
            action: "/companies/listing",
            form_code: shown.form_code,
            fields: { uuid: party.uuid, listed: state.listed ? "no" : "yes" },
            button: texts().listing.button(state.listed),
          })
        : null,
    ),
  );
}

/** `form_code` is null for somebody who may not agree. */
function termsSection(
  { party }: OwnBusiness,
  { terms }: CompanyState,
  form_code: string | null,
): ComponentChild {
  const words = texts().terms;
  if (terms === null) return section("terms", words.title, paragraph(words.none));
  const { version, sha256, agreed, versions } = terms;
  const agreeing =
    agreed === null && form_code !== null
      ? plainForm({
          action: "/companies/terms",
          form_code,
          fields: { uuid: party.uuid, sha256 },
          button: words.button(version),
        })
      : null;
  return section(
    "terms",
    words.title,
    termsText(terms),
    agreeing,
    versions
      .filter((each) => each.version !== version)
      .map((each) =>
        paragraph(link(`${termsPath(party.uuid)}?cursor=${each.version}`, words.version(each.version))),
      ),
  );
}

function termsText({
  version,
  effective_from,
  text,
  sha256,
  agreed,
}: NonNullable<CompanyState["terms"]>): ComponentChild {
  const words = texts().terms;
  return [
    paragraph(words.from(version, effective_from)),
    h("pre", { tabIndex: 0 }, text),
    paragraph(code(sha256)),
    paragraph(agreed === null ? words.notAgreed : words.agreed(agreed.agreed_at)),
  ];
}

/** The terms of a company, by the number of a version as cursor. */
function termsPath(uuid: string): string {
  return `${companyPath(uuid)}/terms`;
}

const configFile = "company.json";

function askSection(place: Place): ComponentChild {
  const firstSearch = `svc search products --country GB --config ${configFile}`;
  return section(
    "ask",
    texts().ask.title,
    paragraph(texts().ask.words(configFile)),
    h("pre", { tabIndex: 0 }, configText(place)),
    h("pre", { tabIndex: 0 }, firstSearch),
  );
}

function accountSection(
  uuid: string,
  { account: { billed, account }, entries }: CompanyState,
): ComponentChild {
  const words = texts().account;
  const said = (amount: string) => `${amount} ${account?.currency ?? ""}`;
  return section(
    "account",
    words.title,
    billed ? null : paragraph(words.notBilled),
    account === null
      ? billed
        ? paragraph(words.none)
        : null
      : facts([
          [words.balance, said(account.balance)],
          [words.reserved, said(account.reserved)],
          [words.available, said(account.available)],
        ]),
    entries.length === 0
      ? null
      : dataTable(
          words.caption,
          words.columns,
          entries.map(({ entry_id, kind, amount, at }) => ({
            key: entry_id,
            cells: [shortTime(at), words.kinds[kind], said(amount), code(entry_id)],
          })),
        ),
    billed ? paragraph(words.topUp(uuid)) : null,
    account === null ? null : paragraph(link(statementsPath(uuid), words.statements)),
  );
}

const usualGroups: readonly UsageGroup[] = ["day", "key"];

interface UsageAsked {
  readonly from: string;
  readonly to: string;
  readonly by: readonly UsageGroup[];
}

function usageForm(uuid: string, form_code: string, { from, to, by }: UsageAsked): ComponentChild {
  const words = texts().usage;
  return h(
    "form",
    { method: "post", action: usagePath },
    hiddenFields({ uuid, form_code }),
    dayInput("from", words.from, from),
    dayInput("to", words.to, to),
    h(
      "fieldset",
      null,
      h("legend", null, words.by),
      usageGroups.map((group) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "checkbox", name: `by_${group}`, checked: by.includes(group) }),
          words.groups[group],
        ),
      ),
    ),
    h("p", null, h("button", { type: "submit" }, words.button)),
  );
}

function dayInput(name: string, label: string, value: string): ComponentChild {
  return h("label", null, label, h("input", { name, type: "date", value }));
}

function usageTable(
  { region, usage, total }: CompanyState["usage"],
  by: readonly UsageGroup[],
): ComponentChild {
  const words = texts().usage;
  const rowOf = (key: string, cells: readonly ComponentChild[], of: typeof total) => ({
    key,
    cells: [...cells, shownNumber(of.requests), shownNumber(of.billable), shownNumber(of.rows)],
  });
  const rows = usage.map((each) => {
    const cells = {
      day: each.day ?? "",
      key: code(each.key_id ?? ""),
      kind: each.kind === undefined ? "" : texts().receipts.kinds[each.kind],
      collection: each.collection ?? "–",
      country: each.country ?? "–",
    };
    const key = [each.day, each.key_id, each.kind, each.collection, each.country].join(" ");
    return rowOf(
      key,
      by.map((group) => cells[group]),
      each,
    );
  });
  const all = rowOf(
    "total",
    by.map((_, at) => (at === 0 ? words.total : "")),
    total,
  );
  const at = by.length;
  const columns = withNumbers(
    [...by.map((group) => words.names[group]), ...words.columns],
    at,
    at + 1,
    at + 2,
  );
  return usage.length === 0
    ? paragraph(words.none)
    : dataTable(words.caption(region), columns, [...rows, all]);
}

function receiptForm(
  { party: { uuid, keys } }: OwnBusiness,
  { urls, form_code }: Shown,
  filter?: ReceiptFilter,
) {
  const words = texts().receipts;
  return h(
    "div",
    null,
    h(
      "form",
      { method: "post", action: receiptsPath },
      hiddenFields({ uuid, form_code }),
      dayInput("from", words.from, filter?.from ?? ""),
      dayInput("to", words.to, filter?.to ?? ""),
      h(
        "label",
        null,
        words.key,
        h(
          "select",
          { name: "key_id" },
          h("option", { value: "" }, words.anyKey),
          keys.map(({ key_id }) =>
            h("option", { value: key_id, selected: filter?.key_id === key_id }, key_id),
          ),
        ),
      ),
      h(
        "label",
        null,
        words.retrieval,
        h("input", {
          name: "retrieval_id",
          value: filter?.retrieval_id ?? "",
          maxLength: 36,
          spellcheck: false,
          autocomplete: "off",
        }),
      ),
      h("p", null, h("button", { type: "submit" }, words.button)),
    ),
    paragraph(link(`${urls.verify_url}/verify`, words.page)),
  );
}

function receiptsContent(
  own: OwnBusiness,
  { receipts, next_cursor, checked }: ReceiptsAnswer,
  shown: Shown & { readonly filter: ReceiptFilter },
): ComponentChild {
  const words = texts().receipts;
  const { form_code, filter } = shown;
  const { uuid, legal_name } = own.party;
  const rows = receipts.map(
    ({ retrieval_id: key, served_at, key_id, kind, collection, country, rows, billable }) => ({
      key,
      cells: [
        shortTime(served_at),
        code(key),
        code(key_id),
        `${words.kinds[kind]} ${collection ?? ""}`.trim(),
        country ?? "",
        shownNumber(rows),
        billable ? words.yes : words.no,
      ],
    }),
  );
  return h(
    "section",
    { class: "card" },
    h("h1", null, words.title),
    paragraph(link(companyPath(uuid), legal_name)),
    receiptForm(own, shown, filter),
    rows.length === 0 ? paragraph(words.none) : dataTable(words.caption, words.columns, rows),
    checked === undefined ? null : checkedContent(checked),
    next_cursor === null
      ? null
      : plainForm({
          action: receiptsPath,
          form_code,
          fields: { uuid, ...filter, cursor: next_cursor },
          button: words.more,
        }),
  );
}

function checkedContent({ valid, reason, log }: NonNullable<ReceiptsAnswer["checked"]>): ComponentChild {
  const words = texts().receipts.checked;
  return [
    paragraph(valid ? words.valid : words.invalid(reason ?? "")),
    paragraph(log === null ? words.notLogged : words.logged(log.batch?.leaf_index ?? log.leaf_index)),
  ];
}
