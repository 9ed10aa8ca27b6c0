// Applying for a business, in three steps: what it is, the passkey that is to seal for it, and the application that this passkey signs. Who
// lost all passkeys comes back as an owner by the same steps.

import { type ComponentChildren, h } from "preact";
import type { Route } from "../../api/route.ts";
import type { CryptoPort } from "../../crypto/port.ts";
import { formatTimestamp, isUuidV4 } from "../../protocol/identifiers.ts";
import { evidenceBytesMax, evidenceFilesMax } from "../../protocol/limits.ts";
import { countries } from "../../protocol/records/vocabularies/countries.ts";
import { country, literal, object, text, uuid } from "../../protocol/shape.ts";
import type { AddressRate } from "../../service/authentication/request-rate.ts";
import type { Applications, ListedApplication, OwnApplication } from "../../service/portal/applications.ts";
import { nameOf, newUuid, type SignedIn } from "../../service/portal/people.ts";
import type { Recoveries } from "../../service/portal/recoveries.ts";
import { badge, dataTable, shortTime, shownNumber } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import {
  ownForm,
  ownPage,
  ownUpload,
  page,
  passkeyMembers,
  problemPage,
  redirect,
  shapeIn,
} from "../visit.ts";
import { businessPath, confirmPage, makeSealerPage, proveSealerPage, withdrawPath } from "./account.ts";
import { answeredIn, type DoorDeps, refusedPage } from "./door.ts";

const texts = () => wording().portal;
const applyPath = "/apply";
const passkeyPath = `${applyPath}/passkey`;
const filePath = `${applyPath}/file`;
const applicationsPath = "/applications";
/** What a form with a file has besides it. */
const fieldsBytesMax = 8_192;

export interface ApplyingDeps extends DoorDeps {
  readonly applications: Applications;
  readonly recoveries: Recoveries;
  readonly crypto: CryptoPort;
  /** How many applications are begun from one address. */
  readonly applicants: AddressRate;
  /** How many files are sent from one address. */
  readonly uploads: AddressRate;
}

const legalNameMax = 256;
const legalName = text(legalNameMax);
/** The passkey that is to be made, for which business. */
const making = object({ act: literal("application.make"), uuid, legal_name: legalName, country });
const applying = object({
  act: literal("business.apply"),
  uuid,
  legal_name: legalName,
  country,
  ...passkeyMembers,
});

export function applyingRoutes(deps: ApplyingDeps): readonly Route[] {
  const { applications, recoveries, challenges } = deps;
  return [
    ownPage(deps, "/", "Businesses and applications of one's own", async ({ who }) =>
      page(
        texts().home.title,
        homeContent(who, await applications.own(who), challenges.formCode(who.session.session)),
      ),
    ),
    ownPage(deps, applyPath, "What one applies for", ({ who }) =>
      page(texts().apply.title, applyContent(challenges.formCode(who.session.session))),
    ),
    ownPage(
      deps,
      `${applicationsPath}/:named`,
      "What one sent with an application",
      async ({ who, named }) => {
        const application = await applications.waiting(who, named);
        return application === null
          ? notThere()
          : page(
              texts().evidence.title(application.legal_name),
              evidenceContent(application, challenges.formCode(who.session.session)),
            );
      },
    ),
    ownUpload(deps, `${applicationsPath}/:named/evidence`, "Sends a file with an application", {
      bytesMax: evidenceBytesMax + fieldsBytesMax,
      tooLong: () => problemPage("evidence_too_large", 413),
      admit: async ({ who, named, address }) => {
        const application = await applications.waiting(who, named);
        if (application === null) return notThere();
        if (application.evidence.length >= evidenceFilesMax) return problemPage("too_much_evidence", 409);
        return deps.uploads.take(address) === null ? null : problemPage("too_many_uploads", 429);
      },
      answer: async ({ file }, { who, named, network }) => {
        if (file === null) return problemPage("evidence_type");
        const added = await applications.evidence.add(who, named, file, network);
        return added.ok ? redirect(evidencePath(named)) : problemPage(added.code, evidenceStatus[added.code]);
      },
    }),
    ownForm(
      deps,
      `${applicationsPath}/:named/evidence/remove`,
      "Removes a file of an application",
      async (form, { who, named }) => {
        if ((await applications.waiting(who, named)) === null) return notThere();
        const isRemoved = await applications.evidence.remove(who, named, form("file"));
        return isRemoved ? redirect(evidencePath(named)) : problemPage("not_waiting", 409);
      },
    ),
    ownForm(deps, applyPath, "Says what one applies for", (form, { who, address }) => {
      const named = nameOf(form("legal_name"), legalNameMax);
      if (named === null) return problemPage("name_invalid");
      const code = form("country").trim().toUpperCase();
      if (!countries.codes.has(code)) return problemPage("country_invalid");
      if (deps.applicants.take(address) !== null) return problemPage("too_many_applications", 429);
      const applied = { uuid: newUuid(deps), legal_name: named, country: code };
      if (form("kind") === "ai_company") return confirmPage(deps, who, { act: "company.apply", ...applied });
      const act = { act: "application.make" as const, ...applied };
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
        words: texts().acts.apply(made.legal_name, made.country),
      });
    }),
    ownForm(deps, filePath, "Files the application", async (form, { who, network }) => {
      const asked = shapeIn(applying, form);
      if (asked === null) return problemPage("form_stale");
      const filed = await applications.file(challenges, who, asked, { ...answeredIn(form), network });
      return filed.ok ? redirect("/") : refusedPage(filed.code);
    }),
    ownPage(deps, recoverPath, "Coming back as an owner", ({ who }) =>
      page(texts().recover.title, recoverContent(challenges.formCode(who.session.session))),
    ),
    ownForm(deps, recoverPath, "Says whose owner one was", (form, { who, address }) => {
      const named = form("uuid").trim().toLowerCase();
      if (!isUuidV4(named)) return problemPage("uuid_invalid");
      if (deps.applicants.take(address) !== null) return problemPage("too_many_applications", 429);
      // What it is called is not said: there need be no such business.
      const act = { act: "recovery.make" as const, uuid: named, legal_name: named };
      // Of the business and the person; 64 bytes are the most that it may have.
      const userId = `${named}${who.person_id}`.replaceAll("-", "");
      return makeSealerPage(deps, who, act, { action: `${recoverPath}/passkey`, userId });
    }),
    ownForm(deps, `${recoverPath}/passkey`, "Takes the passkey that is to seal", async (form, visit) => {
      const made = shapeIn(makingAgain, form);
      if (made === null) return problemPage("form_stale");
      return proveSealerPage(deps, visit, form, {
        made,
        askedOf: (passkey) => ({ act: "recovery.file" as const, uuid: made.uuid, ...passkey }),
        asking: (asked) => recoveries.asking(challenges, visit.who, asked),
        action: `${recoverPath}/file`,
        words: texts().acts.recover(made.uuid),
      });
    }),
    ownForm(deps, `${recoverPath}/file`, "Asks for the place of an owner", async (form, visit) => {
      const asked = shapeIn(recovering, form);
      if (asked === null) return problemPage("form_stale");
      const { who, network } = visit;
      const filed = await recoveries.file(challenges, who, asked, { ...answeredIn(form), network });
      if (filed.ok) return redirect("/");
      const { code } = filed;
      return code === "member_known" || code === "recovery_known"
        ? problemPage(code, 409)
        : refusedPage(code);
    }),
  ];
}

const recoverPath = "/recover";
const makingAgain = object({ act: literal("recovery.make"), uuid, legal_name: legalName });
const recovering = object({ act: literal("recovery.file"), uuid, ...passkeyMembers });

/** A card with what is asked in words and a form for it. */
function formCard(
  {
    action,
    form_code,
    title,
    words,
    button,
  }: Readonly<Record<"action" | "form_code" | "title" | "words" | "button", string>>,
  ...fields: ComponentChildren[]
) {
  return h(
    "section",
    { class: "card narrow" },
    h("h1", null, title),
    h("p", { class: "quiet" }, words),
    h(
      "form",
      { method: "post", action },
      hiddenFields({ form_code }),
      fields,
      h("p", null, h("button", { type: "submit" }, button)),
    ),
  );
}

function recoverContent(form_code: string) {
  const { uuid: label, uuidHint, ...asked } = texts().recover;
  return formCard(
    { ...asked, action: recoverPath, form_code },
    h("label", null, label, h("input", { name: "uuid", required: true, maxLength: 36, spellcheck: false })),
    h("p", { class: "quiet small" }, uuidHint),
  );
}

function homeContent(who: SignedIn, own: readonly OwnApplication[], form_code: string) {
  const { welcome, words, caption, columns, kinds, apply, recover, withdraw, withdrawNamed } = texts().home;
  const { evidence, evidenceNamed } = texts().home;
  const rows = own.map((each) => {
    const { uuid: key, kind, legal_name, country: code, state, statement, isOpen, due_at_ms } = each;
    const tone = state === "refused" || state === "stopped" ? "bad" : state === "opened" ? "good" : "warn";
    return {
      key: `${kind} ${key}`,
      cells: [
        state === "opened" ? h("a", { href: businessPath(key) }, legal_name) : legal_name,
        kinds[kind],
        code,
        h(
          "span",
          null,
          badge(tone, stateWords(each)),
          state === "announced" && due_at_ms !== null ? [" ", shortTime(formatTimestamp(due_at_ms))] : null,
          statement === null ? null : h("p", null, statement),
          state === "waiting" && kind !== "recovery"
            ? h(
                "p",
                null,
                h("a", { href: evidencePath(key), "aria-label": evidenceNamed(legal_name) }, evidence),
              )
            : null,
          isOpen
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
    };
  });
  return h(
    "section",
    { class: "card" },
    h("h1", null, welcome(who.name)),
    rows.length === 0 ? h("p", null, words) : dataTable(caption, columns, rows),
    h("p", null, h("a", { href: applyPath }, apply)),
    h("p", null, h("a", { href: recoverPath }, recover)),
  );
}

function stateWords({ kind, state }: OwnApplication): string {
  const { states, recoveryStates }: HomeTexts = texts().home;
  return (kind === "recovery" ? recoveryStates[state] : states[state]) ?? state;
}

interface HomeTexts {
  readonly states: Readonly<Record<string, string>>;
  readonly recoveryStates: Readonly<Record<string, string>>;
}

function notThere() {
  return problemPage("not_there", 404);
}

function evidencePath(uuid: string): string {
  return `${applicationsPath}/${uuid}`;
}

const evidenceStatus = {
  evidence_type: 400,
  evidence_too_large: 413,
  evidence_full: 503,
  too_much_evidence: 409,
  not_waiting: 409,
} as const;

function evidenceContent({ uuid: key, legal_name, evidence }: ListedApplication, form_code: string) {
  const { title, words, caption, columns, none, file, button, remove, removeNamed, most } = texts().evidence;
  const action = `${evidencePath(key)}/evidence`;
  const rows = evidence.map((each) => ({
    key: each.file,
    cells: [
      each.name,
      shownNumber(each.bytes),
      shortTime(formatTimestamp(each.added_at_ms)),
      plainForm({
        action: `${action}/remove`,
        form_code,
        fields: { file: each.file },
        button: remove,
        label: removeNamed(each.name),
      }),
    ],
  }));
  const types = ".pdf,.png,.jpg,.jpeg";
  return h(
    "section",
    { class: "card" },
    h("h1", null, title(legal_name)),
    h("p", null, words),
    rows.length === 0 ? h("p", { class: "quiet" }, none) : dataTable(caption, columns, rows),
    rows.length >= evidenceFilesMax
      ? h("p", null, most)
      : h(
          "form",
          { method: "post", action, enctype: "multipart/form-data" },
          hiddenFields({ form_code }),
          h("label", null, file, h("input", { type: "file", name: "file", accept: types, required: true })),
          h("p", null, h("button", { type: "submit" }, button)),
        ),
  );
}

function applyContent(form_code: string) {
  const {
    kind,
    kinds,
    legalName: label,
    legalNameHint,
    country: countryLabel,
    countryHint,
    ...asked
  } = texts().apply;
  return formCard(
    { ...asked, action: applyPath, form_code },
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
  );
}
