// The people of a business: each has one role, which the portal asks for at every act.
//   MB1. Of the owners, the last one stays: nobody could let another one in.
//   MB2. Nothing of it is projected into the register, and so nothing is published.
//   MB3. Nobody keeps a key that seals for the business without a role that does: the commit that takes the role revokes the key.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import { bindingRoles, type Member, type MembersProtocol } from "../messages/members.ts";
import type { CommandOf, RegisterAct, RegisterReply } from "../messages/protocol.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { changeRegister } from "./register.ts";
import { type BusinessView, done, refusal, selectRegister } from "./rows.ts";

type Asked<T extends keyof MembersProtocol> = CommandOf<MembersProtocol, T>;

/** With who gave the role and why. */
interface KeptMember extends Member, RegisterAct {
  readonly since_ms: number;
}

const members = defineJsonTable<KeptMember>("people", 95);
/** Maximum number of people of one business: all of them are looked at for each of them. */
const membersMax = 200;

/** All people of the business, and the key that a command takes from one. */
export function selectMembers(command: Asked<"member.set"> | Asked<"member.read">): readonly RowSelection[] {
  const taken = "revokes" in command ? selectRegister([`key/${command.revokes}`]) : [];
  return [members.selectPage(membersMax), ...taken];
}

export function readMember({ person_id }: Asked<"member.read">, view: BusinessView): Member | null {
  const known = members.read(view, person_id);
  return known === undefined ? null : { role: known.role, sealing: known.sealing };
}

export function setMember(
  { person_id, role, sealing: given, revokes, act }: Asked<"member.set">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  if (view.snapshot.context.party === null)
    return { reply: refusal("party_unknown", "A party is opened before it has people.") };
  const known = members.read(view, person_id);
  const kept = role !== null && bindingRoles.includes(role) ? (known?.sealing ?? null) : null;
  const sealing = given ?? kept;
  const isSame = (known?.role ?? null) === role && known?.sealing?.key_id === sealing?.key_id;
  if (isSame) return { reply: done };
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
  const changed = { ...ended, reply: { status: "done", changed: true } } as const;
  if (role === null) return { ...changed, deletes: [...(ended.deletes ?? []), members.key(person_id)] };
  const member = { role, sealing, since_ms: view.nowMs, ...act };
  return { ...changed, puts: [...(ended.puts ?? []), members.write(person_id, member)] };
}

/** See MB3. What the key sealed before stands. */
function revokedBy(
  key_id: string,
  act: RegisterAct,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const revoked_at = formatTimestamp(view.nowMs);
  return changeRegister({ type: "key.revoke", key_id, revoked_at, compromised_from: null, act }, view);
}
