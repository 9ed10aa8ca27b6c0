// The notices of a party, for who binds it: the newest, which of them one is told of, and where they are mailed.

import { type ComponentChild, h } from "preact";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { ChosenKind } from "../../actors/messages/notices.ts";
import type { Route } from "../../api/route.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import { addressIn, chosenKinds, type OwnNotices } from "../../service/portal/notices.ts";
import type { OwnBusiness } from "../../service/portal/owner.ts";
import { dataTable, link, paragraph, section, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { noticeWords } from "../notice-words.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import {
  cardPage,
  linkCodeIn,
  linkCodePage,
  openPage,
  ownForm,
  ownPage,
  page,
  problemPage,
} from "../visit.ts";
import {
  type AccountDeps,
  confirmPage,
  mailLinkPath,
  mailRefusedPage,
  ownWith,
  webhooksPath,
} from "./account.ts";

const texts = () => wording().portal.notices;
const webhooks = () => wording().business.webhooks;

export function noticeRoutes(deps: AccountDeps): readonly Route[] {
  const { notices, challenges } = deps;
  return [
    ownPage(deps, "/notices/:named", "What one is told of a party", async ({ who, named }) => {
      const own = await ownWith(deps, who, named, bindingRoles);
      if ("kind" in own) return own;
      const told = await notices.read(who, named);
      if (told === null) return problemPage("role_too_low", 403);
      const form_code = challenges.formCode(who.session.session);
      return page(texts().title(own.party.legal_name), noticesContent(own, told, form_code));
    }),
    ownForm(deps, "/notices/choose", "Asks for some kinds of notices", async (form, { who }) => {
      const own = await ownWith(deps, who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name } = own.party;
      const kinds = chosenKinds.filter((each) => form(each) === "on");
      return confirmPage(deps, who, { act: "notices.choose", uuid, legal_name, kinds });
    }),
    ownForm(deps, "/notices/mail", "Asks for notices to be mailed", async (form, { who }) => {
      const own = await ownWith(deps, who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const address = addressIn(form("address"));
      if (!notices.isMailed) return problemPage("not_there", 404);
      if (address === null) return problemPage("address_invalid");
      const { uuid, legal_name } = own.party;
      return confirmPage(deps, who, { act: "mail.set", uuid, legal_name, address });
    }),
    ownForm(deps, "/notices/mail/remove", "Asks for nothing to be mailed", (_form, { who }) =>
      confirmPage(deps, who, { act: "mail.remove" }),
    ),
    openPage(deps, mailLinkPath, "Opening the link that confirms an address", ({ who }) => {
      const { confirm: title, confirmWords: words, code, confirmButton: button } = texts().mail;
      const form_code = who === null ? "" : challenges.formCode(who.session.session);
      return linkCodePage({ title, words, code, button }, { action: mailLinkPath, fields: { form_code } });
    }),
    ownForm(deps, mailLinkPath, "Confirms an address", async (form, { who, network }) => {
      const done = await notices.confirm(who, linkCodeIn(form), network);
      if (!done.ok) return mailRefusedPage(done.code);
      return cardPage(texts().mail.done, h("p", null, h("a", { href: "/" }, wording().portal.goOn)));
    }),
  ];
}

function noticesContent({ party }: OwnBusiness, told: OwnNotices, form_code: string): ComponentChild {
  const { uuid, legal_name } = party;
  return h(
    "div",
    null,
    h("h1", null, texts().title(legal_name)),
    h("section", { class: "card" }, noticeTable(told)),
    section("choose", texts().choose, chooseForm(told, { uuid, form_code })),
    section("mail", texts().mail.title, mailForms(told, { uuid, form_code })),
    party.kind === "business"
      ? section("webhooks", webhooks().link, paragraph(link(webhooksPath(uuid), webhooks().open)))
      : null,
  );
}

function noticeTable({ notices }: OwnNotices): ComponentChild {
  if (notices.length === 0) return h("p", null, texts().none);
  const rows = notices.map(({ notice, name }) => {
    const { title, words } = noticeWords(notice, name);
    return { key: notice.notice_id, cells: [shortTime(formatTimestamp(notice.at_ms)), title, words] };
  });
  return dataTable(texts().caption, texts().columns, rows);
}

interface Sent {
  readonly uuid: string;
  readonly form_code: string;
}

/** A box for each kind of notices. */
export function kindChoices(isChosen: (kind: ChosenKind) => boolean): ComponentChild {
  return chosenKinds.map((each) =>
    h(
      "label",
      { class: "choice" },
      h("input", { type: "checkbox", name: each, checked: isChosen(each) }),
      texts().names[each],
    ),
  );
}

function chooseForm({ unwanted }: OwnNotices, { uuid, form_code }: Sent): ComponentChild {
  const choices = kindChoices((each) => !unwanted.includes(each));
  return h(
    "form",
    { method: "post", action: "/notices/choose" },
    hiddenFields({ uuid, form_code }),
    h("fieldset", null, h("legend", null, texts().words), choices),
    h("p", null, h("button", { type: "submit" }, texts().choose)),
  );
}

function mailForms({ mail }: OwnNotices, { uuid, form_code }: Sent): ComponentChild {
  const words = texts().mail;
  if (mail === null) return h("p", null, words.none);
  const { address, waiting } = mail;
  return h(
    "div",
    null,
    h("p", null, address === null ? words.off : words.to(address)),
    waiting === null ? null : h("p", null, words.waiting(waiting)),
    h(
      "form",
      { method: "post", action: "/notices/mail" },
      hiddenFields({ uuid, form_code }),
      h(
        "label",
        null,
        words.label,
        h("input", { name: "address", type: "email", required: true, maxLength: 254, autocomplete: "email" }),
      ),
      h("p", null, h("button", { type: "submit" }, words.button)),
    ),
    address === null && waiting === null
      ? null
      : plainForm({ action: "/notices/mail/remove", form_code, button: words.remove }),
  );
}
