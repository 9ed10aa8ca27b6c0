// The actor of a recovery. Keyed rows: 16 what was asked for, 17 what is said of its end.
//   RV1. Two operators are two names: letter case, spaces and compatibility forms make no other one (Unicode Standard Annex #15).
//   RV2. A decision is about the passkey that the operator saw: asked for again with another one, it is to be looked at again.

import { type RecoveryEvent, recoveryMachine } from "../../machines/recovery.ts";
import { canonicalize } from "../../protocol/json/canonical-json.ts";
import type { PublicJwk } from "../../protocol/keys/jwk.ts";
import type { CommandOf, DoneReply } from "../messages/protocol.ts";
import {
  type RecoveryFacts,
  type RecoveryProtocol,
  type RecoveryReply,
  type RecoveryReport,
  type RecoveryState,
  recoveryName,
} from "../messages/recovery.ts";
import { businessRef, personRef } from "../messages/refs.ts";
import { type Decision, defineActor, takenOf, tell, type ViewOf, workAt } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";

type View = ViewOf<typeof recoveryMachine>;
type Asked<T extends keyof RecoveryProtocol> = CommandOf<RecoveryProtocol, T>;
type Decided = Decision<RecoveryReply, RecoveryEvent>;
type Told = Decision<DoneReply, RecoveryEvent>;

const facts = defineJsonTable<RecoveryFacts>("facts", 16);
const ends = defineJsonTable<Pick<RecoveryReport, "statement" | "failure">>("what is said of its end", 17);

const none = { reply: { status: "refused", code: "state", state: "unknown" } } as const;
const done = { status: "done" } as const;

export const recoveryActor = defineActor<"recovery", typeof recoveryMachine>({
  kind: "recovery",
  schemaVersion: 1,
  machine: recoveryMachine,
  durability: "journal",
  repeatable: ["recovery.stopped"],
  input: () => ({}),
  rows: () => [facts.select([""]), ends.select([""])],
  decide: {
    "recovery.file": file,
    "recovery.approve": approve,
    "recovery.refuse": ({ act, statement, public_key }, view) => {
      const { by, reason } = act;
      const other = otherKeyFault(public_key, view);
      if (other !== null) return { reply: other };
      const refused = change(view, "refused", { type: "recovery.refused", by, reason });
      return refused.events === undefined
        ? refused
        : { ...refused, puts: [ends.write("", { statement, failure: null })] };
    },
    "recovery.withdraw": (_command, view) => change(view, null, { type: "recovery.withdrawn" }),
    "recovery.read": (_command, view) => ({ reply: reportOf(view) }),
    "recovery.announced": ({ due_at_ms }, view) =>
      told(view, { type: "recovery.announced", due_at_ms, in_ms: workAt(due_at_ms, view).in_ms }),
    "recovery.replaced": (_command, view) => told(view, { type: "owner.replaced" }),
    "recovery.failed": ({ failure }, view) => {
      const failed = told(view, { type: "recovery.failed" });
      return failed.events?.length
        ? { ...failed, puts: [ends.write("", { statement: null, failure })] }
        : failed;
    },
    "recovery.stopped": ({ recovery }, view) => {
      const known = reportOf(view);
      return known !== null && recoveryName(known) === recovery
        ? told(view, { type: "recovery.stopped" })
        : { reply: done };
    },
  },
  absent: {
    "recovery.approve": none,
    "recovery.refuse": none,
    "recovery.withdraw": none,
    "recovery.read": { reply: null },
  },
  effects: {
    announce: () => [{ kind: "activity", name: "announceRecovery", params: {} }],
    replaceOwner: () => [{ kind: "activity", name: "replaceOwner", params: {} }],
    endAnnounced: (_params, { snapshot }: View) => {
      const { applicant, uuid, filedAtMs } = snapshot.context;
      const recovery = recoveryName({ applicant, filed_at_ms: filedAtMs ?? 0 });
      const act = { by: `person ${applicant}`, reason: "It was refused or taken back." };
      return [tell(businessRef(uuid), { type: "recovery.end", recovery, act })];
    },
    enterBusiness: (_params, { snapshot: { context } }: View) => [
      tell(personRef(context.applicant), { type: "business.add", uuid: context.uuid }),
    ],
    leaveApplicant: (_params, { id, snapshot: { context } }: View) => [
      tell(personRef(context.applicant), { type: "business.forget", uuid: id }),
    ],
  },
});

function file({ recovery }: Asked<"recovery.file">, view: View): Decided {
  const known = facts.read(view, "");
  if (known !== undefined && JSON.stringify(known) === JSON.stringify(recovery))
    return { reply: { status: "done", changed: false } };
  const { applicant, uuid } = recovery;
  const filed = change(view, null, { type: "recovery.filed", applicant, uuid, at_ms: view.nowMs });
  return filed.events === undefined
    ? filed
    : { ...filed, puts: [facts.write("", recovery)], deletes: [ends.key("")] };
}

/** See RC1 in machines/recovery.ts, RV1 and RV2. */
function approve(command: Asked<"recovery.approve">, view: View): Decided {
  const { act, replaces, public_key } = command;
  const { by, reason } = act;
  const { snapshot } = view;
  const state = stateOf(snapshot);
  const other = otherKeyFault(public_key, view);
  if (other !== null) return { reply: other };
  const approval = { by, reason, replaces };
  const [first] = snapshot.context.approvals;
  if (first === undefined) return change(view, null, { type: "recovery.approved", ...approval });
  if (state !== "approved") return { reply: { status: "refused", code: "state", state } };
  if (nameOf(first.by) === nameOf(by)) return { reply: { status: "refused", code: "same_operator", state } };
  if (first.replaces !== replaces) return { reply: { status: "refused", code: "other_owner", state } };
  return change(view, null, { type: "recovery.agreed", ...approval });
}

/** Null where it is asked for with this passkey. */
function otherKeyFault(seen: PublicJwk, view: View): Extract<RecoveryReply, { status: "refused" }> | null {
  const asked = facts.read(view, "")?.sealing.public_key;
  return asked === undefined || canonicalize(asked) === canonicalize(seen)
    ? null
    : { status: "refused", code: "other_key", state: stateOf(view.snapshot) };
}

function nameOf(by: string): string {
  return by.normalize("NFKC").replaceAll(/\s+/gu, " ").trim().toLowerCase();
}

/** What leads to the state, or to nothing where it is reached already. */
function change(view: View, to: RecoveryState | null, event: RecoveryEvent): Decided {
  const { snapshot } = view;
  if (snapshot.can(event)) return { reply: { status: "done", changed: true }, events: [event] };
  const state = stateOf(snapshot);
  return state === to
    ? { reply: { status: "done", changed: false } }
    : { reply: { status: "refused", code: "state", state } };
}

/** The step may have been told before, or ended meanwhile. */
function told(view: View, event: RecoveryEvent): Told {
  return { reply: done, events: takenOf(view, event) };
}

function stateOf({ value }: View["snapshot"]): RecoveryState | "unknown" {
  if (typeof value !== "string") return value.undecided;
  return value === "over" ? "unknown" : value;
}

function reportOf(view: View): RecoveryReport | null {
  const { snapshot } = view;
  const [known, state] = [facts.read(view, ""), stateOf(snapshot)];
  if (known === undefined || state === "unknown") return null;
  const { filedAtMs, approvals, dueAtMs } = snapshot.context;
  const said = ends.read(view, "") ?? { statement: null, failure: null };
  return { ...known, state, filed_at_ms: filedAtMs ?? 0, approvals, due_at_ms: dueAtMs, ...said };
}
