// Who asks for what a business publishes, and what for: AI companies, days, countries, and the subjects that they named.

import { type ComponentChild, h } from "preact";
import type { Route } from "../../api/route.ts";
import { collectionNames } from "../../protocol/identifiers.ts";
import type { Result } from "../../protocol/result.ts";
import type { DailyAnalytics, Demand } from "../../protocol/wire/analytics.ts";
import { type Asking, type AskingFilter, type AskingReads, readAsking } from "../../service/portal/asking.ts";
import type { OwnBusiness } from "../../service/portal/owner.ts";
import { dataTable, facts, link, paragraph, section, shownNumber } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { hiddenFields } from "../pages/frame.ts";
import { type OwnVisit, ownForm, ownPage, type PageAnswer, page, problemPage } from "../visit.ts";
import { type AccountDeps, businessPath, ownerRefusedPage } from "./account.ts";
import { askingPath } from "./publishing.ts";

export interface AskingDeps extends AccountDeps {
  readonly analytics: AskingReads;
}

const texts = () => wording().business.asking;
const showPath = "/asking";
/** Rows of one table; those with the most come first. */
const rowsShown = 100;

export function askingRoutes(deps: AskingDeps): readonly Route[] {
  const { owner, analytics, challenges } = deps;
  const shown = async ({ who }: OwnVisit, uuid: string, filter: AskingFilter): Promise<PageAnswer> => {
    const own = await owner.business(who, uuid);
    if (own?.party.kind !== "business") return problemPage("not_there", 404);
    const { country, type } = filter;
    const demandOf = { country: country === "" ? own.party.country : country, type: type || "products" };
    const found = await readAsking(analytics, { uuid, filter, demandOf });
    if (!found.ok) return ownerRefusedPage(found);
    const form_code = challenges.formCode(who.session.session);
    return page(texts().title, content(own, found.value, { filter, form_code }));
  };
  return [
    ownPage(deps, askingPath(":named"), "Who asks for what a business publishes", (visit) =>
      shown(visit, visit.named, { from: "", to: "", country: "", type: "" }),
    ),
    ownForm(deps, showPath, "Shows who asked in some days, a country or for a type", (form, visit) => {
      const [from, to, type] = [form("from"), form("to"), form("type")];
      return shown(visit, form("uuid"), { from, to, country: form("country").trim().toUpperCase(), type });
    }),
  ];
}

interface Shown {
  readonly filter: AskingFilter;
  readonly form_code: string;
}

function content(own: OwnBusiness, { daily, who, demand }: Asking, shown: Shown): ComponentChild {
  const { uuid } = own.party;
  const { searches, rows, fetches } = daily.totals;
  const { totals } = texts();
  return h(
    "div",
    null,
    h("h1", null, texts().title),
    section(
      "window",
      texts().window(daily.from, daily.to),
      paragraph(texts().words),
      facts([
        [totals.searches, shownNumber(searches)],
        [totals.rows, shownNumber(rows)],
        [totals.fetches, shownNumber(fetches)],
      ]),
      filterForm(uuid, daily, shown),
    ),
    section("who", texts().who, whoTable(who.companies)),
    section("demand", texts().demand, demandContent(demand)),
    section("where", texts().where, whereTable(daily.figures)),
    section("days", texts().days, dayTable(daily.figures)),
    paragraph(link(businessPath(uuid), wording().portal.publishing.back)),
  );
}

function filterForm(
  uuid: string,
  { from, to }: DailyAnalytics,
  { filter, form_code }: Shown,
): ComponentChild {
  const words = texts().filter;
  const { typeNames } = wording().portal.business.mandates;
  const option = (value: string, name: string) =>
    h("option", { value, selected: filter.type === value }, name);
  return h(
    "form",
    { method: "post", action: showPath },
    hiddenFields({ uuid, form_code }),
    h("label", null, words.from, h("input", { name: "from", type: "date", value: from })),
    h("label", null, words.to, h("input", { name: "to", type: "date", value: to })),
    h("label", null, words.country, h("input", { name: "country", value: filter.country, maxLength: 2 })),
    h(
      "label",
      null,
      words.type,
      h(
        "select",
        { name: "type" },
        option("", words.anyType),
        collectionNames.map((each) => option(each, typeNames[each])),
      ),
    ),
    h("p", null, h("button", { type: "submit" }, words.button)),
  );
}

function whoTable(companies: Asking["who"]["companies"]): ComponentChild {
  const rows = companies.map(({ ai_company_uuid: key, legal_name, certificate_url, days, ...sum }) => {
    const name = legal_name ?? key;
    return {
      key,
      cells: [link(certificate_url, texts().certificate(name)), ...counts(sum), days.at(-1)?.day],
    };
  });
  return table(texts().whoCaption, texts().whoColumns, rows);
}

type Figures = DailyAnalytics["figures"];
type Sum = Pick<Figures[number], "searches" | "rows" | "fetches">;

function counts({ searches, rows, fetches }: Sum): readonly string[] {
  return [shownNumber(searches), shownNumber(rows), shownNumber(fetches)];
}

/** Added up under what `keyOf` says. */
function addedUp(
  figures: Figures,
  keyOf: (each: Figures[number]) => string,
): readonly (readonly [Figures[number], Sum])[] {
  const groups = new Map<string, [Figures[number], Sum]>();
  for (const each of figures) {
    const [first, { searches, rows, fetches }] = groups.get(keyOf(each)) ?? [each, nothing];
    const sum = {
      searches: searches + each.searches,
      rows: rows + each.rows,
      fetches: fetches + each.fetches,
    };
    groups.set(keyOf(each), [first, sum]);
  }
  return [...groups.values()];
}

const nothing: Sum = { searches: 0, rows: 0, fetches: 0 };

function dayTable(figures: Figures): ComponentChild {
  const rows = addedUp(figures, ({ day }) => day).map(([{ day }, sum]) => ({
    key: day,
    cells: [day, ...counts(sum)],
  }));
  return table(texts().daysCaption, texts().dayColumns, rows.toReversed());
}

function whereTable(figures: Figures): ComponentChild {
  const { typeNames } = wording().portal.business.mandates;
  const groups = addedUp(figures, ({ country, type }) => `${country} ${type}`);
  const most = groups.toSorted(([, a], [, b]) => b.searches + b.fetches - (a.searches + a.fetches));
  const rows = most.map(([{ country, type }, sum]) => ({
    key: `${country} ${type}`,
    cells: [country ?? texts().noCountry, typeNames[type], ...counts(sum)],
  }));
  return table(texts().whereCaption, texts().whereColumns, rows);
}

function demandContent(demand: Result<Demand, "not_accepted">): ComponentChild {
  if (!demand.ok) return paragraph(wording().said(demand.detail));
  const { threshold, country, type, subjects } = demand.value;
  const typeName = wording().portal.business.mandates.typeNames[type];
  const rows = subjects.map(({ subject, searches, days }) => ({
    key: subject,
    cells: [subject, shownNumber(searches), shownNumber(days)],
  }));
  return [
    paragraph(texts().demandWords(threshold.companies, threshold.searches, country, typeName)),
    rows.length === 0
      ? paragraph(texts().noDemand)
      : table(texts().demandCaption, texts().demandColumns, rows),
  ];
}

function table(
  caption: string,
  columns: readonly string[],
  rows: readonly { readonly key: string; readonly cells: readonly ComponentChild[] }[],
): ComponentChild {
  if (rows.length === 0) return paragraph(texts().none);
  const named = columns;
  return [
    dataTable(caption, named, rows.slice(0, rowsShown)),
    rows.length > rowsShown ? paragraph(texts().more(rowsShown)) : null,
  ];
}
