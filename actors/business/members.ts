// The people of a business: each has one role, which the portal asks for at every act.
//   MB1. Of the owners, the last one stays: nobody could let another one in.
//   MB2. Nothing of it is projected into the register, and so nothing is published.

import type { BusinessEvent } from "../../machines/business.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { Member, MembersProtocol } from "../messages/members.ts";
import type { CommandOf, RegisterAct, RegisterReply } from "../messages/protocol.ts";
import type { Decision } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { type BusinessView, done, refusal } from "./rows.ts";

type Asked<T extends keyof MembersProtocol> = CommandOf<MembersProtocol, T>;

/** With who gave the role and why. */
interface KeptMember extends Member, RegisterAct {
  readonly since_ms: number;
}

const members = defineJsonTable<KeptMember>("people", 95);
/** Maximum number of people of one business: all of them are looked at for each of them. */
const membersMax = 200;

/** All people of the business. */
export function selectMembers(): RowSelection {
  return members.selectPage(membersMax);
}

export function readMember({ person_id }: Asked<"member.read">, view: BusinessView): Member | null {
  const known = members.read(view, person_id);
  return known === undefined ? null : { role: known.role, sealing: known.sealing };
}

export function setMember(
  { person_id, role, sealing: given, act }: Asked<"member.set">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  if (view.snapshot.context.party === null)
    return { reply: refusal("party_unknown", "A party is opened before it has people.") };
  const known = members.read(view, person_id);
  const sealing = given ?? known?.sealing ?? null;
  const isSame = (known?.role ?? null) === role && known?.sealing?.key_id === sealing?.key_id;
  if (isSame) return { reply: done };
  const all = members.readAll(view);
  const owners = all.filter(({ value }) => value.role === "owner");
  if (known?.role === "owner" && role !== "owner" && owners.length < 2)
    return { reply: refusal("owner_last", "The last owner of a business stays its owner.") };
  if (role === null) return { reply: { status: "done", changed: true }, deletes: [members.key(person_id)] };
  if (known === undefined && all.length >= membersMax)
    return { reply: refusal("too_many_people", `A business has at most ${membersMax} people.`) };
  const member = { role, sealing, since_ms: view.nowMs, ...act };
  return { reply: { status: "done", changed: true }, puts: [members.write(person_id, member)] };
}
