// The business actor: the truth about one party, its keys, its standing and the versions of its records.
//   N1. A push_id has one number and one hold decision, however often it is admitted.
//   N2. A chunk has one answer, however often it is asked, until the push is finished.
//   N3. A leaf older than what was applied to its record changes nothing (`superseded`).
//   N4. A generation is given to one (push, leaf) only; generations never restart, and have no gaps but where the actor
//       went on without what a lost region may have numbered last (eras.ts).

import { type BusinessContext, businessMachine } from "../../machines/business.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type {
  ActsReply,
  AdmitReply,
  AssignReply,
  BusinessCommand,
  PublishingFacts,
  PushPlan,
  RegisterReadReply,
  RegisterReply,
  RemoveReply,
} from "../messages/business.ts";
import { pushRef } from "../messages/refs.ts";
import type { ActorDefinition, ActorView, Decision, Effect, Message } from "../system/definition.ts";
import { actsAfter, selectActs } from "./acts.ts";
import { admitPush, pendingMax, settleHold } from "./admit.ts";
import { assignChunk } from "./assign.ts";
import { publishingFacts, registerRead } from "./facts.ts";
import { selectMandatesOf } from "./mandates.ts";
import { changeRegister, selectForChange } from "./register.ts";
import { removeRecord } from "./remove.ts";
import { answerKey, type HeadRow, headOf, rt, selectRegister } from "./rows.ts";

export type BusinessReply =
  | RegisterReply
  | PublishingFacts
  | AdmitReply
  | AssignReply
  | RemoveReply
  | RegisterReadReply
  | ActsReply
  | { readonly head: HeadRow | null };

export const businessActor: ActorDefinition<BusinessCommand, BusinessReply> = {
  kind: "business",
  schemaVersion: 1,
  machine: businessMachine,
  durability: "journal",
  input: (id) => ({ uuid: id }),
  rows: rowsFor,
  decide,
  absent: ({ type }) => (type === "acts.read" ? { reply: { acts: [] } } : null),
  effects: {
    projectRegister: (params: { keys: readonly string[] }): readonly Effect[] => [
      { kind: "activity", name: "projectRegister", params },
    ],
    releaseHold: (params: { push_id: string; confirmed: boolean }, view: ActorView): readonly Effect[] => [
      {
        kind: "tell",
        to: pushRef(view.id, params.push_id),
        message: { type: "hold.release", confirmed: params.confirmed } as { type: string },
      },
    ],
    removeRecord: (params: unknown): readonly Effect[] => [
      { kind: "activity", name: "removeRecord", params },
    ],
  },
};

function rowsFor(command: BusinessCommand, uuid: string): readonly RowSelection[] {
  switch (command.type) {
    case "publishing.facts":
      return [...selectRegister([`key/${command.key_id}`]), ...selectMandatesOf(command.key_id)];
    case "register.read":
      return selectRegister(command.keys);
    case "acts.read":
      return selectActs(command);
    case "push.admit":
      return [
        { rt: rt.admission, keys: [command.push_id] },
        ...(command.plan ? [{ rt: rt.head, keys: plannedRecords(command.plan) }] : []),
      ];
    case "hold.settle":
      return [{ rt: rt.admission, limit: pendingMax }];
    case "chunk.assign":
      return [
        { rt: rt.answer, keys: [answerKey(command.push_id, command.chunk)] },
        { rt: rt.head, keys: command.leaves.map((leaf) => leaf.record_id) },
      ];
    case "push.finished":
      return [];
    case "record.remove":
    case "record.read":
      return [{ rt: rt.head, keys: [command.record_id] }];
    default:
      return selectForChange(command, uuid);
  }
}

function decide(command: BusinessCommand, view: ActorView): Decision<BusinessReply> {
  switch (command.type) {
    case "publishing.facts":
      return { reply: publishingFacts(command, view) };
    case "register.read":
      return { reply: registerRead(command.keys, view) };
    case "acts.read":
      return { reply: { acts: actsAfter(command, view) } };
    case "push.admit":
      return admitPush(command, view);
    case "hold.settle":
      return settleHold(command, view);
    case "chunk.assign":
      return assignChunk(command, view);
    case "push.finished":
      return finishPush(command, view);
    case "record.remove":
      return removeRecord(command, view);
    case "record.read":
      return { reply: { head: headOf(view, command.record_id) ?? null } };
    default:
      return changeRegister(command, view);
  }
}

function plannedRecords(plan: PushPlan): readonly string[] {
  return [...new Set([plan.listings, ...plan.earlier].flat().map(([recordId]) => recordId))];
}

/** Forgets what only a repetition of the push's own questions would need. */
function finishPush(
  command: Extract<BusinessCommand, { type: "push.finished" }>,
  view: ActorView,
): Decision<RegisterReply> {
  const context = view.snapshot.context as BusinessContext;
  const { push_id, chunks } = command;
  const known = context.pending.includes(push_id) || context.held.includes(push_id);
  if (!known) return { reply: { status: "done" } };
  const answers = Array.from({ length: chunks }, (_, chunk) => ({
    rt: rt.answer,
    k: 0,
    k2: answerKey(push_id, chunk),
  }));
  return {
    reply: { status: "done" },
    events: [{ type: "push.finished", push_id } as Message],
    deletes: [...answers, { rt: rt.admission, k: 0, k2: push_id }],
  };
}
