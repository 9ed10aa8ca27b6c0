// What a person's actor does outside its journal: it mails notices, and tells an address that it is none any more.

import type { PersonNotice, SentNotice } from "../messages/notices.ts";
import type { FormerAddress } from "../messages/person.ts";
import { personRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

/** A port: mail to people at addresses that they confirmed. */
export interface PersonMail {
  /** Throws if it was not taken and may be later. It may be asked for the same mail again, which has the same id. */
  send(mail: NoticeMail): Promise<void>;
  /** Likewise. */
  sendFormer(mail: FormerMail): Promise<void>;
}

export interface FormerMail extends FormerAddress {
  readonly person_id: string;
}

export interface NoticeMail extends SentNotice {
  readonly person_id: string;
  readonly to: string;
  /** What the person whom it is about is called; empty where it is about none. */
  readonly name: string;
}

/** What a person's actor has done outside its journal; `mail` is null where the node sends none. */
export function personActivities({ mail }: { readonly mail: PersonMail | null }): Record<string, Activity> {
  return {
    mailPerson: async (sent: SentNotice, context: ActivityContext<"person">) => {
      // The address is read for each attempt: one that was taken away gets nothing that was decided before.
      const { address } = await context.ask(context.actor, { type: "mail.read" });
      if (mail === null || address === null) return null;
      const name = await nameIn(sent.notice, context);
      await mail.send({ ...sent, person_id: context.actor.id, to: address, name });
      return null;
    },
    mailFormer: async (former: FormerAddress, { actor }: ActivityContext<"person">) => {
      await mail?.sendFormer({ ...former, person_id: actor.id });
      return null;
    },
  };
}

async function nameIn(notice: PersonNotice, { ask }: ActivityContext<"person">): Promise<string> {
  if (!("person_id" in notice)) return "";
  return (await ask(personRef(notice.person_id), { type: "name.read" })) ?? notice.person_id;
}
