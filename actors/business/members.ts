// The people of a business: each has one role, which the portal asks for at every act.
//   MB1. Of the owners, the last one stays: nobody could let another one in, and an owner can always make a passkey that seals.
//   MB2. Nothing of it is projected into the register, and so nothing is published. Who changed what is kept with the acts on it.
//   MB3. Nobody has a key that seals for the business without a role that does: a key is registered in the commit that gives it to a member,
//        and revoked in the commit that takes the role.
//   MB4. An invitation is used once, before its end, and for as long as the role of the member who made it gives what it offers. Of its
//        link the actor has a hash alone. One that the member's role gives no more is deleted with it.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RowKey, RowSelection } from "../../storage/actor-store.ts";
import {
  bindingRoles,
  givenBy,
  type Invitation,
  type ListedPeople,
  type Member,
  type MemberRole,
  type MembersProtocol,
} from "../messages/members.ts";
import type { NoticeFacts } from "../messages/notices.ts";
import type { CommandOf, Commands, RegisterAct, RegisterReply } from "../messages/protocol.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { forgetChoice, noticesOf, selectForNotices } from "./notices.ts";
import { changeRegister } from "./register.ts";
import {
  actRow,
  type BusinessView,
  done,
  factsIn,
  lastNumber,
  members,
  membersMax,
  refusal,
  registerOf,
  selectPeople,
  selectRegister,
} from "./rows.ts";

type Decided = Decision<RegisterReply, BusinessEvent>;
type Asked<T extends keyof MembersProtocol> = CommandOf<MembersProtocol, T>;

const invitations = defineJsonTable<Invitation>("invitations", 96);
/** Maximum number of invitations of one business that wait. */
const invitationsMax = 50;

/** All people of the business and the invitations that wait, and the key that a command takes from somebody. */
export function selectMembers(command: Commands<MembersProtocol>): readonly RowSelection[] {
  const all = selectPeople();
  if (command.type === "member.read") return [all];
  const named =
    command.type === "sealer.set"
      ? [command.key.key_id, command.replaces]
      : ["revokes" in command ? command.revokes : undefined];
  const key = selectRegister(named.flatMap((each) => (each === undefined ? [] : [`key/${each}`])));
  const tells = command.type === "member.set" || command.type === "sealer.set";
  const people = tells ? selectForNotices() : [all];
  const asked =
    command.type === "invitation.set" || command.type === "invitation.read"
      ? [command.id]
      : "invitation" in command && command.invitation !== undefined
        ? [command.invitation]
        : [];
  // One that is over stays on the page until the store forgets it, so the one that is asked for is selected by its key.
  return [...people, selectInvitations(), invitations.select(asked), ...key];
}

/** The invitations that wait. */
export function selectInvitations(): RowSelection {
  return invitations.selectPage(invitationsMax);
}

/** The role of a person, and the passkey that seals with it; null for somebody without a role. */
export function readMember({ person_id }: Asked<"member.read">, view: BusinessView): Member | null {
  const known = members.read(view, person_id);
  return known === undefined ? null : { role: known.role, sealing: known.sealing };
}

/** Everybody with a role, and the open invitations; null where who asks has no role. */
export function listMembers(
  { person_id: asking }: Asked<"members.list">,
  view: BusinessView,
): ListedPeople | null {
  if (members.read(view, asking) === undefined) return null;
  return {
    members: members.readAll(view).map(({ k2: person_id, value: { role, sealing, since_ms } }) => ({
      person_id,
      role,
      sealing,
      since_ms,
    })),
    invitations: invitations.readAll(view).flatMap(({ k2 }) => openInvitation(k2, view) ?? []),
  };
}

/**
 * Gives, changes or, with the role null, takes a role, with the key that goes with it (MB3). Refused with `party_unknown`,
 * `role_too_low`, `member_unknown`, `owner_last`, `too_many_people` or `member_changed`; by an invitation with `invitation_over`,
 * `member_known` or `too_many_people`.
 */
export function setMember(command: Asked<"member.set">, view: BusinessView): Decided {
  const { person_id, role, sealing: given, revokes, by_person, invitation, act } = command;
  if (invitation !== undefined) return acceptInvitation(invitation, command, view);
  if (view.snapshot.context.party === null)
    return { reply: refusal("party_unknown", "A party is opened before it has people.") };
  const known = members.read(view, person_id);
  const kept = role !== null && bindingRoles.includes(role) ? (known?.sealing ?? null) : null;
  const sealing = given ?? kept;
  const isSame = (known?.role ?? null) === role && known?.sealing?.key_id === sealing?.key_id;
  if (isSame) return { reply: done };
  const isOwn = by_person === person_id && role === null;
  const changedRoles = [known?.role, role].filter((each) => each !== undefined && each !== null);
  if (by_person !== undefined && !isOwn && !givesAll(by_person, changedRoles, view)) return roleTooLow;
  if (by_person !== undefined && known === undefined)
    return { reply: refusal("member_unknown", "The person does not work for the business any more.") };
  const all = members.readAll(view);
  const owners = all.filter(({ value }) => value.role === "owner");
  if (known?.role === "owner" && role !== "owner" && owners.length < 2)
    return { reply: refusal("owner_last", "The last owner of a business stays its owner.") };
  if (known === undefined && all.length >= membersMax)
    return { reply: refusal("too_many_people", `A business has at most ${membersMax} people.`) };
  const taken = known?.sealing?.key_id === sealing?.key_id ? undefined : known?.sealing?.key_id;
  if (taken !== revokes)
    return { reply: refusal("member_changed", "The person seals with another key than was named.") };
  const ended = taken === undefined ? {} : revokedBy(taken, act, view);
  if (ended.reply?.status === "refused") return { reply: ended.reply };
  const deletes = [...(ended.deletes ?? []), ...invitationsLost(person_id, role, view)];
  const changed = { ...ended, deletes, reply: { status: "done", changed: true } } as const;
  const what = { act: "member.set", entry: `person/${person_id}`, told: roleNotice(person_id, role, act) };
  if (role === null) {
    const gone = [members.key(person_id), forgetChoice(person_id)];
    return withAct({ ...changed, deletes: [...deletes, ...gone] }, what, act, view);
  }
  const member = { role, sealing, since_ms: view.nowMs, ...act };
  const puts = [...(ended.puts ?? []), members.write(person_id, member)];
  return withAct({ ...changed, puts }, what, act, view);
}

/** See MB3. */
export function setSealer(command: Asked<"sealer.set">, view: BusinessView): Decided {
  const { person_id, credential_id, key, replaces, act } = command;
  const { key_id } = key;
  if (view.snapshot.context.party?.kind !== "business")
    return { reply: refusal("role_not_allowed", "Only a business has passkeys that seal.") };
  const known = members.read(view, person_id);
  if (known === undefined || !bindingRoles.includes(known.role) || known.role !== key.person_role)
    return { reply: refusal("role_too_low", "Your role in this business does not seal.") };
  const { sealing } = known;
  if (sealing?.key_id === key_id) return { reply: done };
  if (sealing !== null && !(replaces === sealing.key_id && isRevoked(replaces, view)))
    return { reply: refusal("sealer_known", "You have a passkey that seals for this business already.") };
  const registered = changeRegister({ type: "key.register", key, act }, view);
  if (registered.reply?.status === "refused") return { reply: registered.reply };
  if (registered.puts === undefined)
    return { reply: refusal("key_taken", "The passkey seals for this business already.") };
  const member = { ...known, sealing: { key_id, credential_id } };
  return withAct(
    {
      ...registered,
      puts: [...registered.puts, members.write(person_id, member)],
      reply: { status: "done", changed: true },
    },
    {
      act: "sealer.set",
      entry: `person/${person_id}`,
      told: { kind: "sealer.added", key_id, by: act.by },
    },
    act,
    view,
  );
}

function isRevoked(key_id: string, view: BusinessView): boolean {
  const known = registerOf(view, `key/${key_id}`);
  return known !== undefined && factsIn("key", known).revoked_at !== null;
}

/** Makes an invitation or, with the role null, deletes it. Refused with `role_too_low` or `too_many_invitations`. */
export function setInvitation(
  { id, role, person_id, until_ms, act }: Asked<"invitation.set">,
  view: BusinessView,
): Decided {
  const known = invitations.read(view, id);
  const changed = role ?? known?.role;
  if (changed !== undefined && !givesAll(person_id, [changed], view)) return roleTooLow;
  if ((role === null) === (known === undefined)) return { reply: done };
  const reply = { status: "done", changed: true } as const;
  const kept = { act: "invitation.set", entry: `invitation/${id}` };
  if (role === null) return withAct({ reply, deletes: [invitations.key(id)] }, kept, act, view);
  if (invitations.readAll(view).length >= invitationsMax)
    return {
      reply: refusal("too_many_invitations", `At most ${invitationsMax} invitations of a business wait.`),
    };
  const row = invitations.write(id, { id, role, person_id, until_ms }, { expiresAtMs: until_ms });
  return withAct({ reply, puts: [row] }, kept, act, view);
}

function acceptInvitation(
  id: string,
  { person_id, role, act: given }: Asked<"member.set">,
  view: BusinessView,
): Decided {
  const known = openInvitation(id, view);
  if (known === null || known.role !== role)
    return { reply: refusal("invitation_over", "The invitation was used or taken back, or is over.") };
  if (members.read(view, person_id) !== undefined)
    return { reply: refusal("member_known", "You work for it already, so nothing changes.") };
  if (members.readAll(view).length >= membersMax)
    return { reply: refusal("too_many_people", `A business has at most ${membersMax} people.`) };
  const act = { ...given, reason: `${given.reason} The invitation is of the person ${known.person_id}.` };
  const member = { role, sealing: null, since_ms: view.nowMs, ...act };
  const accepted = {
    reply: { status: "done", changed: true },
    puts: [members.write(person_id, member)],
    deletes: [invitations.key(id)],
  } as const;
  const told = roleNotice(person_id, role, act);
  return withAct(accepted, { act: "member.set", entry: `person/${person_id}`, told }, act, view);
}

function roleNotice(person_id: string, role: MemberRole | null, { by }: RegisterAct): NoticeFacts {
  return { kind: "role.changed", person_id, role, by };
}

/** The decision with its act, under a change number of its own (MB2), and the notice of it. */
export function withAct<R>(
  { events = [], puts = [], deletes = [], effects = [], ...decided }: Decision<R, BusinessEvent>,
  { told: facts, ...done }: { readonly act: string; readonly entry: string; readonly told?: NoticeFacts },
  act: RegisterAct,
  view: BusinessView,
): Decision<R, BusinessEvent> {
  const earlier = events.filter(({ type }) => type === "register.changed").length;
  const change = lastNumber(view, view.snapshot.context.change) + earlier + 1;
  const notice_id = `${view.id}.${done.act}.${change}`;
  const told = noticesOf(facts === undefined ? [] : [{ notice_id, facts }], view);
  return {
    ...decided,
    events: [...events, { type: "register.changed", keys: [], change, act }],
    puts: [...puts, actRow(act, { ...done, change }, view.nowMs), ...told.puts],
    deletes: [...deletes, ...told.deletes],
    effects: [...effects, ...told.effects],
  };
}

/** The same for what somebody may have sealed at the portal. What changes nothing is no act. */
export function withSealedAct<R>(
  decided: Decision<R, BusinessEvent>,
  done: { readonly act: string; readonly entry: string },
  act: RegisterAct | undefined,
  view: BusinessView,
): Decision<R, BusinessEvent> {
  return act === undefined || (decided.events ?? []).length === 0
    ? decided
    : withAct(decided, done, act, view);
}

/** See MB4. */
export function openInvitation(id: string, view: BusinessView): Invitation | null {
  const known = invitations.read(view, id);
  const isOpen =
    known !== undefined && view.nowMs < known.until_ms && givesAll(known.person_id, [known.role], view);
  return isOpen ? known : null;
}

/** The invitations of a member that they do not give with this role (MB4). */
export function invitationsLost(
  personId: string,
  role: MemberRole | null,
  view: BusinessView,
): readonly RowKey[] {
  const given = role === null ? [] : givenBy[role];
  return invitations
    .readAll(view)
    .filter(({ value }) => value.person_id === personId && !given.includes(value.role))
    .map(({ k2 }) => invitations.key(k2));
}

/** Whether the member gives, and so takes, all of these roles. */
function givesAll(personId: string, roles: readonly MemberRole[], view: BusinessView): boolean {
  const member = members.read(view, personId);
  return member !== undefined && roles.every((role) => givenBy[member.role].includes(role));
}

/** See MB3. What the key sealed before stands. */
export function revokedBy(key_id: string, act: RegisterAct, view: BusinessView): Decided {
  const revoked_at = formatTimestamp(view.nowMs);
  return changeRegister({ type: "key.revoke", key_id, revoked_at, compromised_from: null, act }, view);
}

const roleTooLow: Decided = {
  reply: refusal("role_too_low", "Your role in this business does not give or take this role."),
};
