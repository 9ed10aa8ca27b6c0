// Which groups of AI companies a business blocks, as switches with what they mean.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import type { ShownGroup } from "../../service/portal/blocks.ts";
import { badge, code, dataTable, link, paragraph } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { plainForm } from "../pages/frame.ts";
import { ownForm, ownPage, page, problemPage } from "../visit.ts";
import { type AccountDeps, blocksPath, businessPath, confirmPage, ownWith } from "./account.ts";

const texts = () => wording().business.blocks;
const choosePath = "/blocks/choose";

export function blockRoutes(deps: AccountDeps): readonly Route[] {
  const { owner, blocks, challenges } = deps;
  return [
    ownPage(deps, blocksPath(":named"), "Which AI companies a business blocks", async (visit) => {
      const { who, named: uuid } = visit;
      const own = await owner.business(who, uuid);
      if (own?.party.kind !== "business") return problemPage("not_there", 404);
      const isBinding = bindingRoles.includes(own.member.role);
      const form_code = isBinding ? challenges.formCode(who.session.session) : null;
      const content = [
        h("h1", null, texts().title),
        texts().words.map((sentence) => paragraph(sentence)),
        h("section", { class: "card" }, groupTable(uuid, await blocks.groups(uuid), form_code)),
        isBinding ? null : paragraph(texts().notYours),
        paragraph(link(businessPath(uuid), wording().portal.publishing.back)),
      ];
      return page(texts().title, h("div", null, content));
    }),
    ownForm(
      deps,
      choosePath,
      "Asks for a group of AI companies to be blocked or not",
      async (form, { who }) => {
        const own = await ownWith(deps, who, form("uuid"), bindingRoles);
        if ("kind" in own) return own;
        const { uuid, legal_name, kind } = own.party;
        const [group, blocked] = [form("group"), form("blocked") === "yes"];
        const shown = kind === "business" && (await blocks.groups(uuid)).some((each) => each.group === group);
        if (!shown) return problemPage("not_there", 404);
        return confirmPage(deps, who, { act: "group.choose", uuid, legal_name, group, blocked });
      },
    ),
  ];
}

/** Without a form's code nobody changes anything. */
function groupTable(uuid: string, groups: readonly ShownGroup[], form_code: string | null): ComponentChild {
  if (groups.length === 0) return paragraph(texts().none);
  const rows = groups.map(({ group, blocked, companies }) => {
    const names = companies.map(({ legal_name, former }) =>
      former ? texts().former(legal_name) : legal_name,
    );
    return {
      key: group,
      cells: [
        names.length === 0 ? texts().unknown : names.join(", "),
        code(group),
        blocked ? badge("bad", texts().states.blocked) : badge("good", texts().states.served),
        form_code === null
          ? null
          : plainForm({
              action: choosePath,
              form_code,
              fields: { uuid, group, blocked: blocked ? "no" : "yes" },
              button: blocked ? texts().unblock : texts().block,
              label: (blocked ? texts().unblockNamed : texts().blockNamed)(names[0] ?? group),
            }),
      ],
    };
  });
  return dataTable(texts().caption, texts().columns, rows);
}
