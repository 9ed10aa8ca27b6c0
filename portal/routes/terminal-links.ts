// What a terminal asks an owner for, by a link (protocol/portal-link.ts): the page shows it, and it goes on as what was written by hand.

import type { Route } from "../../api/route.ts";
import { askedIn, linkCodeLengthMax } from "../../protocol/portal-link.ts";
import { wording } from "../language.ts";
import { linkCodeIn, linkCodePage, openPage, ownForm, problemPage } from "../visit.ts";
import type { AccountDeps } from "./account.ts";
import { askKey, askMandate } from "./business.ts";

const texts = () => wording().portal.asked;
const askedPath = "/asked";

export function terminalLinkRoutes(deps: AccountDeps): readonly Route[] {
  return [
    openPage(deps, askedPath, "Opening a link that a terminal printed", ({ who }) => {
      const form_code = who === null ? "" : deps.challenges.formCode(who.session.session);
      const fields = { form_code };
      return linkCodePage(texts(), { action: askedPath, fields, lengthMax: linkCodeLengthMax });
    }),
    ownForm(deps, askedPath, "Shows what a terminal asks for", async (form, visit) => {
      const asked = askedIn(linkCodeIn(form));
      if (asked === null) return problemPage("not_asked");
      if (asked.ask === "mandate") return askMandate(deps, visit, asked);
      const { proven } = asked;
      return askKey(deps, visit, { uuid: proven.party_uuid, proven: JSON.stringify(proven) });
    }),
  ];
}
