// How an owner who lost all passkeys is replaced by the person that they come in as again.
//   RO1. Nobody is replaced before those who bind the business were told, and not in the 72 hours after it: the wait begins with the commit
//        that tells them, and this actor's clock ends it.
//   RO2. One waits at a time. Until the commit that replaces the owner, anybody who binds the business stops it, the owner as well.
//   RO3. The role and the key of the one who goes end in the commit in which those of the one who comes begin (MB1, MB3 in members.ts).
//   RO4. What became of a recovery is kept for 90 days, longer than its actor asks: asked again, the answer is the same.

import type { BusinessEvent } from "../../machines/business.ts";
import { formatTimestamp } from "../../protocol/identifiers.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { NoticeFacts } from "../messages/notices.ts";
import type { CommandOf, Commands, RegisterReply, ReplyOf } from "../messages/protocol.ts";
import type { AnnouncedRecovery, OwnerRecoveryProtocol } from "../messages/recovery.ts";
import { personRef, recoveryRef } from "../messages/refs.ts";
import { type Decision, tell } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { invitationsLost, revokedBy, selectInvitations, withAct } from "./members.ts";
import { forgetChoice, selectForNotices } from "./notices.ts";
import { changeRegister } from "./register.ts";
import {
  type BusinessView,
  done,
  isBinding,
  members,
  refusal,
  selectPeople,
  selectRegister,
} from "./rows.ts";

type Asked<T extends keyof OwnerRecoveryProtocol> = CommandOf<OwnerRecoveryProtocol, T>;
type Decided = Decision<RegisterReply, BusinessEvent>;

/** What waits is under no name, and what became of others under theirs. */
const recoveries = defineJsonTable<AnnouncedRecovery>("recovery that waits", 102);
const ended = defineJsonTable<"stopped" | "done">("recoveries that ended", 103);
const open = "";

const hourMs = 3_600_000;
const waitMs = 72 * hourMs;
const keptMs = 90 * 24 * hourMs;

/** The rows that a command about a recovery is decided by. */
export function selectRecoveries(command: Commands<OwnerRecoveryProtocol>): readonly RowSelection[] {
  const waiting = recoveries.select([open]);
  if (command.type === "recovery.find") return [selectPeople(), waiting];
  const rows = [...selectForNotices(), waiting, ended.select([command.recovery])];
  if (command.type !== "owner.replace") return rows;
  const { key, revokes } = command;
  const keys = [key.key_id, ...(revokes === null ? [] : [revokes])];
  return [...rows, selectInvitations(), ...selectRegister(keys.map((each) => `key/${each}`))];
}

/** The owners, each with the key that seals for them, and the recovery that waits; null for none. */
export function findRecovery(view: BusinessView): ReplyOf<OwnerRecoveryProtocol, "recovery.find"> {
  const owners = members.readAll(view).filter(({ value }) => value.role === "owner");
  return {
    owners: owners.map(({ k2: person_id, value: { since_ms, sealing } }) => ({
      person_id,
      since_ms,
      key_id: sealing?.key_id ?? null,
    })),
    open: recoveries.read(view, open) ?? null,
  };
}

function isInForce({ snapshot }: BusinessView): boolean {
  const { party, certificate } = snapshot.context;
  return party?.kind === "business" && certificate?.status === "active";
}

const notInForce = "There is no business of this uuid whose certificate is in force.";

/** See RO1 and RO2. */
export function announceRecovery(
  { act, type: _, ...asked }: Asked<"recovery.announce">,
  view: BusinessView,
): Decision<ReplyOf<OwnerRecoveryProtocol, "recovery.announce">, BusinessEvent> {
  const { recovery, person_id, applicant } = asked;
  const refused = (code: string, detail: string) => ({ reply: { status: "refused", code, detail } as const });
  const waiting = recoveries.read(view, open);
  if (waiting?.recovery === recovery) return { reply: { status: "announced", due_at_ms: waiting.due_at_ms } };
  if (ended.read(view, recovery) !== undefined) return { reply: { status: "stopped" } };
  if (waiting !== undefined) return refused("recovery_open", "Another owner is being replaced already.");
  if (!isInForce(view)) return refused("certificate_not_in_force", notInForce);
  if (members.read(view, person_id)?.role !== "owner")
    return refused("owner_unknown", "The person who is to be replaced is no owner of the business.");
  if (members.read(view, applicant) !== undefined)
    return refused("member_known", "The applicant works for the business already.");
  const due_at_ms = view.nowMs + waitMs;
  const announced = { ...asked, due_at_ms };
  const { reply: _reply, ...decided } = withAct(
    { reply: done, puts: [recoveries.write(open, announced)] },
    { act: "recovery.announce", entry: `person/${person_id}`, told: noticeOf(announced, "announced") },
    act,
    view,
  );
  return { ...decided, reply: { status: "announced", due_at_ms } };
}

/**
 * Ends the recovery that waits (RO2). Refused, where a person asks, with `role_too_low` or `recovery_over`; otherwise one that does
 * not wait is no fault.
 */
export function endRecovery(
  { recovery, by_person, act }: Asked<"recovery.end">,
  view: BusinessView,
): Decided {
  const waiting = recoveries.read(view, open);
  if (by_person !== undefined && !isBinding(by_person, view))
    return { reply: refusal("role_too_low", "Your role in this business does not stop it.") };
  if (waiting?.recovery !== recovery) return by_person === undefined ? { reply: done } : { reply: over };
  return withAct(
    {
      reply: { status: "done", changed: true },
      puts: [endedRow(recovery, "stopped", view)],
      deletes: [recoveries.key(open)],
      effects:
        by_person === undefined
          ? []
          : [tell(recoveryRef(waiting.applicant, view.id), { type: "recovery.stopped", recovery })],
    },
    { act: "recovery.end", entry: `person/${waiting.person_id}`, told: noticeOf(waiting, "stopped") },
    act,
    view,
  );
}

const overDetail = "It was stopped before, or the owner was replaced.";
const over = refusal("recovery_over", overDetail);

/** See RO1 and RO3. */
export function replaceOwner(
  { recovery, key, credential_id, revokes, act }: Asked<"owner.replace">,
  view: BusinessView,
): Decided {
  if (ended.read(view, recovery) === "done") return { reply: done };
  const waiting = recoveries.read(view, open);
  if (waiting?.recovery !== recovery) return { reply: refusal("recovery_stopped", overDetail) };
  const { person_id, applicant, due_at_ms } = waiting;
  if (view.nowMs < due_at_ms)
    return { reply: refusal("recovery_early", `The owner is replaced at ${formatTimestamp(due_at_ms)}.`) };
  if (!isInForce(view)) return { reply: refusal("certificate_not_in_force", notInForce) };
  const goes = members.read(view, person_id);
  if (goes?.role !== "owner")
    return { reply: refusal("owner_unknown", "The person who was to be replaced is no owner any more.") };
  if (members.read(view, applicant) !== undefined)
    return { reply: refusal("member_known", "The applicant works for the business already.") };
  if ((goes.sealing?.key_id ?? null) !== revokes)
    return { reply: refusal("member_changed", "The owner seals with another key than was named.") };
  const revoked: Decided = revokes === null ? {} : revokedBy(revokes, act, view);
  if (revoked.reply?.status === "refused") return { reply: revoked.reply };
  const earlier = revoked.events?.filter(({ type }) => type === "register.changed").length ?? 0;
  const registered = changeRegister({ type: "key.register", key, act }, view, earlier);
  if (registered.reply?.status === "refused") return { reply: registered.reply };
  if (registered.puts === undefined)
    return { reply: refusal("key_taken", "The passkey was registered for the business before.") };
  const sealing = { key_id: key.key_id, credential_id };
  const parts = [revoked, registered];
  return withAct(
    {
      reply: { status: "done", changed: true },
      events: parts.flatMap(({ events = [] }) => events),
      puts: [
        ...parts.flatMap(({ puts = [] }) => puts),
        members.write(applicant, { role: "owner", sealing, since_ms: view.nowMs, ...act }),
        endedRow(recovery, "done", view),
      ],
      deletes: [
        ...parts.flatMap(({ deletes = [] }) => deletes),
        ...invitationsLost(person_id, null, view),
        members.key(person_id),
        forgetChoice(person_id),
        recoveries.key(open),
      ],
      effects: [
        ...parts.flatMap(({ effects = [] }) => effects),
        tell(personRef(person_id), {
          type: "business.forget",
          uuid: view.id,
          noted_before_ms: view.nowMs,
        }),
      ],
    },
    { act: "owner.replace", entry: `person/${applicant}`, told: noticeOf(waiting, "done") },
    act,
    view,
  );
}

function endedRow(recovery: string, as: "stopped" | "done", { nowMs }: BusinessView) {
  return ended.write(recovery, as, { expiresAtMs: nowMs + keptMs });
}

function noticeOf(
  { person_id, applicant_name, due_at_ms }: AnnouncedRecovery,
  state: "announced" | "stopped" | "done",
): NoticeFacts {
  return { kind: "owner.recovery", state, person_id, applicant_name, until: formatTimestamp(due_at_ms) };
}
