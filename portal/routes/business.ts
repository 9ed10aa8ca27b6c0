// The page of a business: its certificate, the keys of its systems, their mandates, and how to push.

import { type ComponentChild, h } from "preact";
import type { MandateFacts } from "../../actors/messages/business.ts";
import { bindingRoles } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import { collectionNames, formatTimestamp } from "../../protocol/identifiers.ts";
import { mandateDaysMax } from "../../protocol/limits.ts";
import { literal, object, text, uuid } from "../../protocol/shape.ts";
import {
  hostedKeyOf,
  isSystemKey,
  keyRoles,
  type OwnBusiness,
  type Owner,
} from "../../service/portal/owner.ts";
import type { OwnRecovery } from "../../service/portal/recoveries.ts";
import type { KeyState } from "../../service/register/revocations.ts";
import { code, dataTable, facts, section, shortTime } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { hiddenFields, plainForm } from "../pages/frame.ts";
import { timestampIn } from "../pages/record-form.ts";
import {
  type Form,
  type OwnVisit,
  ownForm,
  ownPage,
  type PageAnswer,
  page,
  passkeyMembers,
  problemPage,
  redirect,
  shapeIn,
} from "../visit.ts";
import {
  type AccountDeps,
  actsPath,
  businessPath,
  companyPath,
  confirmPage,
  noticesPath,
  ownerRefusedPage,
  ownWith,
  peoplePath,
  proveSealerPage,
  sealerPath,
} from "./account.ts";
import { answeredIn } from "./door.ts";
import { publishSection, readersSection, sealPageAt } from "./publishing.ts";

const texts = () => wording().portal;
const acts = () => wording().business.acts;
const compromised = () => wording().business.compromised;
const momentInput = { name: "compromised_from", type: "datetime-local", step: "0.001" };
const hostedPath = "/hosted-publishing";

/** The addresses that a business's system is configured with. */
export interface ServiceUrls {
  readonly base_url: string;
  readonly business_url: string;
  readonly verify_url: string;
}

export function businessRoutes(deps: AccountDeps, urls: ServiceUrls): readonly Route[] {
  const { owner, challenges } = deps;
  return [
    ownPage(deps, "/businesses/:named", "A business that one works for", async ({ who, named: uuid }) => {
      const own = await owner.business(who, uuid);
      if (own === null) return problemPage("not_there", 404);
      if (own.party.kind === "ai_company") return redirect(companyPath(uuid));
      const form_code = challenges.formCode(who.session.session);
      const waiting = await deps.recoveries.announced(who, uuid);
      const content = businessContent(own, form_code, { urls, isSandbox: deps.isSandbox });
      const shown = waiting === null ? content : [recoveryCard(uuid, waiting, form_code), content];
      return page(own.party.legal_name, shown);
    }),
    ownForm(deps, "/keys/register", "Asks for a key to be registered", (form, visit) =>
      askKey(deps, visit, { uuid: form("uuid"), proven: form("proven") }),
    ),
    ownForm(deps, "/keys/revoke", "Asks for a key to be revoked", async (form, visit) => {
      const own = await ownWith(deps, visit.who, form("uuid"), keyRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name, keys } = own.party;
      const key_id = form("key_id");
      const isOwn = keys.filter(isSystemKey).some((each) => each.key_id === key_id);
      if (!isOwn) return problemPage("not_there", 404);
      const since = owner.moment(timestampIn(form("compromised_from").trim()));
      if (!since.ok) return ownerRefusedPage(since);
      const { value: compromised_from } = since;
      return confirmPage(deps, visit.who, { act: "key.revoke", uuid, key_id, compromised_from, legal_name });
    }),
    ownForm(deps, stopPath, "Asks for an owner not to be replaced", async (form, { who }) => {
      const own = await ownWith(deps, who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name } = own.party;
      const waiting = await deps.recoveries.announced(who, uuid);
      if (waiting?.recovery !== form("recovery")) return problemPage("not_there", 404);
      const { recovery, applicant_name } = waiting;
      return confirmPage(deps, who, { act: "recovery.stop", uuid, recovery, applicant_name, legal_name });
    }),
    ownForm(deps, "/sealing/add", "Asks for a passkey that seals", async (form, visit) => {
      const own = await ownWith(deps, visit.who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name, kind } = own.party;
      if (kind !== "business" || seals(own)) return problemPage("not_there", 404);
      return confirmPage(deps, visit.who, { act: "sealing.add", uuid, legal_name });
    }),
    ownForm(deps, hostedPath, "Asks for hosted publishing to be switched on or off", async (form, visit) => {
      const own = await ownWith(deps, visit.who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name, kind } = own.party;
      if (kind !== "business") return problemPage("not_there", 404);
      return confirmPage(deps, visit.who, {
        act: "hosted.choose",
        uuid,
        legal_name,
        on: form("on") === "yes",
      });
    }),
    ownForm(deps, sealerPath, "Takes the passkey that is to seal", async (form, visit) => {
      const made = shapeIn(makingSealer, form);
      if (made === null) return problemPage("form_stale");
      return proveSealerPage(deps, visit, form, {
        made,
        askedOf: (passkey) => ({ ...made, act: "sealing.prove" as const, ...passkey }),
        asking: (asked) => deps.members.asking(visit.who, asked),
        action: "/sealing/register",
        words: texts().acts.addSealing(made.legal_name),
      });
    }),
    ownForm(
      deps,
      "/sealing/register",
      "Has a passkey seal for the business",
      async (form, { who, network }) => {
        const asked = shapeIn(provingSealer, form);
        if (asked === null) return problemPage("form_stale");
        const done = await deps.members.enrol(who, asked, { ...answeredIn(form), network });
        return done.ok ? redirect(businessPath(asked.uuid)) : ownerRefusedPage(done);
      },
    ),
    ownForm(deps, "/mandates/revoke", "Asks for a mandate to be revoked", async (form, visit) => {
      const own = await ownWith(deps, visit.who, form("uuid"), bindingRoles);
      if ("kind" in own) return own;
      const { uuid, legal_name } = own.party;
      const mandate_id = form("mandate_id");
      if (!own.mandates.some((each) => each.mandate_id === mandate_id)) return problemPage("not_there", 404);
      return confirmPage(deps, visit.who, { act: "mandate.revoke", uuid, mandate_id, legal_name });
    }),
    ownForm(deps, "/mandates/make", "Shows the words of a mandate before it is sealed", (form, visit) =>
      askMandate(deps, visit, { uuid: form("uuid"), ...mandateIn(form) }),
    ),
    ownForm(
      deps,
      "/mandates/seal",
      "Accepts a mandate that a passkey sealed",
      async (form, { who, network }) => {
        const uuid = form("uuid");
        const [payload, shown] = [form("payload"), form("code")];
        const sealed = await owner.seal(who, { uuid, payload, code: shown, ...answeredIn(form), network });
        return sealed.ok ? redirect(businessPath(uuid)) : ownerRefusedPage(sealed);
      },
    ),
  ];
}

const stopPath = "/recoveries/stop";

/** That an owner is about to be replaced, and how that is stopped. */
function recoveryCard(
  uuid: string,
  { recovery, applicant_name, name, due_at_ms }: OwnRecovery,
  form_code: string,
): ComponentChild {
  const { title, words, button } = texts().recover.stop;
  return h(
    "section",
    { class: "card", role: "alert" },
    h("h2", null, title),
    h("p", null, words(applicant_name, name), " ", shortTime(formatTimestamp(due_at_ms)), "."),
    plainForm({ action: stopPath, form_code, fields: { uuid, recovery }, button }),
  );
}

/** Asks for what `svc prove-key` printed to be registered. */
export async function askKey(
  deps: AccountDeps,
  { who }: OwnVisit,
  { uuid: named, proven }: { readonly uuid: string; readonly proven: string },
): Promise<PageAnswer> {
  const own = await ownWith(deps, who, named, keyRoles);
  if ("kind" in own) return own;
  const { uuid, legal_name } = own.party;
  const key = deps.owner.keyIn(uuid, proven);
  if (!key.ok) return ownerRefusedPage(key);
  return confirmPage(deps, who, { act: "key.register", uuid, key_id: key.value, legal_name }, { proven });
}

/** Shows the words of a mandate before it is sealed. */
export async function askMandate(
  deps: AccountDeps,
  { who }: OwnVisit,
  asked: Parameters<Owner["mandate"]>[1],
): Promise<PageAnswer> {
  const { uuid } = asked;
  const ready = await deps.owner.mandate(who, asked);
  if (!ready.ok) return ownerRefusedPage(ready);
  const { sealTitle: title, seal: button } = texts().business.mandates;
  const back = businessPath(uuid);
  return sealPageAt(deps, who, ready.value, {
    action: "/mandates/seal",
    fields: { uuid },
    title,
    button,
    back,
  });
}

const legalName = text(256);
const makingSealer = object({ act: literal("sealing.make"), uuid, legal_name: legalName });
const provingSealer = object({
  act: literal("sealing.prove"),
  uuid,
  legal_name: legalName,
  ...passkeyMembers,
});

/** What the form of a mandate says; whether it can be one is judged where it is made. */
function mandateIn(form: Form) {
  const words = (text: string): readonly string[] => [
    ...new Set(text.split(/[\s,]+/).filter((each) => each !== "")),
  ];
  const whole = (text: string): number => (/^[0-9]{1,15}$/.test(text.trim()) ? Number(text) : -1);
  const sources = words(form("sources"));
  return {
    key_id: form("key_id"),
    days: whole(form("days")),
    scope: {
      record_types: collectionNames.filter((each) => form(`type_${each}`) === "on"),
      countries: words(form("countries").toUpperCase()),
      directions: ["publish"],
      caps: {
        records_per_hour: whole(form("records_per_hour")),
        bytes_per_day: whole(form("bytes_per_day")),
      },
      source_ip_allow_list: sources.length === 0 ? null : sources,
    },
  };
}

export interface Place {
  readonly urls: ServiceUrls;
  readonly isSandbox: boolean;
}

function businessContent(own: OwnBusiness, form_code: string, place: Place): ComponentChild {
  const { party, member } = own;
  const words = texts().business;
  const isBinding = bindingRoles.includes(member.role);
  const keys = party.keys.filter(isSystemKey);
  return h(
    "div",
    null,
    h("h1", null, party.legal_name),
    partyCard(own),
    keySection(own, form_code, words.keys),
    section(
      "mandates",
      words.mandates.title,
      mandateTable(own, form_code),
      isBinding ? (seals(own) ? mandateForm(own, keys, form_code) : sealerForm(own, form_code)) : null,
    ),
    own.mandates.some(({ revoked_at }) => revoked_at === null) ? pushSection(place) : null,
    publishSection(own),
    isBinding ? hostedSection(own, form_code) : null,
    readersSection(own),
  );
}

/** Whether the service holds a key that seals for the business, and how to change that. */
function hostedSection(own: OwnBusiness, form_code: string): ComponentChild {
  const { title, on, off, begin, end } = texts().business.hosted;
  const key = hostedKeyOf(own);
  const fields = { uuid: own.party.uuid, on: key === null ? "yes" : "" };
  return section(
    "hosted",
    title,
    h("p", null, key === null ? off : on),
    key === null ? null : h("p", null, code(key)),
    plainForm({ action: hostedPath, form_code, fields, button: key === null ? begin : end }),
  );
}

/** Who it is, its certificate, and what the person may do for it. */
export function partyCard({ party, member }: OwnBusiness): ComponentChild {
  const { certificate } = party;
  const words = texts().business;
  const state =
    certificate === null
      ? words.facts.none
      : h(
          "span",
          null,
          `${words.statuses[certificate.status]} ${words.facts.since} `,
          shortTime(certificate.status_effective_from),
          h("br", null),
          code(certificate.cert_id),
        );
  return h(
    "section",
    { class: "card" },
    facts([
      [words.facts.uuid, code(party.uuid)],
      [words.facts.country, party.country],
      [words.facts.certificate, state],
      [words.facts.role, words.roles[member.role]],
      [texts().people.link, h("a", { href: peoplePath(party.uuid) }, texts().people.open)],
      ...(bindingRoles.includes(member.role)
        ? ([
            [texts().notices.link, h("a", { href: noticesPath(party.uuid) }, texts().notices.open)],
            [acts().link, h("a", { href: actsPath(party.uuid) }, acts().open)],
          ] as const)
        : []),
    ]),
  );
}

interface KeyWords {
  readonly none: string;
  readonly caption: string;
}

/** The keys of its systems, and how to register one. */
export function keySection(own: OwnBusiness, form_code: string, words: KeyWords): ComponentChild {
  return section(
    "keys",
    texts().business.keys.title,
    keyTable(own, form_code, words),
    keyRoles.includes(own.member.role) ? keyForm(own, form_code) : null,
  );
}

function keyTable(
  { party, member }: OwnBusiness,
  form_code: string,
  { none, caption }: KeyWords,
): ComponentChild {
  const words = texts().business.keys;
  const keys = party.keys.filter(isSystemKey);
  if (keys.length === 0) return h("p", null, none);
  const rows = keys.map(({ key_id, valid_from, revoked_at }) => ({
    key: key_id,
    cells: [
      code(key_id),
      shortTime(valid_from),
      shortTime(revoked_at, words.live),
      revoked_at !== null || !keyRoles.includes(member.role)
        ? null
        : h(
            "form",
            { method: "post", action: "/keys/revoke" },
            hiddenFields({ uuid: party.uuid, key_id, form_code }),
            h("label", null, compromised().label, h("input", momentInput)),
            h("button", { type: "submit", "aria-label": words.revokeNamed(key_id) }, words.revoke),
          ),
    ],
  }));
  return dataTable(caption, words.columns, rows);
}

function keyForm({ party: { uuid, kind, certificate } }: OwnBusiness, form_code: string): ComponentChild {
  const { words, label, file, button } = texts().business.keys;
  const commands = [
    "svc keygen --out key.json",
    `svc prove-key key.json --${kind === "business" ? "business" : "company"} ${uuid} --certificate ${certificate?.cert_id ?? ""} > proof.json`,
  ];
  return h(
    "form",
    { method: "post", action: "/keys/register" },
    h("p", null, words),
    h("pre", { tabIndex: 0 }, commands.join("\n")),
    hiddenFields({ uuid, form_code }),
    h(
      "label",
      null,
      label,
      h("textarea", { name: "proven", required: true, maxLength: 8_192, spellcheck: false }),
    ),
    h("label", null, file, h("input", { type: "file", accept: ".json", "data-into": "proven" })),
    h("p", null, h("button", { type: "submit" }, button)),
  );
}

function mandateTable({ party: { uuid }, member, mandates }: OwnBusiness, form_code: string): ComponentChild {
  const words = texts().business.mandates;
  if (mandates.length === 0) return h("p", null, words.none);
  const rows = mandates.map((each: MandateFacts) => {
    const { mandate_id, key_id, scope, valid_from, valid_until, revoked_at } = each;
    return {
      key: mandate_id,
      cells: [
        code(mandate_id),
        code(key_id),
        scope.record_types.join(", "),
        scope.countries.join(", "),
        shortTime(valid_from),
        shortTime(valid_until),
        shortTime(revoked_at, words.live),
        revoked_at !== null || !bindingRoles.includes(member.role)
          ? null
          : plainForm({
              action: "/mandates/revoke",
              form_code,
              fields: { uuid, mandate_id },
              button: words.revoke,
              label: words.revokeNamed(mandate_id),
            }),
      ],
    };
  });
  return dataTable(words.caption, words.columns, rows);
}

/** Whether the person has a passkey to seal with whose key stands. */
function seals({ party, member }: OwnBusiness): boolean {
  return party.keys.some(
    ({ key_id, revoked_at }) => key_id === member.sealing?.key_id && revoked_at === null,
  );
}

/** For somebody who may seal, and has nothing to seal with. */
function sealerForm({ party: { uuid } }: OwnBusiness, form_code: string): ComponentChild {
  const { noSealing, makeSealing: button } = texts().business.mandates;
  return h(
    "div",
    null,
    h("p", null, noSealing),
    plainForm({ action: "/sealing/add", form_code, fields: { uuid }, button }),
  );
}

function mandateForm({ party }: OwnBusiness, keys: readonly KeyState[], form_code: string): ComponentChild {
  const words = texts().business.mandates;
  const live = keys.filter(({ revoked_at }) => revoked_at === null);
  if (live.length === 0) return null;
  const number = (name: string, label: string, value: string, max: number) =>
    h("label", null, label, h("input", { name, type: "number", required: true, min: 1, max, value }));
  return h(
    "form",
    { method: "post", action: "/mandates/make" },
    h("p", null, words.words),
    hiddenFields({ uuid: party.uuid, form_code }),
    h(
      "label",
      null,
      words.key,
      h(
        "select",
        { name: "key_id" },
        live.map(({ key_id }) => h("option", { value: key_id }, key_id)),
      ),
    ),
    h(
      "fieldset",
      null,
      h("legend", null, words.types),
      collectionNames.map((each) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "checkbox", name: `type_${each}`, checked: each === "products" }),
          words.typeNames[each],
        ),
      ),
    ),
    h(
      "label",
      null,
      words.countries,
      h("input", { name: "countries", required: true, value: party.country }),
    ),
    number("records_per_hour", words.records, "10000", Number.MAX_SAFE_INTEGER),
    number("bytes_per_day", words.bytes, "1000000000", Number.MAX_SAFE_INTEGER),
    number("days", words.days, String(mandateDaysMax), mandateDaysMax),
    h("label", null, words.sources, h("input", { name: "sources" })),
    h("p", null, h("button", { type: "submit" }, words.button)),
  );
}

const configFile = "business.json";

/** What a system needs to push, which has no secret in it. */
function pushSection(place: Place): ComponentChild {
  const { title, words } = texts().business.push;
  const firstPush = `svc push products.csv --config ${configFile}`;
  return section(
    "push",
    title,
    h("p", null, words(configFile)),
    h("pre", { tabIndex: 0 }, configText(place)),
    h("pre", { tabIndex: 0 }, firstPush),
  );
}

/** The configuration of a system, beside its key. */
export function configText({ urls, isSandbox }: Place): string {
  const config = {
    version: 1,
    environment: isSandbox ? "sandbox" : "production",
    api_base_url: urls.base_url,
    business_base_url: urls.business_url,
    public_base_url: urls.verify_url,
    key: { file: "key.json" },
  };
  return JSON.stringify(config, null, 2);
}
