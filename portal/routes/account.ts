// A person's own page: passkeys, sessions and what they did; and how acts are confirmed.

import { type ComponentChild, h } from "preact";
import { bindingRoles, type MemberRole } from "../../actors/messages/members.ts";
import type { PersonReport, PersonSession, SignInPasskey } from "../../actors/messages/person.ts";
import type { Route } from "../../api/route.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { Refusal, Result } from "../../protocol/result.ts";
import type { Applications } from "../../service/portal/applications.ts";
import type { OwnBlocks } from "../../service/portal/blocks.ts";
import type { IssuedChallenge } from "../../service/portal/challenges.ts";
import type { Company } from "../../service/portal/company.ts";
import type { HostedPublishing } from "../../service/portal/hosted-publishing.ts";
import type { Members } from "../../service/portal/members.ts";
import { chosenKinds, type MailRefusal, type OwnersNotices } from "../../service/portal/notices.ts";
import type { OwnBusiness, Owner, OwnerRefusal } from "../../service/portal/owner.ts";
import { type Answered, nameOf, type SignedIn } from "../../service/portal/people.ts";
import type { SealerAct } from "../../service/portal/possession.ts";
import type { Recoveries } from "../../service/portal/recoveries.ts";
import type { OwnWebhooks } from "../../service/portal/webhooks.ts";
import { dataTable, section, shortTime } from "../../web/parts.ts";
import { type Act, actFacts, actIn, actText, actWords, subjectOf } from "../acts.ts";
import { wording } from "../language.ts";
import { assertionForm, creationForm } from "../pages/ceremony.ts";
import { accountPath, nameForm, plainForm } from "../pages/frame.ts";
import {
  cardPage,
  type Form,
  type OwnVisit,
  ownForm,
  ownPage,
  type PageAnswer,
  page,
  problemPage,
  redirect,
  saidPage,
  signInPath,
  type Words,
  wordsPage,
} from "../visit.ts";
import { answeredIn, type DoorDeps, invitationPath, refusedPage } from "./door.ts";

const texts = () => wording().portal;
const confirmPath = "/confirm";
const makePath = "/passkeys/make";
/** Where the new passkey of a member goes that is to seal. */
export const sealerPath = "/sealing/passkey";
/** Where a link leads that confirms an address. */
export const mailLinkPath = "/mail";
export const withdrawPath = "/applications/withdraw";

export interface AccountDeps extends DoorDeps {
  readonly applications: Pick<Applications, "own" | "withdraw" | "forgetRefused" | "fileCompany">;
  readonly recoveries: Pick<Recoveries, "announced" | "stop" | "withdraw">;
  readonly owner: Owner;
  readonly members: Members;
  readonly company: Company;
  readonly blocks: OwnBlocks;
  readonly hosted: HostedPublishing;
  readonly notices: OwnersNotices;
  readonly webhooks: OwnWebhooks;
}

export function accountRoutes(deps: AccountDeps): readonly Route[] {
  const { people, challenges } = deps;
  return [
    ownPage(deps, accountPath, "Passkeys, sessions and acts of one's own", async ({ who }) => {
      const report = await people.report(who);
      if (report === null) return refusedPage("session_ended");
      const form_code = challenges.formCode(who.session.session);
      return page(texts().account.title, accountContent(deps, { who, report, form_code }));
    }),
    ownForm(deps, "/passkeys/add", "Asks for a further passkey", (form, { who }) => {
      const name = nameOf(form("name"));
      return name === null
        ? problemPage("name_invalid")
        : confirmPage(deps, who, { act: "passkey.add", name });
    }),
    ownForm(deps, "/passkeys/remove", "Asks for a passkey to be removed", async (form, { who }) => {
      const report = await people.report(who);
      if (report === null) return refusedPage("session_ended");
      const { passkeys } = report;
      const known = passkeys.find(({ credential_id }) => credential_id === form("credential_id"));
      if (known === undefined) return problemPage("passkey_gone", 404);
      if (passkeys.length < 2) return refusedPage("passkey_last");
      const { credential_id, name } = known;
      return confirmPage(deps, who, { act: "passkey.remove", credential_id, name });
    }),
    ownForm(deps, "/leave", "Asks for everything of oneself to be forgotten", (_form, { who }) =>
      confirmPage(deps, who, { act: "person.leave" }),
    ),
    ownForm(deps, withdrawPath, "Asks for an application to be taken back", async (form, { who }) => {
      const own = await deps.applications.own(who);
      const asked = own.find(({ uuid, isOpen }) => uuid === form("uuid") && isOpen);
      if (asked === undefined) return problemPage("not_waiting", 409);
      const { uuid, legal_name } = asked;
      return confirmPage(deps, who, { act: "application.withdraw", uuid, legal_name });
    }),
    ownForm(deps, "/sessions/end", "Ends a session of one's own", async (form, { who }) => {
      const ended = await people.endSession(who, form("session"));
      return ended.ok ? redirect(accountPath) : refusedPage(ended.code);
    }),
    ownForm(deps, confirmPath, "Does what a passkey confirmed", async (form, { who, network }) => {
      const act = actIn(form("act"));
      if (act === null) return problemPage("form_stale");
      return perform(deps, who, { act, proven: form("proven"), ...answeredIn(form), network });
    }),
    ownForm(deps, makePath, "Adds a passkey that was made", async (form, { who, network }) => {
      const act = actIn(form("act"));
      if (act?.act !== "passkey.make") return problemPage("form_stale");
      const made = await people.made(who, actFacts(act), { ...answeredIn(form), network });
      if (!made.ok) return refusedPage(made.code);
      const added = await people.addPasskey(who, { ...made.value, name: act.name }, network);
      return added.ok ? redirect(accountPath) : refusedPage(added.code);
    }),
  ];
}

/** The act in words, and the form by which a passkey confirms exactly it. */
export async function confirmPage(
  deps: DoorDeps,
  who: SignedIn,
  act: Act,
  fields: Readonly<Record<string, string>> = {},
): Promise<PageAnswer> {
  const report = await deps.people.report(who);
  if (report === null) return refusedPage("session_ended");
  const form = assertionForm(deps.place, {
    ...deps.people.asking(who, actFacts(act)),
    action: confirmPath,
    button: texts().confirm,
    fields: { ...fields, act: actText(act), form_code: deps.challenges.formCode(who.session.session) },
    credential_ids: report.passkeys.map(({ credential_id }) => credential_id),
  });
  const back = h("a", { href: pageOf(act) }, texts().doNothing);
  return wordsPage(actWords(act, who), form, h("p", null, back));
}

/** Where the act was asked for. */
function pageOf(act: Act): string {
  if (act.act === "application.withdraw" || act.act === "company.apply") return "/";
  if (act.act === "person.invite" || act.act === "invitation.revoke" || act.act === "member.change")
    return peoplePath(act.uuid);
  if (act.act === "member.remove") return "/";
  if (act.act === "group.choose") return blocksPath(act.uuid);
  if (act.act === "notices.choose" || act.act === "mail.set") return noticesPath(act.uuid);
  if (act.act === "webhook.set" || act.act === "webhook.remove") return webhooksPath(act.uuid);
  return "uuid" in act ? businessPath(act.uuid) : accountPath;
}

interface Confirmed extends Answered {
  readonly act: Act;
  /** What `svc prove-key` printed, where the act registers a key. */
  readonly proven: string;
}

async function perform(deps: AccountDeps, who: SignedIn, { act, proven, ...answered }: Confirmed) {
  const { people } = deps;
  const by = await people.confirmed(who, actFacts(act), answered);
  if (!by.ok) return refusedPage(by.code);
  switch (act.act) {
    case "passkey.add": {
      const noted = await people.note(who, by.value, { act: "passkey.allow", subject: subjectOf(act) });
      return noted.ok ? makePage(deps, who, act.name) : refusedPage(noted.code);
    }
    case "sealing.add": {
      const noted = await people.note(who, by.value, { act: "sealing.allow", subject: subjectOf(act) });
      if (!noted.ok) return refusedPage(noted.code);
      const { uuid, legal_name } = act;
      // Of the business and the person; 64 bytes are the most that it may have.
      const userId = `${uuid}${who.person_id}`.replaceAll("-", "");
      const making = { act: "sealing.make", uuid, legal_name } as const;
      return makeSealerPage(deps, who, making, { action: sealerPath, userId });
    }
    case "passkey.make":
      return problemPage("form_stale");
    case "passkey.remove": {
      const removed = await people.removePasskey(who, by.value, act.credential_id);
      return removed.ok ? redirect(accountPath) : refusedPage(removed.code);
    }
    case "mail.set":
    case "mail.remove": {
      const address = act.act === "mail.set" ? act.address : null;
      if (act.act === "mail.set") {
        const allowed = await deps.owner.may(who, act.uuid, bindingRoles);
        if (!allowed.ok) return ownerRefusedPage(allowed);
      }
      const at = `${deps.place.origin}${mailLinkPath}`;
      const given = await deps.notices.give(who, by.value, { address, at });
      if (!given.ok) return mailRefusedPage(given.code);
      if (act.act === "mail.remove") return redirect(accountPath);
      const { sent, sentWords } = texts().notices.mail;
      return cardPage(sent, h("p", null, sentWords(act.address)));
    }
    case "person.leave": {
      await deps.applications.forgetRefused(who);
      const left = await people.leave(who, by.value);
      return left.ok ? redirect(signInPath, null) : refusedPage(left.code);
    }
    default: {
      // The confirmation is used up, and the act kept, before anything is done.
      const business = act.act === "invitation.accept" ? { business: act.uuid } : {};
      const noted = await people.note(who, by.value, { act: act.act, subject: subjectOf(act), ...business });
      if (!noted.ok) return refusedPage(noted.code);
      if (act.act === "person.invite") {
        const code = await deps.members.invite(who, act);
        return code.ok ? invitedPage(deps, act.uuid, code.value) : ownerRefusedPage(code);
      }
      if (act.act === "company.apply") {
        const filed = await deps.applications.fileCompany(who, act, answered.network);
        return filed.ok ? redirect("/") : refusedPage(filed.code);
      }
      if (act.act === "application.withdraw") {
        const isDone =
          (await deps.applications.withdraw(who, act.uuid)) ||
          (await deps.recoveries.withdraw(who, act.uuid));
        return isDone ? redirect("/") : problemPage("not_waiting", 409);
      }
      const done = await performFor(deps, who, act, proven);
      return done.ok ? redirect(pageOf(act)) : ownerRefusedPage(done);
    }
  }
}

type ActFor = Extract<Act, { readonly uuid: string }>;

/** An act for a business or an AI company, which the person has confirmed. */
function performFor(
  { owner, company, members, blocks, hosted, notices, webhooks, recoveries }: AccountDeps,
  who: SignedIn,
  act: Exclude<
    ActFor,
    {
      readonly act: "company.apply" | "application.withdraw" | "person.invite" | "sealing.add" | "mail.set";
    }
  >,
  proven: string,
): Promise<Result<void, OwnerRefusal>> {
  switch (act.act) {
    case "recovery.stop":
      return recoveries.stop(who, act);
    case "invitation.revoke":
      return members.takeBack(who, act);
    case "invitation.accept":
      return members.accept(who, { ...act, id: act.invitation });
    case "member.change":
      return members.change(who, act);
    case "member.remove":
      return members.change(who, { ...act, role: null });
    case "key.register":
      return owner.registerKey(who, { ...act, proven });
    case "key.revoke":
      return owner.revokeKey(who, act);
    case "mandate.revoke":
      return owner.revokeMandate(who, act);
    case "notices.choose": {
      const unwanted = chosenKinds.filter((each) => !act.kinds.includes(each));
      return notices.choose(who, { ...act, unwanted });
    }
    case "webhook.set":
      return webhooks.set(who, act);
    case "webhook.remove":
      return webhooks.remove(who, act);
    case "directory.choose":
      return company.choose(who, act);
    case "hosted.choose":
      return hosted.choose(who, act);
    case "group.choose":
      return blocks.choose(who, act);
    case "terms.agree":
      return company.agree(who, act);
  }
}

export function mailRefusedPage(code: MailRefusal): PageAnswer {
  switch (code) {
    case "not_mailed":
    case "link_stale":
      return problemPage(code, 409);
    default:
      return refusedPage(code);
  }
}

/** The link, which is in nothing that a server or a referrer is told: its secret is after the #. */
function invitedPage({ place }: DoorDeps, uuid: string, code: string): PageAnswer {
  const { made, madeWords, link } = texts().people.invitations;
  const value = `${place.origin}${invitationPath}#${code}`;
  return cardPage(
    made,
    h("p", null, madeWords),
    h("label", null, link, h("input", { readOnly: true, value })),
    h("p", null, h("a", { href: peoplePath(uuid) }, texts().goOn)),
  );
}

/** The party that a form names, for somebody who has one of these roles in it. */
export async function ownWith(
  { owner }: Pick<AccountDeps, "owner">,
  who: SignedIn,
  uuid: string,
  roles: readonly MemberRole[],
): Promise<OwnBusiness | PageAnswer> {
  const own = await owner.business(who, uuid);
  if (own === null) return problemPage("not_there", 404);
  return roles.includes(own.member.role) ? own : problemPage("role_too_low", 403);
}

/** The people of a business. */
export function peoplePath(uuid: string): string {
  return `/people/${uuid}`;
}

/** What happened at a business. */
export function noticesPath(uuid: string): string {
  return `/notices/${uuid}`;
}

/** What the systems of a business are told, and what became of it. */
export function webhooksPath(uuid: string): string {
  return `/webhooks/${uuid}`;
}

/** Where one does something for a business. */
export function businessPath(uuid: string): string {
  return `/businesses/${uuid}`;
}

/** Where a business blocks groups of AI companies. */
export function blocksPath(uuid: string): string {
  return `${businessPath(uuid)}/blocks`;
}

/** What was done to a party. */
export function actsPath(uuid: string): string {
  return `${businessPath(uuid)}/acts`;
}

/** The page of an AI company. */
export function companyPath(uuid: string): string {
  return `/companies/${uuid}`;
}

export function ownerRefusedPage({ code, detail }: Refusal<OwnerRefusal>): PageAnswer {
  switch (code) {
    case "not_there":
      return problemPage(code, 404);
    case "role_too_low":
      return problemPage(code, 403);
    case "challenge_expired":
      return problemPage(code, 409);
    case "session_ended":
      return refusedPage(code);
    case "not_accepted":
      return saidPage(detail);
  }
}

async function makePage(deps: DoorDeps, who: SignedIn, name: string): Promise<PageAnswer> {
  const act: Act = { act: "passkey.make", name };
  const report = await deps.people.report(who);
  if (report === null) return refusedPage("session_ended");
  const form = creationForm(deps.place, {
    ...deps.people.asking(who, actFacts(act)),
    action: makePath,
    button: texts().make,
    fields: { act: actText(act), form_code: deps.challenges.formCode(who.session.session) },
    user: { id: who.person_id, name: who.name },
    known: report.passkeys.map(({ credential_id }) => credential_id),
  });
  return wordsPage(actWords(act, who), form);
}

// How a passkey is made that seals for a business: it is made, and then signs what it is for (service/portal/possession.ts).

interface SealerMaking {
  /** Of which way it comes: what begins one does not go on in another. */
  readonly act: "application.make" | "sealing.make" | "recovery.make";
  readonly uuid: string;
  readonly legal_name: string;
  readonly country?: string;
}

/** Asks for the passkey. The authenticator keeps it under `userId`, so that it replaces no other passkey of the person. */
export function makeSealerPage(
  { people, place, challenges }: DoorDeps,
  who: SignedIn,
  act: SealerMaking,
  { action, userId }: { readonly action: string; readonly userId: string },
): PageAnswer {
  const { makeTitle, makeWords, make, sealedAs } = texts().apply;
  const form = creationForm(place, {
    ...people.asking(who, { ...act }),
    action,
    button: make,
    fields: { act: JSON.stringify(act), form_code: challenges.formCode(who.session.session) },
    user: { id: userId, name: sealedAs(act.legal_name) },
    isFound: false,
  });
  return wordsPage([makeTitle, makeWords(act.legal_name)], form);
}

/** Takes the passkey that was made, and asks it to sign the act that it is for, in these words. */
export async function proveSealerPage<A extends SealerAct>(
  { people, place, challenges }: DoorDeps,
  { who, network }: OwnVisit,
  form: Form,
  {
    made: act,
    askedOf,
    asking,
    action,
    words,
  }: {
    readonly made: SealerMaking;
    readonly askedOf: (passkey: Omit<SealerAct, "uuid">) => A;
    readonly asking: (asked: A) => IssuedChallenge | null;
    readonly action: string;
    readonly words: Words;
  },
): Promise<PageAnswer> {
  const made = await people.made(who, { ...act }, { ...answeredIn(form), network });
  if (!made.ok) return refusedPage(made.code);
  const { credential_id, public_key } = made.value;
  const asked = askedOf({ credential_id, public_key });
  const issued = asking(asked);
  if (issued === null) return problemPage("not_verified", 401);
  const proof = assertionForm(place, {
    ...issued,
    action,
    button: texts().apply.confirm,
    fields: { act: JSON.stringify(asked), form_code: challenges.formCode(who.session.session) },
    credential_ids: [credential_id],
  });
  return wordsPage(words, proof);
}

interface Shown {
  readonly who: SignedIn;
  readonly report: PersonReport;
  readonly form_code: string;
}

function accountContent({ place }: DoorDeps, shown: Shown): ComponentChild {
  const { who, report, form_code } = shown;
  const accepted = {
    rpId: place.rpId,
    userId: toBase64Url(utf8(who.person_id)),
    allAcceptedCredentialIds: report.passkeys.map(({ credential_id }) => credential_id),
  };
  const { passkeys, sessions, acts, leave } = texts().account;
  return h(
    "div",
    { "data-accepted": JSON.stringify(accepted) },
    h("h1", null, texts().account.title),
    section(
      "passkeys",
      passkeys.title,
      h("p", { class: "quiet" }, passkeys.words),
      passkeyTable(report.passkeys, form_code),
      nameForm({ action: "/passkeys/add", form_code, ...passkeys.add, autocomplete: "off" }),
    ),
    section("sessions", sessions.title, sessionTable(shown)),
    section("acts", acts.title, h("p", { class: "quiet" }, acts.words), actTable(report)),
    section(
      "leaving",
      leave.title,
      h("p", null, leave.words),
      plainForm({ action: "/leave", form_code, button: leave.button }),
    ),
  );
}

function passkeyTable(passkeys: readonly SignInPasskey[], form_code: string): ComponentChild {
  const words = texts().account.passkeys;
  return dataTable(
    words.caption,
    words.columns,
    passkeys.map(({ credential_id, name, added_at_ms, used_at_ms }) => ({
      key: credential_id,
      cells: [
        name,
        shortTime(formatTimestamp(added_at_ms)),
        shortTime(used_at_ms === null ? null : formatTimestamp(used_at_ms), words.never),
        plainForm({
          action: "/passkeys/remove",
          form_code,
          fields: { credential_id },
          button: words.remove,
          label: words.removeNamed(name),
        }),
      ],
    })),
  );
}

function sessionTable({ who, report, form_code }: Shown): ComponentChild {
  const words = texts().account.sessions;
  const nameOfPasskey = ({ credential_id }: PersonSession): string =>
    report.passkeys.find((each) => each.credential_id === credential_id)?.name ?? "";
  return dataTable(
    words.caption,
    words.columns,
    report.sessions.map((each) => {
      const { session, opened_at_ms, used_at_ms, network } = each;
      const isThis = session === who.session.session;
      const since = formatTimestamp(opened_at_ms);
      return {
        key: session,
        isChosen: isThis,
        cells: [
          nameOfPasskey(each),
          shortTime(since),
          shortTime(formatTimestamp(used_at_ms)),
          network ?? texts().unknownNetwork,
          isThis
            ? words.current
            : plainForm({
                action: "/sessions/end",
                form_code,
                fields: { session },
                button: words.end,
                label: words.endSince(since),
              }),
        ],
      };
    }),
  );
}

function actTable({ acts, passkeys }: PersonReport): ComponentChild {
  const words = texts().account.acts;
  const names: Readonly<Record<string, string>> = words.names;
  return dataTable(
    words.caption,
    words.columns,
    acts.map(({ at_ms, act, subject, credential_id, network }, at) => ({
      key: String(at),
      cells: [
        shortTime(formatTimestamp(at_ms)),
        names[act] ?? act,
        subject,
        passkeys.find((each) => each.credential_id === credential_id)?.name ?? words.removedPasskey,
        network ?? texts().unknownNetwork,
      ],
    })),
  );
}
