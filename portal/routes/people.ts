// The people of a business: who they are, how they are invited, and what becomes of their roles. An invitation is opened by its link.

import { type ComponentChild, h } from "preact";
import { memberRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { BusinessPeople, NamedMember } from "../../service/portal/members.ts";
import { dataTable, section, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { assertionForm } from "../pages/ceremony.ts";
import { hiddenFields, nameForm, plainForm } from "../pages/frame.ts";
import {
  cardPage,
  doorForm,
  type Form,
  linkCodeIn,
  linkCodePage,
  openPage,
  ownForm,
  ownPage,
  page,
  problemPage,
  signInPath,
} from "../visit.ts";
import { type AccountDeps, confirmPage } from "./account.ts";
import { invitationPath, joinPath } from "./door.ts";

const texts = () => wording().portal;

export function peopleRoutes(deps: AccountDeps): readonly Route[] {
  const { members, challenges } = deps;
  return [
    ownPage(deps, "/people/:named", "The people of a business that one works for", async ({ who, named }) => {
      const own = await members.people(who, named);
      if (own === null) return problemPage("not_there", 404);
      const form_code = challenges.formCode(who.session.session);
      return page(texts().people.title(own.legal_name), peopleContent(own, who.person_id, form_code));
    }),
    ownForm(deps, "/people/invite", "Asks for an invitation", async (form, { who }) => {
      const own = await members.people(who, form("uuid"));
      const role = roleIn(form);
      if (own === null || role === undefined) return problemPage("not_there", 404);
      if (!own.gives.includes(role)) return problemPage("role_too_low", 403);
      const { uuid, legal_name } = own;
      return confirmPage(deps, who, { act: "person.invite", uuid, role, legal_name });
    }),
    ownForm(deps, "/people/take-back", "Asks for an invitation to be taken back", async (form, { who }) => {
      const own = await members.people(who, form("uuid"));
      const known = own?.invitations.find(({ id }) => id === form("invitation"));
      if (!own || known === undefined) return problemPage("not_there", 404);
      if (!own.gives.includes(known.role)) return problemPage("role_too_low", 403);
      const { uuid, legal_name } = own;
      const { id: invitation, role } = known;
      return confirmPage(deps, who, { act: "invitation.revoke", uuid, invitation, role, legal_name });
    }),
    ownForm(deps, "/people/change", "Asks for another role of somebody", async (form, { who }) => {
      const own = await members.people(who, form("uuid"));
      const known = memberIn(own, form);
      const role = roleIn(form);
      if (!own || known === undefined || role === undefined) return problemPage("not_there", 404);
      if (![known.role, role].every((each) => own.gives.includes(each)))
        return problemPage("role_too_low", 403);
      const { uuid, legal_name } = own;
      const { person_id, name } = known;
      return confirmPage(deps, who, { act: "member.change", uuid, person_id, name, role, legal_name });
    }),
    ownForm(deps, "/people/remove", "Asks for somebody to be removed", async (form, { who }) => {
      const own = await members.people(who, form("uuid"));
      const known = memberIn(own, form);
      if (!own || known === undefined) return problemPage("not_there", 404);
      const isOwn = known.person_id === who.person_id;
      if (!isOwn && !own.gives.includes(known.role)) return problemPage("role_too_low", 403);
      const { uuid, legal_name } = own;
      const { person_id, name } = known;
      return confirmPage(deps, who, { act: "member.remove", uuid, person_id, name, legal_name });
    }),
    openPage(deps, invitationPath, "Opening an invitation", () =>
      linkCodePage(texts().people.invited, { action: invitationPath }),
    ),
    doorForm(deps, invitationPath, "Says what one is invited to", async (form, { who }) => {
      const code = linkCodeIn(form);
      const invited = await members.invited(code);
      if (invited === null) return problemPage("invitation_over", 404);
      const { uuid, id: invitation, role, legal_name } = invited;
      if (who !== null)
        return confirmPage(deps, who, { act: "invitation.accept", uuid, invitation, role, legal_name });
      const fields = { invitation: code };
      const { title, known } = texts().people.invited;
      return cardPage(
        title,
        h("p", null, known(legal_name, texts().business.roles[role])),
        assertionForm(deps.place, {
          ...deps.people.signingIn(),
          action: signInPath,
          button: texts().signIn.button,
          fields,
        }),
        nameForm({ action: joinPath, form_code: null, ...texts().join.name, autocomplete: "name", fields }),
      );
    }),
  ];
}

function roleIn(form: Form) {
  return memberRoles.find((each) => each === form("role"));
}

function memberIn(own: BusinessPeople | null, form: Form): NamedMember | undefined {
  return own?.members.find(({ person_id }) => person_id === form("person_id"));
}

function peopleContent(own: BusinessPeople, self: string, form_code: string): ComponentChild {
  const { title, invitations } = texts().people;
  return h(
    "div",
    null,
    h("h1", null, title(own.legal_name)),
    h("section", { class: "card" }, memberTable(own, self, form_code)),
    own.gives.length === 0
      ? null
      : section(
          "invitations",
          invitations.title,
          invitationTable(own, form_code),
          inviteForm(own, form_code),
        ),
  );
}

function memberTable({ uuid, gives, members }: BusinessPeople, self: string, form_code: string) {
  const words = texts().people;
  const rows = members.map(({ person_id, name, role, sealing, since_ms }) => {
    const mayChange = gives.includes(role);
    const fields = { uuid, person_id };
    return {
      key: person_id,
      cells: [
        person_id === self ? `${name} ${words.you}` : name,
        texts().business.roles[role],
        shortTime(formatTimestamp(since_ms)),
        sealing === null ? words.sealsNot : words.seals,
        h(
          "span",
          null,
          mayChange
            ? h(
                "form",
                { method: "post", action: "/people/change" },
                hiddenFields({ ...fields, form_code }),
                roleSelect(gives, { "aria-label": words.roleOf(name) }, role),
                h("button", { type: "submit", "aria-label": words.changeNamed(name) }, words.change),
              )
            : null,
          mayChange || person_id === self
            ? plainForm({
                action: "/people/remove",
                form_code,
                fields,
                button: words.remove,
                label: words.removeNamed(name),
              })
            : null,
        ),
      ],
    };
  });
  return dataTable(words.caption, words.columns, rows);
}

function roleSelect(roles: BusinessPeople["gives"], attributes: object, chosen?: string): ComponentChild {
  const options = roles.map((each) =>
    h("option", { value: each, selected: each === chosen }, texts().business.roles[each]),
  );
  return h("select", { name: "role", ...attributes }, options);
}

function invitationTable({ uuid, gives, invitations }: BusinessPeople, form_code: string): ComponentChild {
  const words = texts().people.invitations;
  if (invitations.length === 0) return h("p", null, words.none);
  const rows = invitations.map(({ id, role, until_ms }) => ({
    key: id,
    cells: [
      texts().business.roles[role],
      shortTime(formatTimestamp(until_ms)),
      gives.includes(role)
        ? plainForm({
            action: "/people/take-back",
            form_code,
            fields: { uuid, invitation: id },
            button: words.takeBack,
          })
        : null,
    ],
  }));
  return dataTable(words.caption, words.columns, rows);
}

function inviteForm({ uuid, gives }: BusinessPeople, form_code: string): ComponentChild {
  const { role, button } = texts().people.invitations;
  return h(
    "form",
    { method: "post", action: "/people/invite" },
    hiddenFields({ uuid, form_code }),
    h("label", null, role, roleSelect(gives.toReversed(), {})),
    h("p", null, h("button", { type: "submit" }, button)),
  );
}
