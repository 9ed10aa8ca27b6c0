// The acts that a passkey confirms. What a person is shown of an act is made of the act alone, and so is the challenge that they confirm.

import { memberRoles } from "../actors/messages/members.ts";
import type { ChosenKind } from "../actors/messages/notices.ts";
import { utf8 } from "../protocol/bytes.ts";
import type { JsonObject, JsonValue } from "../protocol/json/canonical-json.ts";
import {
  country,
  either,
  flag,
  hash,
  integer,
  keyId,
  list,
  literal,
  nullable,
  type Of,
  object,
  oneOf,
  parseShaped,
  text,
  timestamp,
  uuid,
} from "../protocol/shape.ts";
import { endpointId } from "../protocol/wire/webhook.ts";
import { chosenKinds } from "../service/portal/notices.ts";
import type { SignedIn } from "../service/portal/people.ts";
import { wording } from "./language.ts";

const name = text(100);
const role = oneOf(memberRoles);
/** The hash of a link's secret. */
const invitation = text(43);

const act = either(
  /** Lets a passkey be made, which is then an act of its own. */
  object({ act: literal("passkey.add"), name }),
  object({ act: literal("passkey.make"), name }),
  object({ act: literal("passkey.remove"), credential_id: text(1_400), name }),
  /** Lets a passkey be made that seals for the business. */
  object({ act: literal("sealing.add"), uuid, legal_name: text(256) }),
  object({ act: literal("person.leave") }),
  object({ act: literal("application.withdraw"), uuid, legal_name: text(256) }),
  object({
    act: literal("recovery.stop"),
    uuid,
    recovery: text(64),
    applicant_name: name,
    legal_name: text(256),
  }),
  object({ act: literal("person.invite"), uuid, role, legal_name: text(256) }),
  object({ act: literal("invitation.revoke"), uuid, invitation, role, legal_name: text(256) }),
  object({ act: literal("invitation.accept"), uuid, invitation, role, legal_name: text(256) }),
  object({ act: literal("member.change"), uuid, person_id: uuid, name, role, legal_name: text(256) }),
  object({ act: literal("member.remove"), uuid, person_id: uuid, name, legal_name: text(256) }),
  object({ act: literal("key.register"), uuid, key_id: keyId, legal_name: text(256) }),
  /** Since when the key was in other hands; null for one that never was. */
  object({
    act: literal("key.revoke"),
    uuid,
    key_id: keyId,
    compromised_from: nullable(timestamp),
    legal_name: text(256),
  }),
  object({ act: literal("mandate.revoke"), uuid, mandate_id: text(128), legal_name: text(256) }),
  object({
    act: literal("notices.choose"),
    uuid,
    legal_name: text(256),
    kinds: list(oneOf(chosenKinds), { min: 0, max: chosenKinds.length }),
  }),
  object({
    act: literal("webhook.set"),
    uuid,
    legal_name: text(256),
    endpoint_id: endpointId,
    url: text(512),
    kinds: list(oneOf(chosenKinds), { min: 1, max: chosenKinds.length }),
  }),
  object({
    act: literal("webhook.remove"),
    uuid,
    legal_name: text(256),
    endpoint_id: endpointId,
    url: text(512),
  }),
  object({ act: literal("mail.set"), uuid, legal_name: text(256), address: text(254) }),
  object({ act: literal("mail.remove") }),
  object({ act: literal("company.apply"), uuid, legal_name: text(256), country }),
  object({ act: literal("directory.choose"), uuid, legal_name: text(256), listed: flag }),
  object({ act: literal("hosted.choose"), uuid, legal_name: text(256), on: flag }),
  object({ act: literal("group.choose"), uuid, legal_name: text(256), group: text(256), blocked: flag }),
  object({
    act: literal("terms.agree"),
    uuid,
    legal_name: text(256),
    version: integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
    sha256: hash,
  }),
);

export type Act = Of<typeof act>;

/** The act that a form names; null for anything else. */
export function actIn(given: string): Act | null {
  return parseShaped(act, utf8(given));
}

/** The act as text for a form. */
export function actText(asked: Act): string {
  return JSON.stringify(asked);
}

/** The act as its challenge names it. */
export function actFacts(asked: Act): JsonObject {
  return asked as Readonly<Record<string, JsonValue>>;
}

/** What is confirmed, in words: a title and sentences. */
export function actWords(asked: Act, who: SignedIn): readonly [title: string, ...sentences: string[]] {
  const words = wording().portal.acts;
  switch (asked.act) {
    case "passkey.add":
    case "passkey.make":
      return words.addPasskey(asked.name);
    case "passkey.remove":
      return words.removePasskey(asked.name);
    case "sealing.add":
      return words.addSealing(asked.legal_name);
    case "person.leave":
      return words.leave(who.name);
    case "application.withdraw":
      return words.withdraw(asked.legal_name);
    case "recovery.stop":
      return words.stopRecovery(asked.legal_name, asked.applicant_name);
    case "person.invite":
      return words.invite(asked.legal_name, asked.role);
    case "invitation.revoke":
      return words.revokeInvitation(asked.legal_name, asked.role);
    case "invitation.accept":
      return words.acceptInvitation(asked.legal_name, asked.role);
    case "member.change":
      return words.changeMember(asked.legal_name, asked.name, asked.role);
    case "member.remove":
      return words.removeMember(asked.legal_name, asked.name);
    case "key.register":
      return words.registerKey(asked.legal_name, asked.key_id);
    case "key.revoke":
      return asked.compromised_from === null
        ? words.revokeKey(asked.legal_name, asked.key_id)
        : wording().business.compromised.act(asked.legal_name, asked.key_id, asked.compromised_from);
    case "mandate.revoke":
      return words.revokeMandate(asked.legal_name, asked.mandate_id);
    case "notices.choose":
      return words.chooseNotices(asked.legal_name, kindsIn(asked.kinds));
    case "webhook.set":
      return words.setWebhook(asked.legal_name, asked.url, kindsIn(asked.kinds));
    case "webhook.remove":
      return words.removeWebhook(asked.legal_name, asked.url);
    case "mail.set":
      return words.setMail(asked.address);
    case "mail.remove":
      return words.removeMail();
    case "company.apply":
      return words.applyCompany(asked.legal_name, asked.country);
    case "directory.choose":
      return words.list(asked.legal_name, asked.listed);
    case "hosted.choose":
      return words.host(asked.legal_name, asked.on);
    case "group.choose":
      return words.block(asked.legal_name, asked.group, asked.blocked);
    case "terms.agree":
      return words.agree(asked.legal_name, asked.version, asked.sha256);
  }
}

function kindsIn(kinds: readonly ChosenKind[]): string {
  return kinds.map((kind) => wording().portal.notices.names[kind]).join("; ");
}

/** What an act was about, for the journal. */
export function subjectOf(asked: Act): string {
  if (asked.act === "key.revoke" && asked.compromised_from !== null)
    return wording().business.compromised.subject(asked.key_id, asked.compromised_from);
  if ("key_id" in asked) return asked.key_id;
  if ("mandate_id" in asked) return asked.mandate_id;
  if ("endpoint_id" in asked) return asked.endpoint_id;
  if ("group" in asked) return `${asked.legal_name}: ${asked.group}`;
  if ("version" in asked) return `${asked.legal_name}, version ${asked.version}`;
  if ("person_id" in asked)
    return `${asked.legal_name}: ${asked.name}${"role" in asked ? `, ${asked.role}` : ""}`;
  if ("role" in asked) return `${asked.legal_name}: ${asked.role}`;
  if ("legal_name" in asked) return asked.legal_name;
  return "name" in asked ? asked.name : "";
}
