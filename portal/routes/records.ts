// What a business has published: each record is opened in its form, withdrawn or deleted.

import { type ComponentChild, h } from "preact";
import type { Route } from "../../api/route.ts";
import { recordType } from "../../protocol/identifiers.ts";
import type { CataloguePage } from "../../protocol/wire/catalogue.ts";
import { sealingRoles } from "../../service/portal/owner.ts";
import { code, dataTable, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { plainForm } from "../pages/frame.ts";
import { ownForm, ownPage, page, problemPage } from "../visit.ts";
import { businessPath, ownerRefusedPage } from "./account.ts";
import { mayPublish, type PublishingDeps, recordPage, recordsPath, sealPage } from "./publishing.ts";

const texts = () => wording().portal.records;
const editPath = "/records/edit";
const removePath = "/records/remove";

export function recordRoutes(deps: PublishingDeps): readonly Route[] {
  const { owner, publishing, challenges } = deps;
  return [
    ownPage(deps, recordsPath(":named"), "What a business has published", async (visit) => {
      const { who, named: uuid, cursor } = visit;
      const own = await owner.business(who, uuid);
      if (own === null) return problemPage("not_there", 404);
      const listed = await publishing.records(who, { uuid, cursor });
      if (!listed.ok) return ownerRefusedPage(listed);
      const form_code = mayPublish(own) ? challenges.formCode(who.session.session) : null;
      const content = [
        h("h1", null, texts().title),
        recordTable(uuid, listed.value, form_code),
        h("p", null, h("a", { href: businessPath(uuid) }, wording().portal.publishing.back)),
      ];
      return page(texts().title, h("div", null, content));
    }),
    ownForm(deps, editPath, "Shows a record in its form", async (form, { who }) => {
      const uuid = form("uuid");
      const allowed = await owner.may(who, uuid, sealingRoles);
      if (!allowed.ok) return ownerRefusedPage(allowed);
      const read = await publishing.readRecord(who, { uuid, record_id: form("record_id") });
      if (!read.ok) return ownerRefusedPage(read);
      const { collection: type, record } = read.value;
      return recordPage(deps, who, { uuid, type, record, faults: [] });
    }),
    ownForm(deps, removePath, "Shows the words by which a record is taken out", async (form, { who }) => {
      const uuid = form("uuid");
      const action = form("action") === "delete" ? "delete" : "withdraw";
      const ready = await publishing.removal(who, { uuid, record_id: form("record_id"), action });
      return ready.ok ? sealPage(deps, who, uuid, ready.value) : ownerRefusedPage(ready);
    }),
  ];
}

/** Without a form's code nobody changes anything. */
function recordTable(
  uuid: string,
  { entries, next_cursor }: CataloguePage,
  form_code: string | null,
): ComponentChild {
  if (entries.length === 0 && next_cursor === null) return h("p", null, texts().none);
  const types: Readonly<Record<string, string>> = texts().types;
  const rows = entries.map(({ record_id, business_product_id: own, last_updated, source }) => {
    const act = (action: string, button: string, label: string, fields: Readonly<Record<string, string>>) =>
      form_code === null
        ? null
        : plainForm({ action, form_code, fields: { uuid, record_id, ...fields }, button, label });
    const type = recordType(record_id) ?? "";
    return {
      key: record_id,
      cells: [
        own,
        types[type] ?? type,
        code(record_id),
        shortTime(last_updated),
        texts().sources[source],
        act(editPath, texts().edit, texts().editNamed(own), {}),
        act(removePath, texts().withdraw, texts().withdrawNamed(own), { action: "withdraw" }),
        act(removePath, texts().remove, texts().removeNamed(own), { action: "delete" }),
      ],
    };
  });
  const table = dataTable(texts().caption, texts().columns, rows);
  const next = `${recordsPath(uuid)}?cursor=${encodeURIComponent(next_cursor ?? "")}`;
  return h(
    "section",
    { class: "card" },
    table,
    next_cursor === null ? null : h("p", null, h("a", { href: next }, texts().next)),
  );
}
