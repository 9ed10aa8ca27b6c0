// Forms of records of every type and of AI policies: what is written is judged, shown as it will be sealed, sealed and delivered.

import { type ComponentChild, h } from "preact";
import { bindingRoles, type MemberRole } from "../../actors/messages/members.ts";
import type { Route } from "../../api/route.ts";
import {
  type AiPolicyRecord,
  actionNames,
  aiPolicyKeyDocument,
  aiPolicySchemaId,
  blockedNames,
  currentAiPolicySchema,
  useNames,
} from "../../protocol/ai-policy.ts";
import { type CollectionName, collectionNames, isCollectionName } from "../../protocol/identifiers.ts";
import type { JsonObject } from "../../protocol/json/canonical-json.ts";
import { recordCharactersMax } from "../../protocol/limits.ts";
import { recordTypes } from "../../protocol/records/parse-record.ts";
import { hostedKeyOf, type OwnBusiness, sealingRoles } from "../../service/portal/owner.ts";
import type { SignedIn } from "../../service/portal/people.ts";
import { documentOf, type OwnPublishing, type Published } from "../../service/portal/publishing.ts";
import type { ReadyToSeal, SealedHere } from "../../service/portal/sealing.ts";
import { code, facts, section } from "../../web/parts.ts";
import { wording } from "../language.ts";
import { sealingCard } from "../pages/ceremony.ts";
import { hiddenFields } from "../pages/frame.ts";
import { allFaults, recordFormPage, type ShownFault, writtenRecord } from "../pages/record-form.ts";
import { cardPage, type Form, ownForm, ownPage, type PageAnswer, page, problemPage } from "../visit.ts";
import { type AccountDeps, blocksPath, businessPath, ownerRefusedPage } from "./account.ts";
import { answeredIn } from "./door.ts";

export interface PublishingDeps extends AccountDeps {
  readonly publishing: OwnPublishing;
}

const texts = () => wording().portal.publishing;
const makePath = "/records/make";
const sealPath = "/records/seal";
const policyPath = "/ai-policies/make";

/** A form has its record once as fields, in which a byte may take three characters, or once as bytes. */
export const recordFormBytesMax = 4 * recordCharactersMax;

export function publishingRoutes(deps: PublishingDeps): readonly Route[] {
  const { owner, publishing, challenges } = deps;
  return [
    ...collectionNames.map((type) =>
      ownPage(deps, newPath(":named", type), `A form of records of the type ${type}`, async (visit) => {
        const own = await owner.business(visit.who, visit.named);
        if (own === null) return problemPage("not_there", 404);
        if (!mayPublish(own)) return problemPage("role_too_low", 403);
        return recordPage(deps, visit.who, { uuid: visit.named, type, record: {}, faults: [] });
      }),
    ),
    ownForm(
      deps,
      makePath,
      "Shows what is wrong with a record, or its words before it is sealed",
      async (form, { who }) => {
        const [uuid, type] = [form("uuid"), form("type")];
        if (!isCollectionName(type)) return problemPage("not_there", 404);
        const allowed = await owner.may(who, uuid, sealingRoles);
        if (!allowed.ok) return ownerRefusedPage(allowed);
        const { record, faults } = writtenRecord(recordTypes[type].members, form);
        if (form("more") !== "") {
          const document = documentOf(record);
          return document.ok
            ? recordPage(deps, who, { uuid, type, record, faults: [] })
            : ownerRefusedPage(document);
        }
        const made = await publishing.record(who, { uuid, collection: type, record });
        if (!made.ok) return ownerRefusedPage(made);
        if (made.value.kind === "ready") return sealPage(deps, who, uuid, made.value.ready);
        return recordPage(deps, who, { uuid, type, record, faults: allFaults(faults, made.value.faults) });
      },
      recordFormBytesMax,
    ),
    ownPage(deps, `${businessPath(":named")}/ai-policy`, "The AI policy, as switches", async (visit) => {
      const { who, named: uuid } = visit;
      const own = await owner.business(who, uuid);
      if (own === null) return problemPage("not_there", 404);
      const policy = await publishing.policyInForce(uuid);
      const form_code = challenges.formCode(who.session.session);
      return page(texts().policy.title, policyContent(own, policy, form_code));
    }),
    ownForm(
      deps,
      policyPath,
      "Shows the words of an AI policy before it is sealed",
      async (form, { who }) => {
        const uuid = form("uuid");
        const ready = await publishing.policy(who, { uuid, policy: policyIn(form) });
        return ready.ok ? sealPage(deps, who, uuid, ready.value) : ownerRefusedPage(ready);
      },
    ),
    ownForm(
      deps,
      sealPath,
      "Delivers what a passkey sealed",
      async (form, { who, network }) => {
        const done = await publishing.deliver(who, { ...sealedIn(form), network });
        return done.ok ? publishedPage(deps, who, form("uuid"), done.value) : ownerRefusedPage(done);
      },
      recordFormBytesMax,
    ),
  ];
}

/** Where a new record of a type is written. */
function newPath(uuid: string, type: CollectionName): string {
  return `${businessPath(uuid)}/new/${type}`;
}

/** Whether the person has one of these roles, and a passkey to seal with. */
export function maySeal({ member: { role, sealing } }: OwnBusiness, roles: readonly MemberRole[]): boolean {
  return sealing !== null && roles.includes(role);
}

/** Whether the person publishes records: sealed with a passkey of their own, or by the key that the service holds. */
export function mayPublish(own: OwnBusiness): boolean {
  const isHosted = sealingRoles.includes(own.member.role) && hostedKeyOf(own) !== null;
  return isHosted || maySeal(own, sealingRoles);
}

/** What of the page of a business leads to its records; null for somebody who seals none. */
export function publishSection(own: OwnBusiness): ComponentChild {
  const { uuid } = own.party;
  const types = mayPublish(own) ? collectionNames : [];
  return section(
    "publish",
    texts().title,
    h(
      "p",
      null,
      types.length === 0 ? texts().none : own.member.sealing === null ? texts().hostedWords : texts().words,
    ),
    h(
      "ul",
      { class: "links" },
      link(recordsPath(uuid), wording().portal.records.title),
      link(pushesPath(uuid), wording().portal.pushes.title),
      link(holdsPath(uuid), wording().portal.holds.title),
      link(policyPagePath(uuid), texts().policy.title),
      link(domainsPath(uuid), wording().business.domains.title),
      types.map((type) => link(newPath(uuid, type), texts().titles[type])),
    ),
  );
}

/** What of the page of a business leads to those who read its records. */
export function readersSection({ party: { uuid } }: OwnBusiness): ComponentChild {
  const { readers, asking, campaigns, blocks } = wording().business;
  return section(
    "readers",
    readers,
    h(
      "ul",
      { class: "links" },
      link(askingPath(uuid), asking.title),
      link(campaignsPath(uuid), campaigns.title),
      link(blocksPath(uuid), blocks.title),
    ),
  );
}

function link(href: string, text: string): ComponentChild {
  return h("li", null, h("a", { href }, text));
}

/** Where the newest pushes of a business are listed. */
export function pushesPath(uuid: string): string {
  return `${businessPath(uuid)}/pushes`;
}

/** Where the held pushes of a business are listed. */
export function holdsPath(uuid: string): string {
  return `${businessPath(uuid)}/holds`;
}

/** Where it is shown who asks for what a business publishes. */
export function askingPath(uuid: string): string {
  return `${businessPath(uuid)}/asking`;
}

/** Where the domains of a business are shown. */
export function domainsPath(uuid: string): string {
  return `${businessPath(uuid)}/domains`;
}

/** Where the campaigns of a business are listed. */
export function campaignsPath(uuid: string): string {
  return `${businessPath(uuid)}/campaigns`;
}

/** Where the records of a business are listed. */
export function recordsPath(uuid: string): string {
  return `${businessPath(uuid)}/records`;
}

function policyPagePath(uuid: string): string {
  return `${businessPath(uuid)}/ai-policy`;
}

/** What a passkey sealed on the page of {@link sealPage}, or on one like it. */
export function sealedIn(form: Form): SealedHere {
  return {
    uuid: form("uuid"),
    payload_type: form("payload_type"),
    payload: form("payload"),
    document: form("document"),
    code: form("code"),
    ...answeredIn(form),
  };
}

/** What is about to be sealed, word by word; its answer goes to `action`. */
export function sealPageAt(
  deps: AccountDeps,
  who: SignedIn,
  ready: ReadyToSeal,
  {
    fields,
    ...form
  }: {
    readonly action: string;
    readonly fields: Readonly<Record<string, string>>;
    readonly title: string;
    readonly button: string;
    readonly back: string;
  },
): PageAnswer {
  const form_code = deps.challenges.formCode(who.session.session);
  return page(form.title, sealingCard(deps.place, ready, { ...form, fields: { ...fields, form_code } }));
}

export function sealPage(deps: PublishingDeps, who: SignedIn, uuid: string, ready: ReadyToSeal): PageAnswer {
  const { sealTitle: title, seal } = texts();
  const button = ready.isHosted ? wording().portal.confirm : seal;
  return sealPageAt(deps, who, ready, {
    action: sealPath,
    fields: { uuid },
    title,
    button,
    back: businessPath(uuid),
  });
}

function publishedPage(deps: PublishingDeps, who: SignedIn, uuid: string, done: Published): PageAnswer {
  const back = h(
    "ul",
    { class: "links" },
    h("li", null, h("a", { href: recordsPath(uuid) }, wording().portal.records.title)),
    h("li", null, h("a", { href: businessPath(uuid) }, texts().back)),
  );
  if (done.kind === "policy") {
    const rows = [[texts().version, String(done.version)] as const];
    return cardPage(texts().policy.done, facts(rows), back);
  }
  if (done.kind === "decision") {
    const { push_id, hold_decision: decided } = done.push;
    const rows = [[texts().push, code(push_id)] as const];
    return cardPage(texts().decided[decided?.decision ?? "confirm"], facts(rows), back);
  }
  if (done.kind === "removal") {
    const { action, held, record_id } = done;
    const said = held ? texts().removal.held : texts().removal[action];
    return cardPage(
      texts().removal.title,
      facts([[texts().record, code(record_id)]]),
      h("p", null, said),
      back,
    );
  }
  const { collection: type, record } = done;
  if (done.kind === "faulty") return recordPage(deps, who, { uuid, type, record, faults: done.faults });
  const { outcome } = done;
  const { record_id, version, errors } = outcome;
  // The lists of the content rules may have changed since it was shown.
  if (record_id === null || version === null)
    return recordPage(deps, who, { uuid, type, record, faults: errors });
  const rows = [[texts().record, code(record_id)] as const, [texts().version, String(version)] as const];
  return cardPage(texts().done, facts(rows), h("p", null, texts().doneWords), back);
}

interface Written {
  readonly uuid: string;
  readonly type: CollectionName;
  readonly record: JsonObject;
  readonly faults: readonly ShownFault[];
}

/** A record in its form, with what is wrong with it. */
export function recordPage(
  { challenges }: PublishingDeps,
  who: SignedIn,
  { uuid, type, record, faults }: Written,
): PageAnswer {
  const { make, moreRows } = texts();
  return recordFormPage(
    { members: recordTypes[type].members, record, faults },
    {
      title: texts().titles[type],
      action: makePath,
      fields: { uuid, type, form_code: challenges.formCode(who.session.session) },
      buttons: { make, moreRows },
      back: businessPath(uuid),
    },
  );
}

// The AI policy: each switch has the meaning that everybody reads.

const policyGroups = ["use", "action", "blocked"] as const;

function policyIn(form: Form): AiPolicyRecord {
  const switches = <N extends string>(group: string, names: readonly N[]) =>
    Object.fromEntries(names.map((name) => [name, form(`${group}/${name}`) === "on"])) as Record<N, boolean>;
  return {
    schema: aiPolicySchemaId,
    ai_policy_schema: currentAiPolicySchema,
    use: switches("use", useNames),
    action: switches("action", actionNames),
    blocked: switches("blocked", blockedNames),
  };
}

function policyContent(own: OwnBusiness, policy: AiPolicyRecord | null, form_code: string): ComponentChild {
  const { uuid } = own.party;
  const { groups, blocked } = aiPolicyKeyDocument();
  const isSealer = maySeal(own, bindingRoles);
  const entries = { ...groups, blocked };
  const fields = policyGroups.map((group) => {
    const values: Readonly<Record<string, boolean>> = policy?.[group] ?? {};
    return h(
      "fieldset",
      { disabled: !isSealer },
      h("legend", null, texts().policy[group]),
      entries[group].map(({ name, meaning }) =>
        h(
          "label",
          { class: "choice" },
          h("input", { type: "checkbox", name: `${group}/${name}`, checked: values[name] === true }),
          h("span", null, code(name), " ", wording().said(meaning)),
        ),
      ),
    );
  });
  const { title, words, none, notYours } = texts().policy;
  return h(
    "div",
    null,
    h("h1", null, title),
    h("p", null, policy === null ? none : words),
    h(
      "form",
      { method: "post", action: policyPath, class: "card" },
      hiddenFields({ uuid, form_code }),
      fields,
      isSealer ? h("p", null, h("button", { type: "submit" }, texts().make)) : h("p", null, notYours),
    ),
    h("p", null, h("a", { href: businessPath(uuid) }, wording().portal.doNothing)),
  );
}
