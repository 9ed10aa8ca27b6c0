// What a terminal asks an owner for, by a link (protocol/portal-link.ts): the page shows it, and it goes on as what was written by hand.

import { h } from "preact";
import type { Route } from "../../api/route.ts";
import { askedIn, linkCodeLengthMax } from "../../protocol/portal-link.ts";
import { english } from "../../web/texts/catalogue.ts";
import { hiddenFields } from "../pages/frame.ts";
import { cardPage, openPage, ownForm, problemPage } from "../visit.ts";
import type { AccountDeps } from "./account.ts";
import { askKey, askMandate } from "./business.ts";

const texts = english.portal.asked;
const askedPath = "/asked";

export function terminalLinkRoutes(deps: AccountDeps): readonly Route[] {
  return [
    openPage(deps, askedPath, "Opening a link that a terminal printed", ({ who }) => {
      const form_code = who === null ? "" : deps.challenges.formCode(who.session.session);
      const code = {
        name: "code",
        required: true,
        maxLength: linkCodeLengthMax,
        "data-from-hash": true,
        autocomplete: "off",
      };
      return cardPage(
        texts.title,
        h(
          "form",
          { method: "post", action: askedPath },
          h("p", null, texts.words),
          hiddenFields({ form_code }),
          h("label", null, texts.code, h("input", code)),
          h("p", null, h("button", { type: "submit" }, texts.button)),
        ),
      );
    }),
    ownForm(deps, askedPath, "Shows what a terminal asks for", async (form, visit) => {
      const asked = askedIn(form("code").trim().replace(/^.*#/, ""));
      if (asked === null) return problemPage("not_asked");
      if (asked.ask === "mandate") return askMandate(deps, visit, asked);
      const { proven } = asked;
      return askKey(deps, visit, { uuid: proven.party_uuid, proven: JSON.stringify(proven) });
    }),
  ];
}
