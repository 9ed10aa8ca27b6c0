// The people of a business at the portal: who invites whom, by which link, and who changes and takes roles.
//   PM1. A link has 32 secret bytes, of which the business keeps a hash with the role and the end; it is shown once, to the member who
//        made it. One that is unknown, used, taken back or over is the same to everybody.
//   PM2. Whether a role may be given or taken is decided by the business's actor, with the change.
//   PM3. Who owns or administers a business makes their own passkey that seals for it. It is a new one for this business, proves itself
//        (possession.ts), and is registered in the commit that gives it to the member.

import type { KeyFacts } from "../../actors/messages/business.ts";
import {
  bindingRoles,
  givenBy,
  type Invitation,
  type ListedMember,
  type MemberRole,
} from "../../actors/messages/members.ts";
import { businessRef, personRef } from "../../actors/messages/refs.ts";
import { toBase64Url, utf8 } from "../../protocol/bytes.ts";
import { isUuidV4 } from "../../protocol/identifiers.ts";
import { ok, type Result, refuse } from "../../protocol/result.ts";
import { readEntry } from "../register/home-evidence.ts";
import type { Registered } from "../register/parties.ts";
import type { IssuedChallenge } from "./challenges.ts";
import { accepted, actOf, notThere, type OwnerRefusal } from "./owner.ts";
import type { Homes, People, SignedIn } from "./people.ts";
import {
  askingPossession,
  type PossessionDeps,
  provenSealer,
  type SealerAct,
  stateCustodyOnce,
} from "./possession.ts";
import type { SealingDeps } from "./sealing.ts";

export interface MembersDeps extends PossessionDeps, Registered, SealingDeps {
  readonly homes: Homes;
  readonly people: Pick<People, "keep">;
}

export interface NamedMember extends ListedMember {
  /** What the person is called. */
  readonly name: string;
}

export interface BusinessPeople {
  readonly uuid: string;
  readonly legal_name: string;
  /** Which roles the person who asks gives and takes. */
  readonly gives: readonly MemberRole[];
  /** Those who were there first come first. */
  readonly members: readonly NamedMember[];
  readonly invitations: readonly Invitation[];
}

/** An invitation by its link. */
export interface Invited extends Pick<Invitation, "id" | "role"> {
  readonly uuid: string;
  readonly legal_name: string;
}

/** A new passkey of a member, as it is shown to them before it signs. */
export interface AskedSealer extends SealerAct {
  readonly act: "sealing.prove";
  readonly legal_name: string;
}

type Outcome<T> = Promise<Result<T, OwnerRefusal>>;

export interface Members {
  /** Null for somebody who has no role in the business. */
  people(who: SignedIn, uuid: string): Promise<BusinessPeople | null>;
  /** The code of the link, which nobody sees again. */
  invite(who: SignedIn, asked: { readonly uuid: string; readonly role: MemberRole }): Outcome<string>;
  takeBack(who: SignedIn, asked: { readonly uuid: string; readonly invitation: string }): Outcome<void>;
  /** What the code of a link invites to; null for any other text. */
  invited(code: string): Promise<Invited | null>;
  accept(who: SignedIn, invited: Invited): Outcome<void>;
  /** Gives a member another role; null takes it. */
  change(
    who: SignedIn,
    asked: { readonly uuid: string; readonly person_id: string; readonly role: MemberRole | null },
  ): Outcome<void>;
  /** What the new passkey has to sign; null if its key is of no kind that seals. */
  asking(who: SignedIn, asked: AskedSealer): IssuedChallenge | null;
  /** Has the new passkey seal for the business (PM3). Repeatable. */
  enrol(
    who: SignedIn,
    asked: AskedSealer,
    answered: { readonly ticket: string; readonly credential: unknown; readonly network: string | null },
  ): Outcome<void>;
}

const invitationMs = 7 * 86_400_000;
const secretBytes = 32;

/** Roles and invitations of one node's portal; the party's actor decides. Its methods throw {@link StoreError}. */
export function createMembers(deps: MembersDeps): Members {
  const { actors, crypto, clock } = deps;
  const idOf = (code: string): string => toBase64Url(crypto.sha256(utf8(code)));
  return {
    people: (who, uuid) => people(deps, who, uuid),
    invite: async (who, { uuid, role }) => {
      if ((await listed(deps, who, uuid)) === null) return notThere;
      const code = `${uuid}.${toBase64Url(crypto.randomBytes(secretBytes))}`;
      const until_ms = clock.now() + invitationMs;
      const { person_id } = who;
      const act = actOf(who, `Invited a ${role} at the portal.`);
      const command = { type: "invitation.set", id: idOf(code), role, person_id, until_ms, act } as const;
      const reply = await actors.ask(businessRef(uuid), command);
      return reply.status === "done" ? ok(code) : refusalOf(reply);
    },
    takeBack: async (who, { uuid, invitation: id }) => {
      if ((await listed(deps, who, uuid)) === null) return notThere;
      const { person_id } = who;
      const act = actOf(who, "Taken back at the portal.");
      const command = { type: "invitation.set", id, role: null, person_id, until_ms: 0, act } as const;
      const reply = await actors.ask(businessRef(uuid), command);
      return reply.status === "done" ? ok(undefined) : refusalOf(reply);
    },
    invited: async (code) => {
      const [, uuid = ""] = codeForm.exec(code) ?? [];
      if (!isUuidV4(uuid)) return null;
      const party = await deps.register.party(uuid);
      const id = idOf(code);
      const asked = businessRef(await deps.homes.orNobody(uuid));
      const found = await actors.ask(asked, { type: "invitation.read", id });
      return found && party && { uuid, id, role: found.role, legal_name: party.legal_name };
    },
    accept: async (who, { uuid, id: invitation, role }) => {
      const { person_id } = who;
      const act = actOf(who, "Invited at the portal.");
      const command = { type: "member.set", person_id, role, invitation, act } as const;
      const reply = await actors.ask(businessRef(uuid), command);
      return reply.status === "done" ? ok(undefined) : refusalOf(reply);
    },
    change: async (who, { uuid, person_id, role }) => {
      const own = await listed(deps, who, uuid);
      const member = own?.members.find((each) => each.person_id === person_id);
      if (member === undefined) return notThere;
      const isKept = role !== null && bindingRoles.includes(role);
      const taken = member.sealing === null || isKept ? {} : { revokes: member.sealing.key_id };
      const act = actOf(who, role === null ? "Removed at the portal." : `Made ${role} at the portal.`);
      const by_person = who.person_id;
      // Who comes back after they were removed has noted the business later.
      const noted_before_ms = clock.now();
      const command = { type: "member.set", person_id, role, by_person, act, ...taken } as const;
      const reply = await actors.ask(businessRef(uuid), command);
      if (reply.status === "refused") return refusalOf(reply);
      if (role === null)
        await actors.ask(personRef(person_id), { type: "business.forget", uuid, noted_before_ms });
      return ok(undefined);
    },
    asking: (who, asked) => askingPossession(deps, deps.challenges, who, asked),
    enrol: async (who, asked, { network, ...answered }) => {
      const { uuid, credential_id } = asked;
      const own = (await listed(deps, who, uuid))?.own;
      if (own === undefined) return notThere;
      const { role, sealing } = own;
      if (role !== "owner" && role !== "admin") return refuse("role_too_low", `A ${role} does not seal.`);
      const { certificate } = await deps.parties.facts(uuid, "");
      if (certificate?.status !== "active")
        return refuse("not_accepted", "The certificate of the business is not in force.");
      const proven = await provenSealer(deps, deps.challenges, who, { asked, role, ...answered });
      if (!proven.ok) {
        const { code, detail } = proven;
        return refuse(code === "challenge_expired" ? code : "not_accepted", detail);
      }
      const { key } = proven.value;
      const { key_id } = key;
      const replaces = sealing === null || sealing.key_id === key_id ? undefined : sealing.key_id;
      if (replaces !== undefined && !(await isRevoked(deps, uuid, replaces)))
        return refuse("not_accepted", "You have a passkey that seals for this business already.");
      return accepted(async () => {
        await deps.parties.claimProvenKey(proven.value);
        // Its journal has it before it binds the business.
        const kept = await deps.people.keep(who, {
          act: "sealing.add",
          subject: `${asked.legal_name}: ${key_id}`,
          source: key_id,
          network,
          challenge: proven.value.used,
        });
        if (!kept.ok) return refuse("session_ended", kept.detail);
        const { person_id } = who;
        const act = actOf(who, "Made at the portal.");
        const named = replaces === undefined ? {} : { replaces };
        const command = { type: "sealer.set", person_id, credential_id, key, ...named, act } as const;
        const reply = await actors.ask(businessRef(uuid), command);
        if (reply.status === "refused") return refusalOf(reply);
        await stateCustodyOnce(deps, { uuid, key_id, custody: "self" });
        return ok(undefined);
      });
    },
  };
}

async function isRevoked(deps: MembersDeps, uuid: string, keyId: string): Promise<boolean> {
  const facts = await readEntry<KeyFacts>(deps.actors, uuid, `key/${keyId}`);
  return facts !== null && facts.revoked_at !== null;
}

/** The code of a link: the uuid of the business and the secret. */
export const codeForm = /^([0-9a-f-]{36})\.[\w-]{43}$/;

function refusalOf({ code, detail }: { readonly code: string; readonly detail: string }) {
  return code === "role_too_low" ? refuse("role_too_low", detail) : refuse("not_accepted", detail);
}

/** Without what the others are called; null for somebody who has no role in the business. */
async function listed(deps: MembersDeps, { person_id }: SignedIn, uuid: string) {
  if (!isUuidV4(uuid)) return null;
  const party = await deps.register.party(uuid);
  const asked = businessRef(await deps.homes.orNobody(uuid));
  const list = await deps.actors.ask(asked, { type: "members.list", person_id });
  const own = list?.members.find((each) => each.person_id === person_id);
  if (party === null || list === null || own === undefined) return null;
  return { ...list, own, legal_name: party.legal_name };
}

async function people(deps: MembersDeps, who: SignedIn, uuid: string): Promise<BusinessPeople | null> {
  const list = await listed(deps, who, uuid);
  if (list === null) return null;
  const members = await Promise.all(
    list.members.map(async (each) => {
      const isKnown = await deps.homes.isKnown(each.person_id);
      const name = isKnown ? await deps.actors.ask(personRef(each.person_id), { type: "name.read" }) : null;
      return { ...each, name: name ?? each.person_id };
    }),
  );
  return {
    uuid,
    legal_name: list.legal_name,
    gives: givenBy[list.own.role],
    members: members.sort((a, b) => a.since_ms - b.since_ms),
    invitations: list.invitations,
  };
}
