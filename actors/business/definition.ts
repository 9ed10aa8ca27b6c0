// The business actor: the truth about one party, its keys, its standing and the versions of its records.
//   N1. A push_id has one number and one hold decision, however often it is admitted.
//   N2. A chunk has one answer, however often it is requested, until the push is finished.
//   N3. A leaf older than what was applied to its record changes nothing (`superseded`).
//   N4. A generation is given to one (push, leaf) only; generations never restart, and the only gaps are where the actor
//       continued without the last numbers that a lost region may have given (rows.ts).
//   N5. A command that the state does not allow is refused, in the words of the specification (B4 in machines/business.ts). The
//       repetition of an earlier command is answered as before.

import { type BusinessEvent, businessMachine } from "../../machines/business.ts";
import { openUploadsMax } from "../../protocol/limits.ts";
import type { RowSelection } from "../../storage/actor-store.ts";
import type { ListingsReply, OpenReply, OpenUploadsProtocol } from "../messages/admission.ts";
import type { BusinessCommand, BusinessProtocol, RegisterCommand } from "../messages/business.ts";
import type { CommandOf, DoneReply, RegisterReply } from "../messages/protocol.ts";
import type { HoldRelease } from "../messages/push.ts";
import { keyRef, pushRef } from "../messages/refs.ts";
import type { RemovalProtocol } from "../messages/removal.ts";
import { type ActorView, type Decision, defineActor, takenOf, tell } from "../system/definition.ts";
import { defineJsonTable } from "../system/row-table.ts";
import { admitPush, plannedRecords, previewPush, selectFairUse, selectForPreview } from "./admit.ts";
import { assignChunk, selectForAssign } from "./assign-chunk.ts";
import {
  endedRows,
  keepRefusal,
  readAttempts,
  selectAttempts,
  selectListed,
  selectRefusals,
} from "./attempts.ts";
import { cancelPush, selectForCancel } from "./cancel.ts";
import { dueDomains, lookSoon, noteProbes, readDomains, selectDomains } from "./domains.ts";
import { publishingFacts, registerRead, selectMandatesOf } from "./mandates.ts";
import {
  listMembers,
  openInvitation,
  readMember,
  selectMembers,
  setInvitation,
  setMember,
  setSealer,
  withSealedAct,
} from "./members.ts";
import {
  chooseNotices,
  dueReminders,
  failWebhook,
  giveNotice,
  giveReminders,
  readNotices,
  seeNetwork,
  selectForNotices,
  selectNetworks,
  selectReminders,
} from "./notices.ts";
import { duePurges, finishPurges, selectDone, selectDue } from "./purge.ts";
import {
  forgetRecord,
  heldRows,
  keepNames,
  readOwnIds,
  selectForget,
  selectForNames,
  selectOwnIds,
} from "./record-texts.ts";
import { announceRecovery, endRecovery, findRecovery, replaceOwner, selectRecoveries } from "./recoveries.ts";
import { changeRegister, selectForChange } from "./register.ts";
import {
  decideDeletion,
  listHeld,
  listRemovals,
  orderPurge,
  ordersOf,
  removeRecord,
  selectForRemoval,
  selectHeld,
  selectRemovals,
} from "./remove.ts";
import {
  actsAfter,
  admissions,
  answerKey,
  answers,
  type BusinessView,
  heads,
  heldDeletions,
  lastPrices,
  purged,
  purgeOrders,
  purgeOrdersByHash,
  removals,
  selectActs,
  selectAdmissions,
  selectRegister,
} from "./rows.ts";
import { restatePage, selectForRestate } from "./serving.ts";
import { readHolds, selectForSettlement, settleHold } from "./settle-hold.ts";
import { fallPolicies, fallRecords, isReview, listLive, readStanding, selectForReview } from "./standing.ts";
import {
  readWebhooks,
  removeWebhook,
  selectForWebhooks,
  setWebhook,
  testWebhook,
  webhookTarget,
} from "./webhooks.ts";

type Snapshot = BusinessView["snapshot"];

export const businessActor = defineActor<"business", typeof businessMachine>({
  kind: "business",
  schemaVersion: 1,
  machine: businessMachine,
  durability: "journal",
  input: (id) => ({ uuid: id }),
  rows: rowsFor,
  decide: {
    "party.open": changeRegister,
    "certificate.issue": changeRegister,
    "key.register": changeRegister,
    "key.revoke": changeRegister,
    "mandate.accept": changeRegister,
    "mandate.revoke": changeRegister,
    "policy.accept": changeRegister,
    "custody.state": changeRegister,
    "group.block": changeRegister,
    "group.unblock": changeRegister,
    "brand.confirm": changeRegister,
    "group.join": changeRegister,
    "directory.choose": changeRegister,
    "terms.agree": changeRegister,
    "publishing.facts": (command, view) => ({ reply: publishingFacts(command, view) }),
    "push.admit": ({ act, ...command }, view) => {
      const decided = admitPush(command, view);
      if (act === undefined) return decided;
      const { record_id, ...by } = act;
      return withSealedAct(decided, { act: "record.publish", entry: `record/${record_id}` }, by, view);
    },
    "push.preview": (command, view) => ({ reply: previewPush(command, view) }),
    "hold.settle": ({ act, ...command }, view) => {
      const { confirmed, push_id } = command;
      const done = { act: confirmed ? "hold.confirm" : "hold.reject", entry: `push/${push_id}` };
      return withSealedAct(settleHold(command, view), done, act, view);
    },
    "holds.read": readHolds,
    "listings.read": readListings,
    "push.hold": holdPush,
    "names.keep": keepNames,
    "chunk.assign": assignChunk,
    "standing.read": (command, view) => ({ reply: readStanding(command, view) }),
    "live.list": (command, view) => ({ reply: listLive(command, view) }),
    "records.fall": fallRecords,
    "policies.fall": fallPolicies,
    "push.cancel": cancelPush,
    "push.finished": finishPush,
    "refusal.keep": keepRefusal,
    "attempts.read": (command, view) => ({ reply: readAttempts(command, view) }),
    "own_ids.read": (command, view) => ({ reply: readOwnIds(command, view) }),
    "record.remove": ({ act, ...command }, view) => {
      const done = { act: `record.${command.action}`, entry: `record/${command.record_id}` };
      return withSealedAct(removeRecord(command, view), done, act, view);
    },
    "takedown.impose": changeRegister,
    "takedown.lift": changeRegister,
    "serving.restate": restatePage,
    "removal.read": (command, view) => ({
      reply: {
        removal: removals.read(view, command.document_hash) ?? null,
        held: heldDeletions.read(view, command.document_hash) ?? null,
        order: purgeOrdersByHash.read(view, command.document_hash) ?? null,
        purged: purged.read(view, command.document_hash) ?? null,
      },
    }),
    "purge.order": orderPurge,
    "purge.orders": (_command, view) => ({ reply: { orders: ordersOf(view) } }),
    "deletions.held": (command, view) => ({ reply: { deletions: listHeld(command, view) } }),
    "deletion.decide": decideDeletion,
    "removals.list": (command, view) => ({ reply: { places: listRemovals(command, view) } }),
    "purges.due": (command, view) => ({ reply: duePurges(command, view) }),
    "purges.forget": forgetRecord,
    "purges.done": finishPurges,
    "domains.due": (_command, view) => ({ reply: dueDomains(view) }),
    "domains.probed": noteProbes,
    "domains.read": (_command, view) => ({ reply: readDomains(view) }),
    "domains.look": lookSoon,
    "register.read": (command, view) => ({ reply: registerRead(command.keys, view) }),
    "upload.open": openUpload,
    "upload.keep": keepUpload,
    "upload.close": closeUpload,
    "member.set": setMember,
    "sealer.set": setSealer,
    "member.read": (command, view) => ({ reply: readMember(command, view) }),
    "members.list": (command, view) => ({ reply: listMembers(command, view) }),
    "invitation.set": setInvitation,
    "invitation.read": ({ id }, view) => ({ reply: openInvitation(id, view) }),
    "notice.give": giveNotice,
    "network.seen": seeNetwork,
    "reminders.due": (_command, view) => ({ reply: dueReminders(view) }),
    "reminders.give": giveReminders,
    "notices.choose": chooseNotices,
    "notices.read": (command, view) => ({ reply: readNotices(command, view) }),
    "webhook.set": setWebhook,
    "webhook.remove": removeWebhook,
    "webhook.test": testWebhook,
    "webhook.fail": failWebhook,
    "webhook.target": (command, view) => ({ reply: webhookTarget(command, view) }),
    "webhooks.read": (command, view) => ({ reply: readWebhooks(command, view) }),
    "recovery.announce": announceRecovery,
    "recovery.end": endRecovery,
    "owner.replace": replaceOwner,
    "recovery.find": (_command, view) => ({ reply: findRecovery(view) }),
    "acts.read": (command, view) => ({ reply: { acts: actsAfter(command, view) } }),
    "record.read": (command, view) => ({ reply: { head: heads.read(view, command.record_id) ?? null } }),
  },
  absent: {
    "acts.read": { reply: { acts: [] } },
    "member.read": { reply: null },
    "members.list": { reply: null },
    "invitation.read": { reply: null },
    "notices.read": { reply: null },
    "webhooks.read": { reply: null },
    "webhook.target": { reply: null },
    "webhook.fail": { reply: { status: "done" } },
    "recovery.find": { reply: { owners: [], open: null } },
    "notice.give": { reply: { status: "done" } },
    "network.seen": { reply: { status: "done" } },
    "domains.read": { reply: { domains: [] } },
    "domains.look": { reply: { status: "done" } },
    "holds.read": { reply: { holds: [] } },
    "removals.list": { reply: { places: [] } },
    "deletions.held": { reply: { deletions: [] } },
    "purge.orders": { reply: { orders: [] } },
  },
  effects: {
    projectRegister: (params: { keys: readonly string[] }) =>
      params.keys.length === 0 ? [] : [{ kind: "activity", name: "projectRegister", params }],
    retireKey: (params: { key_id: string }, view) => [
      tell(keyRef(view.id, params.key_id), { type: "key.retire" }),
    ],
    releaseHold: ({ push_id, ...release }: { push_id: string } & HoldRelease, view) => [
      tell(pushRef(view.id, push_id), { type: "hold.release", ...release }),
    ],
    endCancelled: ({ push_id, ...by }: { push_id: string; by_operator?: true }, view) => [
      tell(pushRef(view.id, push_id), { type: "push.cancelled", ...by }),
    ],
    removeRecord: (params) => [{ kind: "activity", name: "removeRecord", params }],
    reviewStanding: () => [{ kind: "activity", name: "reviewStanding", params: {} }],
    restateServing: (params) => [{ kind: "activity", name: "restateServing", params }],
    restateAll: () => [{ kind: "activity", name: "restateAll", params: {} }],
    purgeRecords: () => [{ kind: "activity", name: "purgeRecords", params: {} }],
    remindPeople: () => [{ kind: "activity", name: "remindPeople", params: {} }],
    confirmDomains: () => [{ kind: "activity", name: "confirmDomains", params: {} }],
  },
});

function rowsFor(command: BusinessCommand, uuid: string, now: Snapshot): readonly RowSelection[] {
  switch (command.type) {
    case "publishing.facts":
      return [...selectRegister([`key/${command.key_id}`]), selectMandatesOf(command.key_id)];
    case "register.read":
      return selectRegister(command.keys);
    case "acts.read":
      return selectActs(command);
    case "push.admit":
      return [
        admissions.select([command.push_id]),
        selectFairUse(command),
        ...selectListed(command.push_id, command.received_at_ms),
        ...(command.plan ? [heads.select(plannedRecords(command.plan))] : []),
      ];
    case "push.preview":
      return selectForPreview(command);
    case "hold.settle":
      return [selectAdmissions(now), ...selectForSettlement(command)];
    case "holds.read":
      return [selectAdmissions(now)];
    case "listings.read":
      return [admissions.select([command.push_id]), heads.select(command.record_ids)];
    case "push.hold":
      return [admissions.select([command.push_id])];
    case "names.keep":
      return selectForNames(command);
    case "chunk.assign":
      return selectForAssign(command, { id: uuid, snapshot: now });
    case "push.cancel":
      return selectForCancel(command);
    case "push.finished":
      return selectListed(command.push_id, command.ended.received_at_ms);
    case "refusal.keep":
      return selectRefusals(command);
    case "attempts.read":
      return selectAttempts(command);
    case "own_ids.read":
      return selectOwnIds(command);
    case "domains.due":
    case "domains.probed":
    case "domains.read":
    case "domains.look":
      return selectDomains(uuid);
    case "record.read":
      return [heads.select([command.record_id])];
    case "member.set":
    case "sealer.set":
    case "member.read":
    case "members.list":
    case "invitation.set":
    case "invitation.read":
      return selectMembers(command);
    case "notice.give":
    case "notices.choose":
    case "notices.read":
    case "webhook.fail":
      return selectForNotices();
    case "recovery.announce":
    case "recovery.end":
    case "owner.replace":
    case "recovery.find":
      return selectRecoveries(command);
    case "network.seen":
      return selectNetworks(command);
    case "reminders.due":
    case "reminders.give":
      return selectReminders(command);
    case "webhook.set":
    case "webhook.remove":
    case "webhook.test":
    case "webhook.target":
    case "webhooks.read":
      return selectForWebhooks(command, uuid);
    case "upload.open":
      return [openUploads.selectPage(placesRead)];
    case "upload.keep":
    case "upload.close":
      return [];
    default:
      return isReview(command) ? selectForReview(command, uuid) : rowsForRemovals(command, uuid, now);
  }
}

/** The rows of what takes records out of serving, and of changes of the register. */
function rowsForRemovals(
  command:
    | RegisterCommand
    | Extract<BusinessCommand, { readonly type: keyof RemovalProtocol | "serving.restate" }>,
  uuid: string,
  now: Snapshot,
): readonly RowSelection[] {
  switch (command.type) {
    case "record.remove":
      return selectForRemoval(command, uuid);
    case "serving.restate":
      return selectForRestate(command);
    case "removal.read":
      return [removals, heldDeletions, purgeOrdersByHash, purged].map((table) =>
        table.select([command.document_hash]),
      );
    case "purge.order":
      return [...selectForRemoval(command, uuid), purgeOrders.select([command.record_id])];
    case "purge.orders":
      return [purgeOrders.select([command.record_id])];
    case "deletions.held":
      return selectHeld(command);
    case "deletion.decide":
      return selectForRemoval(command, uuid);
    case "purges.due":
      return selectDue(command, now);
    case "purges.forget":
      return selectForget(command, now);
    case "purges.done":
      return selectDone(command, now);
    case "removals.list":
      return selectRemovals(command);
    default:
      return selectForChange(command, uuid);
  }
}

/** Forgets what only a repetition of the push's own commands would need. */
function finishPush(
  { push_id, chunks, ended }: CommandOf<BusinessProtocol, "push.finished">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const events = takenOf(view, { type: "push.finished", push_id });
  const puts = endedRows(push_id, ended, view);
  if (events.length === 0) return { reply: { status: "done" }, puts };
  const answered = Array.from({ length: chunks }, (_, chunk) => answers.key(answerKey(push_id, chunk)));
  return {
    reply: { status: "done" },
    events,
    puts,
    deletes: [...answered, admissions.key(push_id)],
  };
}

// The hold of a push that was admitted without a plan, because its records are in a file: the push itself compares them with
// the catalogue, piece by piece, and the business holds it if there is reason to.
//   L1. The decision is made once: a push that is held, or whose hold was settled, is not held again.

function readListings(
  { push_id, record_ids }: CommandOf<BusinessProtocol, "listings.read">,
  view: BusinessView,
): { readonly reply: ListingsReply } {
  const { context } = view.snapshot;
  const isHeld = context.held.includes(push_id);
  return {
    reply: {
      listings: context.listings,
      pending: context.pending,
      held_reasons: isHeld ? (admissions.read(view, push_id)?.held_reasons ?? []) : null,
      records: record_ids.flatMap((record_id) => {
        const head = heads.read(view, record_id);
        if (head === undefined) return [];
        const { bpid, live, listings } = head;
        return [{ record_id, bpid, listings: live ? listings : {}, former: lastPrices(head) }];
      }),
    },
  };
}

function holdPush(
  { push_id, held_reasons }: CommandOf<BusinessProtocol, "push.hold">,
  view: BusinessView,
): Decision<RegisterReply, BusinessEvent> {
  const known = admissions.read(view, push_id);
  const events = takenOf(view, { type: "push.held", push_id });
  if (events.length === 0 || known === undefined) return { reply: { status: "done" } };
  return {
    reply: { status: "done" },
    events,
    puts: [admissions.write(push_id, { ...known, held_reasons }), ...heldRows(push_id, held_reasons)],
  };
}

// The open uploads of a business: those whose file may still arrive, and those whose file is kept and not imported yet. What is
// staged for them is bounded by their number, wherever the staging area is.
//   O1. A business has at most `openUploadsMax` of them. Another one is not issued until a place is free.
//   O2. An upload has one place, and gives it back when its file is imported or deleted: its actor says so.
//   O3. A place also ends by itself, an hour after the upload should have said so, and so no lost message takes it for ever.
// A place is one row, which is gone when its time is over.

type Asked<T extends keyof OpenUploadsProtocol> = CommandOf<OpenUploadsProtocol, T>;

interface OpenUpload {
  /** When the upload ends unless its file is imported, in Unix milliseconds. */
  readonly until_ms: number;
}

const openUploads = defineJsonTable<OpenUpload>("open uploads", 80);
/** How much later than its upload a place ends by itself. */
const marginMs = 3_600_000;
/** An upload whose place ended by itself takes one again once it has a file, however many have one already. */
const placesRead = 8 * openUploadsMax;
const retrySecondsMin = 60;
/** No longer, because an import that ends frees its place before. */
const retrySecondsMax = 3_600;

function openUpload(
  { upload_id, until_ms }: Asked<"upload.open">,
  view: ActorView,
): Decision<OpenReply, never> {
  const open = openUploads.readAll(view).filter(({ value }) => value.until_ms + marginMs > view.nowMs);
  if (open.some(({ k2 }) => k2 === upload_id)) return { reply: { status: "open" } };
  if (open.length < openUploadsMax)
    return { reply: { status: "open" }, puts: [placeOf(upload_id, until_ms)] };
  const firstMs = Math.min(...open.map(({ value }) => value.until_ms));
  const seconds = Math.ceil((firstMs - view.nowMs) / 1_000);
  const retry_after_seconds = Math.min(Math.max(seconds, retrySecondsMin), retrySecondsMax);
  return { reply: { status: "busy", retry_after_seconds } };
}

function keepUpload({ upload_id, until_ms }: Asked<"upload.keep">): Decision<DoneReply, never> {
  return { reply: { status: "done" }, puts: [placeOf(upload_id, until_ms)] };
}

function closeUpload({ upload_id }: Asked<"upload.close">): Decision<DoneReply, never> {
  return { reply: { status: "done" }, deletes: [openUploads.key(upload_id)] };
}

function placeOf(uploadId: string, until_ms: number) {
  return openUploads.write(uploadId, { until_ms }, { expiresAtMs: until_ms + marginMs });
}
