// What a recovery does outside its journal: it has the business tell its people, and then replace the owner. Both steps are repeated until
// the business answers, and its answers are repeatable.

import type { Result } from "../../protocol/result.ts";
import type { KeyFacts } from "../messages/business.ts";
import type { CommandOf, RegisterAct } from "../messages/protocol.ts";
import { type RecoveryProtocol, type RecoveryReport, recoveryName } from "../messages/recovery.ts";
import { businessRef } from "../messages/refs.ts";
import type { Activity, ActivityContext } from "../system/definition.ts";

/** A port: the register, as far as a new passkey comes into it. */
export interface RecoveryPorts {
  /** Has the new passkey's key belong to the business, by its proof; it is not registered yet. Repeatable. */
  claim(recovery: RecoveryReport): Promise<Result<void>>;
  /** The key as the owner's, valid from now on. */
  keyOf(recovery: RecoveryReport): KeyFacts;
  /** Says that the person has the passkey themselves. Repeatable. */
  stateCustody(uuid: string, keyId: string): Promise<void>;
}

type Context = ActivityContext<"recovery">;
type Ended = CommandOf<RecoveryProtocol, "recovery.failed" | "recovery.stopped">;

/** The two steps of a recovery at its business: to announce it, and to replace the owner (RO1 and RO3 in actors/business/recoveries.ts). */
export function recoveryActivities(ports: RecoveryPorts): Record<string, Activity> {
  return {
    announceRecovery: (_params: unknown, context: Context) => announce(ports, context),
    replaceOwner: (_params: unknown, context: Context) => replace(ports, context),
  };
}

async function announce(
  ports: RecoveryPorts,
  { actor, ask }: Context,
): Promise<Ended | CommandOf<RecoveryProtocol, "recovery.announced"> | null> {
  const report = await ask(actor, { type: "recovery.read" });
  const approved = report && approvedBy(report);
  if (!approved) return null;
  const claimed = await ports.claim(report);
  if (!claimed.ok) return { type: "recovery.failed", failure: claimed.detail };
  const { applicant, applicant_name, uuid } = report;
  const [recovery, { act, person_id }] = [recoveryName(report), approved];
  const named = { recovery, person_id, applicant, applicant_name, act };
  const reply = await ask(businessRef(uuid), { type: "recovery.announce", ...named });
  if (reply.status === "refused") return { type: "recovery.failed", failure: reply.detail };
  if (reply.status === "stopped") return { type: "recovery.stopped", recovery };
  return { type: "recovery.announced", due_at_ms: reply.due_at_ms };
}

async function replace(
  ports: RecoveryPorts,
  { actor, ask }: Context,
): Promise<Ended | CommandOf<RecoveryProtocol, "recovery.replaced"> | null> {
  const report = await ask(actor, { type: "recovery.read" });
  const approved = report && approvedBy(report);
  if (!approved) return null;
  const { uuid, sealing } = report;
  const business = businessRef(uuid);
  const { owners } = await ask(business, { type: "recovery.find" });
  const goes = owners.find(({ person_id }) => person_id === approved.person_id);
  const recovery = recoveryName(report);
  const key = ports.keyOf(report);
  const reply = await ask(business, {
    type: "owner.replace",
    recovery,
    key,
    credential_id: sealing.credential_id,
    revokes: goes?.key_id ?? null,
    act: approved.act,
  });
  if (reply.status === "refused") {
    if (reply.code === "recovery_stopped") return { type: "recovery.stopped", recovery };
    // The clocks of two nodes differ, and the owner may have made another passkey meanwhile: it is asked again.
    if (reply.code === "recovery_early" || reply.code === "member_changed") throw new Error(reply.detail);
    return { type: "recovery.failed", failure: reply.detail };
  }
  await ports.stateCustody(uuid, key.key_id);
  return { type: "recovery.replaced" };
}

/** Whom two operators named as the owner who is replaced, and their act; null before there are two. */
function approvedBy({
  approvals: [first, second],
}: RecoveryReport): { readonly person_id: string; readonly act: RegisterAct } | null {
  if (first === undefined || second === undefined) return null;
  const by = `${first.by}; ${second.by}`;
  return { person_id: first.replaces, act: { by, reason: `${first.reason} / ${second.reason}` } };
}
