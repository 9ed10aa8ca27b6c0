// The door: how a person comes in, by a passkey that is theirs or by making a first one, and how they leave.

import { h } from "preact";
import { send } from "../../api/request-parts.ts";
import type { Route } from "../../api/route.ts";
import { utf8 } from "../../protocol/bytes.ts";
import type { JsonValue } from "../../protocol/json/canonical-json.ts";
import { parseStrictJson } from "../../protocol/json/strict-json.ts";
import { anyObject } from "../../protocol/shape.ts";
import { answerJson } from "../../service/answer.ts";
import { codeForm } from "../../service/portal/members.ts";
import type { PeopleRefusal } from "../../service/portal/people.ts";
import type { PortalPlace } from "../authenticators.ts";
import { wording } from "../language.ts";
import { assertionForm, creationForm } from "../pages/ceremony.ts";
import { accountPath, nameForm } from "../pages/frame.ts";
import {
  cardPage,
  doorForm,
  type Form,
  openPage,
  ownForm,
  type PageAnswer,
  problemPage,
  redirect,
  signInPath,
  type VisitDeps,
} from "../visit.ts";

const texts = () => wording().portal;
export const joinPath = "/sign-up";
export const invitationPath = "/invitation";

export interface DoorDeps extends VisitDeps {
  readonly place: PortalPlace;
}

export function doorRoutes(deps: DoorDeps): readonly Route[] {
  const { people, place } = deps;
  return [
    openPage(deps, signInPath, "Signing in", ({ who }) => (who === null ? signInPage(deps) : redirect("/"))),
    doorForm(deps, signInPath, "Signs in with a passkey", async (form, { network }) => {
      const opened = await people.signIn({ ...answeredIn(form), network });
      return opened.ok ? redirect(after(form), opened.value) : refusedPage(opened.code);
    }),
    openPage(deps, joinPath, "Signing up", () =>
      cardPage(
        texts().join.title,
        h("p", { class: "quiet" }, texts().join.words),
        nameForm({ action: joinPath, form_code: null, ...texts().join.name, autocomplete: "name" }),
        h("p", null, h("a", { href: signInPath }, texts().join.known)),
      ),
    ),
    doorForm(deps, joinPath, "Says what a new person is called", (form) => {
      const joining = people.joining(form("name"));
      if (!joining.ok) return problemPage("name_invalid");
      const { person_id, name, ...issued } = joining.value;
      const made = creationForm(place, {
        ...issued,
        action: `${joinPath}/passkey`,
        button: texts().join.make,
        fields: { person_id, name, invitation: form("invitation") },
        user: { id: person_id, name },
      });
      return cardPage(texts().join.title, h("p", null, texts().join.makeWords(name)), made);
    }),
    doorForm(
      deps,
      `${joinPath}/passkey`,
      "Makes a new person, by their first passkey",
      async (form, { network }) => {
        const person = { person_id: form("person_id"), name: form("name") };
        const opened = await people.join(person, { ...answeredIn(form), network });
        return opened.ok ? redirect(after(form), opened.value) : refusedPage(opened.code);
      },
    ),
    ownForm(deps, "/sign-out", "Ends the session", async (_form, { who }) => {
      await people.endSession(who, who.session.session);
      return redirect(signInPath, null);
    }),
    passkeyEndpoints(deps),
  ];
}

/** Where somebody goes who has come in: to what they are invited to, by the code that their link had after its #. */
function after(form: Form): string {
  const code = form("invitation");
  return codeForm.test(code) ? `${invitationPath}#${code}` : "/";
}

function signInPage({ people, place }: DoorDeps): PageAnswer {
  const { title, words, button, fresh } = texts().signIn;
  return cardPage(
    title,
    h("p", { class: "quiet" }, words),
    assertionForm(place, { ...people.signingIn(), action: signInPath, button }),
    h("p", null, h("a", { href: joinPath }, fresh)),
  );
}

/** What an authenticator answered, as the page's script put it into the form. */
export function answeredIn(form: Form): { readonly ticket: string; readonly credential: JsonValue } {
  const json = parseStrictJson(utf8(form("credential")));
  return { ticket: form("ticket"), credential: json.ok ? json.value : null };
}

/** See PP1 in service/portal/people.ts. */
export function refusedPage(code: PeopleRefusal): PageAnswer {
  switch (code) {
    case "not_verified":
    case "person_unknown":
    case "passkey_unknown":
    case "counter_stale":
      return problemPage("not_verified", 401);
    case "session_ended":
      return problemPage("signed_out", 401);
    case "challenge_used":
    case "challenge_expired":
    case "name_invalid":
    case "passkey_last":
    case "too_many_businesses":
    case "has_business":
    case "too_many_passkeys":
    case "too_many_mails":
    case "address_changed":
      return problemPage(code, 409);
  }
}

/** Where passkeys are made and managed (W3C, «A Well-Known URL for Passkey Endpoints»). */
function passkeyEndpoints({ origin }: VisitDeps): Route {
  const manage = `${origin}${accountPath}`;
  return {
    method: "GET",
    path: "/.well-known/passkey-endpoints",
    tags: [],
    isPublic: true,
    doc: {
      summary: "Where passkeys are made and managed",
      answers: { 200: { description: "Two addresses of this portal", body: anyObject } },
    },
    handle: async (_request, reply) => send(reply, answerJson(200, { enroll: manage, manage })),
  };
}
