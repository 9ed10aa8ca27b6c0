// Applying for a business, in three steps: what it is, the passkey that is to seal for it, and the application that this passkey signs.

import { h } from "preact";
import type { Route } from "../../api/route.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { country, literal, object, text, uuid } from "../../protocol/shape.ts";
import type { AddressRate } from "../../service/authentication/request-rate.ts";
import type { Applications, OwnApplication } from "../../service/portal/applications.ts";
import { nameOf, newUuid, type SignedIn } from "../../service/portal/people.ts";
import { badge, dataTable } from "../../web/parts.ts";
import { english } from "../../web/texts/catalogue.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import { ownForm, ownPage, page, passkeyMembers, problemPage, redirect, shapeIn } from "../visit.ts";
import { businessPath, confirmPage, makeSealerPage, proveSealerPage, withdrawPath } from "./account.ts";
import { answeredIn, type DoorDeps, refusedPage } from "./door.ts";

const texts = english.portal;
const applyPath = "/apply";
const passkeyPath = `${applyPath}/passkey`;
const filePath = `${applyPath}/file`;

export interface ApplyingDeps extends DoorDeps {
  readonly applications: Applications;
  readonly crypto: CryptoPort;
  /** How many applications are begun from one address. */
  readonly applicants: AddressRate;
}

const legalNameMax = 256;
const legalName = text(legalNameMax);
/** The passkey that is to be made, for which business. */
const making = object({ act: literal("sealing.make"), uuid, legal_name: legalName, country });
const applying = object({
  act: literal("business.apply"),
  uuid,
  legal_name: legalName,
  country,
  ...passkeyMembers,
});

export function applyingRoutes(deps: ApplyingDeps): readonly Route[] {
  const { applications, challenges } = deps;
  return [
    ownPage(deps, "/", "Businesses and applications of one's own", async ({ who }) =>
      page(
        texts.home.title,
        homeContent(who, await applications.own(who), challenges.formCode(who.session.session)),
      ),
    ),
    ownPage(deps, applyPath, "What one applies for", ({ who }) =>
      page(texts.apply.title, applyContent(challenges.formCode(who.session.session))),
    ),
    ownForm(deps, applyPath, "Says what one applies for", (form, { who, address }) => {
      const named = nameOf(form("legal_name"), legalNameMax);
      if (named === null) return problemPage("name_invalid");
      const code = form("country").trim().toUpperCase();
      if (!countries.codes.has(code)) return problemPage("country_invalid");
      if (deps.applicants.take(address) !== null) return problemPage("too_many_applications", 429);
      const applied = { uuid: newUuid(deps), legal_name: named, country: code };
      if (form("kind") === "ai_company") return confirmPage(deps, who, { act: "company.apply", ...applied });
      const act = { act: "sealing.make" as const, ...applied };
      return makeSealerPage(deps, who, act, { action: passkeyPath, userId: act.uuid });
    }),
    ownForm(deps, passkeyPath, "Takes the passkey that is to seal", async (form, visit) => {
      const made = shapeIn(making, form);
      if (made === null) return problemPage("form_stale");
      return proveSealerPage(deps, visit, form, {
        made,
        askedOf: (passkey) => ({ ...made, act: "business.apply" as const, ...passkey }),
        asking: (asked) => applications.asking(challenges, visit.who, asked),
        action: filePath,
        words: texts.acts.apply(made.legal_name, made.country),
      });
    }),
    ownForm(deps, filePath, "Files the application", async (form, { who, network }) => {
      const asked = shapeIn(applying, form);
      if (asked === null) return problemPage("form_stale");
      const filed = await applications.file(challenges, who, asked, { ...answeredIn(form), network });
      return filed.ok ? redirect("/") : refusedPage(filed.code);
    }),
  ];
}

function homeContent(who: SignedIn, own: readonly OwnApplication[], form_code: string) {
  const { welcome, words, caption, columns, kinds, states, apply, withdraw, withdrawNamed } = texts.home;
  const rows = own.map(({ uuid: key, kind, legal_name, country: code, state, statement }) => ({
    key,
    cells: [
      state === "opened" ? h("a", { href: businessPath(key) }, legal_name) : legal_name,
      kinds[kind],
      code,
      h(
        "span",
        null,
        badge(state === "refused" ? "bad" : state === "opened" ? "good" : "warn", states[state]),
        statement === null ? null : h("p", null, statement),
        state === "waiting"
          ? plainForm({
              action: withdrawPath,
              form_code,
              fields: { uuid: key },
              button: withdraw,
              label: withdrawNamed(legal_name),
            })
          : null,
      ),
    ],
  }));
  return h(
    "section",
    { class: "card" },
    h("h1", null, welcome(who.name)),
    rows.length === 0 ? h("p", null, words) : dataTable(caption, columns, rows),
    h("p", null, h("a", { href: applyPath }, apply)),
  );
}

function applyContent(form_code: string) {
  const {
    title,
    words,
    kind,
    kinds,
    legalName: label,
    legalNameHint,
    country: countryLabel,
    countryHint,
    button,
  } = texts.apply;
  return h(
    "section",
    { class: "card narrow" },
    h("h1", null, title),
    h("p", { class: "quiet" }, words),
    h(
      "form",
      { method: "post", action: applyPath },
      hiddenFields({ form_code }),
      h(
        "label",
        null,
        kind,
        h(
          "select",
          { name: "kind" },
          Object.entries(kinds).map(([value, does]) => h("option", { value }, does)),
        ),
      ),
      h(
        "label",
        null,
        label,
        h("input", { name: "legal_name", required: true, maxLength: 256, autocomplete: "organization" }),
      ),
      h("p", { class: "quiet small" }, legalNameHint),
      h(
        "label",
        null,
        countryLabel,
        h("input", { name: "country", required: true, minLength: 2, maxLength: 2, autocomplete: "country" }),
      ),
      h("p", { class: "quiet small" }, countryHint),
      h("p", null, h("button", { type: "submit" }, button)),
    ),
  );
}
