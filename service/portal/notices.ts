// Notices at the portal: what a person who binds a party is told, which of it they want, and where it is mailed.
//   PT1. An address gets one link, and nothing else before its person opened that while signed in. The code in it is of the person and
//        the address, so it confirms nothing else, and for nobody else.
//   PT2. Only who binds a party asks for links, and five times a day: nobody mails strangers by this service.

import { chosenKinds, type NoticeKind, type PersonNotice } from "../../actors/messages/notices.ts";
import type { Confirmation, PersonAddress, PersonRefusal } from "../../actors/messages/person.ts";
import { businessRef, personRef } from "../../actors/messages/refs.ts";
import type { Actors } from "../../actors/system/definition.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import type { Challenges } from "./challenges.ts";
import { notThere, type Owner, type OwnerRefusal } from "./owner.ts";
import type { Homes, SignedIn } from "./people.ts";

export { chosenKinds };

export interface NoticesDeps extends Actors {
  readonly homes: Pick<Homes, "isKnown">;
  readonly owner: Pick<Owner, "may">;
  readonly challenges: Pick<Challenges, "formCode" | "isFormCode">;
  /** Null where nothing is mailed. */
  readonly mailLink:
    | ((mail: { readonly person_id: string; readonly to: string; readonly link: string }) => Promise<boolean>)
    | null;
}

export interface NamedNotice {
  readonly notice: PersonNotice;
  /** What the person whom it is about is called; empty where it is about none. */
  readonly name: string;
}

export interface OwnNotices {
  /** What the person wants, the newest first. */
  readonly notices: readonly NamedNotice[];
  readonly unwanted: readonly NoticeKind[];
  /** Null where nothing is mailed. */
  readonly mail: PersonAddress | null;
}

export type MailRefusal = PersonRefusal | "not_mailed" | "link_stale";

export interface OwnersNotices {
  readonly isMailed: boolean;
  /** Null for somebody who does not bind the party. */
  read(who: SignedIn, uuid: string): Promise<OwnNotices | null>;
  choose(
    who: SignedIn,
    asked: { readonly uuid: string; readonly unwanted: readonly NoticeKind[] },
  ): Promise<Result<void, OwnerRefusal>>;
  /** Keeps the address, and mails the link to it: `at` is the page that takes its code. Null takes the address away. */
  give(
    who: SignedIn,
    by: Confirmation,
    asked: { readonly address: string | null; readonly at: string },
  ): Promise<Result<void, MailRefusal>>;
  /** Confirms the address that waits, by the code of the link (PT1). */
  confirm(who: SignedIn, code: string, network: string | null): Promise<Result<void, MailRefusal>>;
}

const mailAddress =
  /^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?)+$/;
/** The longest path in SMTP, without its brackets (RFC 5321 §4.5.3.1.3). */
const addressLengthMax = 254;

/** An address as mail headers and SMTP commands may have it; null for any other text. */
export function addressIn(text: string): string | null {
  const address = text.trim();
  return address.length <= addressLengthMax && mailAddress.test(address) ? address : null;
}

/** Notices as their reader sees them, what they choose, and their address. Its methods throw {@link StoreError}. */
export function createNotices(deps: NoticesDeps): OwnersNotices {
  const { actors, challenges, mailLink } = deps;
  const addressOf = (who: SignedIn) => actors.ask(personRef(who.person_id), { type: "mail.read" });
  return {
    isMailed: mailLink !== null,
    read: async (who, uuid) => {
      const { person_id } = who;
      const own = await actors.ask(businessRef(uuid), { type: "notices.read", person_id });
      if (own === null) return null;
      const notices = await Promise.all(
        own.notices.map(async (notice) => ({ notice, name: await nameIn(deps, notice) })),
      );
      return { ...own, notices, mail: mailLink === null ? null : await addressOf(who) };
    },
    choose: async (who, { uuid, unwanted }) => {
      const allowed = await deps.owner.may(who, uuid, ["owner", "admin"]);
      if (!allowed.ok) return allowed;
      const { person_id } = who;
      const reply = await actors.ask(businessRef(uuid), { type: "notices.choose", person_id, unwanted });
      return reply.status === "done" ? ok(undefined) : notThere;
    },
    give: async ({ person_id }, by, { address, at }) => {
      const reply = await actors.ask(personRef(person_id), { type: "mail.give", by, address });
      if (reply.status === "refused") return refuse(reply.code, "The address was not kept.");
      if (address === null || mailLink === null) return ok(undefined);
      const link = `${at}#${challenges.formCode(linkOf(person_id, address))}`;
      return (await mailLink({ person_id, to: address, link }))
        ? ok(undefined)
        : refuse("not_mailed", "The mail server did not take the link.");
    },
    confirm: async (who, code, network) => {
      const { waiting, address: confirmed } = await addressOf(who);
      const address = [waiting, confirmed].find(
        (each) => each !== null && challenges.isFormCode(linkOf(who.person_id, each), code),
      );
      if (address == null) return refuse("link_stale", "The code is of no address that waits.");
      const { session } = who.session;
      const command = { type: "mail.confirm", session, address, network } as const;
      const reply = await actors.ask(personRef(who.person_id), command);
      return reply.status === "done" ? ok(undefined) : refuse(reply.code, "The address was not confirmed.");
    },
  };
}

/** No session is called so: its code is good for nothing else. */
function linkOf(personId: string, address: string): string {
  return `mail ${personId} ${address}`;
}

async function nameIn({ actors, homes }: NoticesDeps, notice: PersonNotice): Promise<string> {
  if (!("person_id" in notice)) return "";
  const { person_id } = notice;
  const isKnown = await homes.isKnown(person_id);
  const name = isKnown ? await actors.ask(personRef(person_id), { type: "name.read" }) : null;
  return name ?? person_id;
}
