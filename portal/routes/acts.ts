// What was done to a party with a name, for who binds it: who, when and why. Nothing here can be edited.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import type { OwnActsPage, ReadOwnActs } from "../../service/portal/own-acts.ts";
import type { OwnBusiness } from "../../service/portal/owner.ts";
import { dataTable, link, paragraph, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { ownPage, page } from "../visit.ts";
import { type AccountDeps, actsPath, businessPath, ownerRefusedPage, ownWith } from "./account.ts";

const texts = () => wording().business.acts;

export interface ActsDeps extends AccountDeps {
  readonly acts: ReadOwnActs;
}

export function actRoutes(deps: ActsDeps): readonly Route[] {
  return [
    ownPage(deps, actsPath(":named"), "What was done to a party, and by whom", async (visit) => {
      const { who, named: uuid, cursor } = visit;
      const own = await ownWith(deps, who, uuid, bindingRoles);
      if ("kind" in own) return own;
      const read = await deps.acts(who, { uuid, cursor });
      if (!read.ok) return ownerRefusedPage(read);
      return page(texts().title(own.party.legal_name), actsContent(own, read.value));
    }),
  ];
}

function actsContent({ party }: OwnBusiness, { acts, next_cursor }: OwnActsPage): ComponentChild {
  const { uuid, legal_name } = party;
  const names: Readonly<Record<string, string>> = texts().names;
  const tables: Readonly<Record<string, string>> = texts().tables;
  const rows = acts.map(({ act, at, change, table, subject, by }) => ({
    key: String(change),
    cells: [
      shortTime(at),
      names[act] ?? act,
      table === "party" ? legal_name : `${tables[table] ?? table} ${subject}`,
      by === null ? texts().operator : by.name,
      by === null ? "" : by.reason,
    ],
  }));
  return h(
    "div",
    null,
    h("h1", null, texts().title(legal_name)),
    paragraph(texts().words),
    h(
      "section",
      { class: "card" },
      rows.length === 0 ? paragraph(texts().none) : dataTable(texts().caption, texts().columns, rows),
    ),
    next_cursor === null ? null : paragraph(link(`${actsPath(uuid)}?cursor=${next_cursor}`, texts().next)),
    paragraph(link(businessPath(uuid), wording().portal.publishing.back)),
  );
}
